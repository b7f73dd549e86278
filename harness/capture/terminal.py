"""The two RAM records of a power image: the request that the host writes, the terminal record that it reads.

Layouts are those of `firmware/power/mailbox.h`. A terminal record is believed when magic, version, length, nonce and
build id fit, its CRC holds, and its numbers do not contradict each other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from harness.core.errors import ProtocolError

MAGIC = 0x52575048
VERSION = 1
MAX_WINDOWS = 256
FLAG_LOCKSTEP = 1
WIRE_GATE, WIRE_STATE, WIRE_GO = 1, 2, 4

_FIELDS = struct.Struct("<6I")
_WINDOW = struct.Struct("<3I")
_HEAD = struct.Struct("<14IQ32s")
_RESULT = struct.Struct("<2I2Q")
_TAIL = struct.Struct("<2I")
REQUEST_BYTES = 4 + _FIELDS.size + 4 + MAX_WINDOWS * _WINDOW.size
TERMINAL_BYTES = _HEAD.size + MAX_WINDOWS * _RESULT.size + _TAIL.size


class Phase(IntEnum):
    """What a power image is doing."""

    BOOTED = 1
    ACCEPTED = 2
    READY = 3
    WINDOW = 4
    DONE = 5
    FAILED = 6


_PHASES = frozenset(int(phase) for phase in Phase)

ERRORS = {
    1: "it could not use the request",
    2: "the engine could not be initialised",
    3: "the engine refused to run an inference",
    4: "its window clock does not advance",
    5: "its engine cannot run a range of layers",
    6: "nobody raised go",
    7: "it faulted",
}


class TerminalError(ProtocolError):
    """The terminal record of a power image is damaged or contradicts itself."""

    code = "power.terminal_broken"


@dataclass(frozen=True)
class WindowPlan:
    """One window: whole inferences, or `layers` operators in execution order from `first_layer` on."""

    inferences: int
    first_layer: int = 0
    layers: int = 0
    label: str = ""


@dataclass(frozen=True)
class PowerPlan:
    """What one boot of a power image is to do."""

    windows: tuple[WindowPlan, ...]
    warmup: int = 0
    settle_ms: int = 0
    gap_ms: int = 0
    go_timeout_ms: int = 0
    lockstep: bool = False

    @property
    def requested(self) -> int:
        """Inferences (or passes through a layer range) in all windows."""
        return sum(window.inferences for window in self.windows)

    def encode(self, nonce: int) -> bytes:
        """The request's bytes after its nonce, which goes out last."""
        windows = b"".join(_WINDOW.pack(w.inferences, w.first_layer, w.layers) for w in self.windows)
        flags = FLAG_LOCKSTEP if self.lockstep else 0
        fields = _FIELDS.pack(flags, self.warmup, self.settle_ms, self.gap_ms, self.go_timeout_ms, len(self.windows))
        crc = zlib.crc32(windows, zlib.crc32(struct.pack("<I", nonce) + fields))
        return fields + struct.pack("<I", crc) + windows


@dataclass(frozen=True)
class TerminalWindow:
    """What the firmware says of one window. Seconds by its own clock; `gate_s` spans the gate's edges."""

    completed: int
    elapsed_s: float
    gate_s: float
    gate_asserted: bool
    gate_lowered: bool


