"""What a debug probe can do for a run, whatever its make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from harness.board.descriptor import BoardType
from harness.core.deadline import Deadline


class Capability(StrEnum):
    """What a probe offers; a caller asks before it relies on it."""

    MEMORY = "memory"
    FLASH = "flash"
    REGISTERS = "registers"
    RESET = "reset"
    RTT = "rtt"
    SWO = "swo"


class Transport(Protocol):
    """Carries bytes off the target and back. Nothing here waits."""

    name: str

    @property
    def events(self) -> Sequence[str]:
        """What happened to the link so far, a line each."""
        ...

    def read(self, max_bytes: int = 65536) -> bytes:
        """Bytes that have come; empty when none have."""
        ...

    def write(self, data: bytes) -> int:
        """Hand over bytes; returns how many were taken, possibly 0."""
        ...

    def close(self) -> None:
        """Stop. May be called more than once."""
        ...


@dataclass(frozen=True)
class Identity:
    """What the probe read before anything was written: the words that the board type's descriptor names."""

    board_type: str
    words: Mapping[str, int]


@dataclass(frozen=True)
class ProbeFacts:
    """What a probe says of itself. `support` is "emulated" for our virtual probe, else "unverified"."""

    kind: str
    serial: int
    product: str
    firmware: str
    dll_version: str
    support: Literal["emulated", "unverified"]
    capabilities: tuple[Capability, ...]
    memory_path: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form for evidence."""
        return {
            "kind": self.kind,
            "serial": self.serial,
            "product": self.product,
            "firmware": self.firmware,
            "dll_version": self.dll_version,
            "support": self.support,
            "capabilities": [str(item) for item in self.capabilities],
            "memory_path": self.memory_path,
        }


@dataclass(frozen=True)
class FaultReport:
    """Registers of a core that stopped or faulted.

    Attributes:
        exception: number of the exception being handled; 3 is HardFault, 0 is none.
        registers: core registers by name (r0 to r12, sp, lr, pc, xpsr).
        fault: fault status and address registers by name (cfsr, hfsr, mmfar, bfar, afsr, dfsr, shcsr).
        stacked: registers that exception entry pushed, found by searching the stack; None when none were found.
    """

    exception: int
    registers: Mapping[str, int]
    fault: Mapping[str, int]
    stacked: Mapping[str, int] | None

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form for evidence."""
        return {
            "exception": self.exception,
            "registers": dict(self.registers),
            "fault": dict(self.fault),
            "stacked": dict(self.stacked) if self.stacked is not None else None,
        }


class Probe(Protocol):
    """A debug link to one board. Every error is a typed one; nothing is written before the identity was read."""

    serial: int
    capabilities: frozenset[Capability]

    def identify(self, board_type: BoardType) -> Identity:
        """Read the words that name the board; `WrongBoardError` when they differ. Halts the core, writes nothing."""
        ...

    def flash(self, elf: Path, board_type: BoardType, deadline: Deadline | None = None) -> int:
        """Write an image and read it back; returns the bytes written. Leaves the core halted."""
        ...

    def reset(self) -> None:
        """Reset the board and leave its core halted at the first instruction."""
        ...

    def go(self) -> None:
        """Let the core run."""
        ...

    def halt(self, deadline: Deadline) -> None:
        """Halt the core."""
        ...

    def halted(self) -> bool:
        """Whether the core is halted."""
        ...

    def read_memory(self, address: int, size: int) -> bytes:
        """Read target memory."""
        ...

    def write_memory(self, address: int, data: bytes) -> None:
        """Write target memory; the identity must have been read."""
        ...

    def registers(self) -> Mapping[str, int]:
        """Core registers by name."""
        ...

    def boot_rtt(self, address: int, deadline: Deadline) -> Transport:
        """Reset, make any earlier control block unreadable, run, and open the new one."""
        ...

    def rtt(self, address: int, deadline: Deadline) -> Transport:
        """Open the control block of a core that runs."""
        ...

    def check_target(self) -> None:
        """Raise when the core is halted, handles a fault, locked up, or the link is lost; else nothing."""
        ...

    def fault_registers(self) -> FaultReport:
        """Halt the core and read what tells of a fault."""
        ...

    def describe(self) -> ProbeFacts:
        """What the probe says of itself."""
        ...

    def close(self) -> None:
        """End the session; the core stays as it is. May be called more than once."""
        ...