@dataclass(frozen=True)
class Terminal:
    """A terminal record, checked."""

    phase: Phase
    nonce: int
    error: int
    error_detail: int
    clock_hz: int
    wires: int
    inputs_address: int
    inputs_bytes: int
    requested: int
    completed: int
    elapsed_s: float
    build_id: str
    windows: tuple[TerminalWindow, ...]

    @property
    def ended(self) -> bool:
        """Whether the firmware has nothing more to do."""
        return self.phase in (Phase.DONE, Phase.FAILED)

    @property
    def why_failed(self) -> str:
        """What the firmware says went wrong; empty when nothing did."""
        if self.phase is not Phase.FAILED:
            return ""
        return f"{ERRORS.get(self.error, f'error {self.error}')} (detail {self.error_detail:#x})"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as a bundle states it."""
        return {
            "version": VERSION,
            "status": "ok" if self.phase is Phase.DONE else "error",
            "final_phase": self.phase.name.lower(),
            "error_code": self.error,
            "error_detail": self.error_detail,
            "requested_count": self.requested,
            "completed_count": self.completed,
            "elapsed_us": self.elapsed_s * 1e6,
            "gate_elapsed_us": sum(window.gate_s for window in self.windows) * 1e6,
            "gate_asserted": sum(window.gate_asserted for window in self.windows),
            "gate_lowered": sum(window.gate_lowered for window in self.windows),
            "clock_hz": self.clock_hz,
            "windows": [vars(window) for window in self.windows],
        }


def parse_terminal(data: bytes, build_id: str) -> Terminal | None:
    """The record in RAM; None while the firmware has not written one.

    Raises:
        TerminalError: it is of another version or build, its CRC does not hold, or its numbers contradict each other.
    """
    if len(data) != TERMINAL_BYTES:
        raise _broken(f"It has {len(data)} bytes, {TERMINAL_BYTES} were expected.")
    *head, elapsed, identity = _HEAD.unpack_from(data)
    magic, version, size, phase, nonce, error, detail, clock_hz, wires, address, nbytes, requested, completed, count = (
        head
    )
    if magic != MAGIC or phase == 0:
        return None
    if (version, size) != (VERSION, TERMINAL_BYTES) or count > MAX_WINDOWS or phase not in _PHASES or clock_hz == 0:
        raise _broken(f"Version {version}, {size} bytes, phase {phase}, {count} windows.")
    if identity.decode("ascii", "replace") != build_id:
        raise _broken(f"It is of the build {identity.decode('ascii', 'replace')}, not of {build_id}.")
    (crc, _), ended = _TAIL.unpack_from(data, TERMINAL_BYTES - _TAIL.size), phase in (Phase.DONE, Phase.FAILED)
    if ended and crc != zlib.crc32(data[: TERMINAL_BYTES - _TAIL.size]):
        raise _broken("Its CRC does not hold.")
    raw = [_RESULT.unpack_from(data, _HEAD.size + _RESULT.size * index) for index in range(count)]
    terminal = Terminal(
        phase=Phase(phase),
        nonce=nonce,
        error=error,
        error_detail=detail,
        clock_hz=clock_hz,
        wires=wires,
        inputs_address=address,
        inputs_bytes=nbytes,
        requested=requested,
        completed=completed,
        elapsed_s=elapsed / clock_hz,
        build_id=build_id,
        windows=tuple(
            TerminalWindow(done, took / clock_hz, gate / clock_hz, edges >= 1, edges == 2)
            for done, edges, took, gate in raw
        ),
    )
    if ended:
        _check(terminal, raw, elapsed)
    return terminal


def _check(terminal: Terminal, raw: Sequence[tuple[int, int, int, int]], elapsed: int) -> None:
    if (terminal.phase is Phase.DONE) != (terminal.error == 0):
        raise _broken(f"It ended as {terminal.phase.name.lower()} with error {terminal.error}.")
    if terminal.completed > terminal.requested:
        raise _broken(f"It completed {terminal.completed} of {terminal.requested}.")
    if any(took > gate for _, _, took, gate in raw):
        raise _broken("A window's inferences took longer than its gate was high.")
    if sum(gate for *_, gate in raw) > elapsed:
        raise _broken("The gate was high for longer than all of it took.")
    if terminal.phase is Phase.DONE and sum(done for done, *_ in raw) != terminal.completed:
        raise _broken("Its windows do not add up to what it completed.")


def _broken(why: str) -> TerminalError:
    return TerminalError(
        "The terminal record of the power image cannot be believed.",
        why=why,
        todo="Run again; if it repeats, check the firmware for writes outside its buffers.",
    )
