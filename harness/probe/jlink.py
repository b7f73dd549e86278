"""A J-Link through pylink-square: SEGGER's library for a real probe, ours for an emulated board.

Which library is loaded is the caller's choice; nothing here depends on it. SEGGER's own library has not been run with
this code and stays `unverified`: `harness doctor --probe SERIAL` runs every call below on a user's probe.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.deadline import Deadline
from harness.core.errors import (
    FlashVerifyError,
    HardFaultError,
    HarnessError,
    ProbeError,
    RestartedError,
    TargetError,
    WrongBoardError,
)
from harness.probe.base import FaultReport, Identity
from harness.probe.faults import (
    FAULT_ADDRESSES,
    FAULT_EXCEPTIONS,
    ICSR,
    REGISTER_NAMES,
    SEARCH_BYTES,
    VECTACTIVE,
    explain_fault,
    find_frame,
)
from harness.probe.jlink_session import JLinkSession
from harness.probe.library import JLinkLibrary, LibraryPool, pylink
from harness.probe.rtt import RttTransport
from harness.probe.segments import Segment, load_segments
from harness.probe.swo import SwoCapture

if TYPE_CHECKING:
    from harness.board.descriptor import BoardType

POLL_SECONDS = 0.002
HALT_SECONDS = 5.0
LOCKUP_SECONDS = 0.1
RTT_ID_BYTES = 16
RTT_HEAD_BYTES = 48
MOST_CHANNELS = 16
REBOOT_SECONDS = 0.3
"""How long firmware that boots anew may take to write its RTT control block."""
PIECE_BYTES = 64 * 1024


class JLinkProbe(JLinkSession):
    """What a run asks of a J-Link: identity, flash, run control, memory, RTT. See `JLinkSession` for its arguments."""

    def __init__(
        self,
        serial: int,
        library: JLinkLibrary | None = None,
        *,
        why_lost: Callable[[], HarnessError | None] = lambda: None,
        pool: LibraryPool | None = None,
    ) -> None:
        super().__init__(serial, library, why_lost=why_lost, pool=pool)
        self._board: BoardType | None = None
        self._transport: RttTransport | None = None

    def close(self) -> None:
        """End the session; the core stays as it is. May be called more than once."""
        # Its library copy goes to other sessions: the transport must not touch it any more.
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
        self._board = None
        super().close()

    # -- identity and flash -----------------------------------------------------------------------------------------

    def identify(self, board_type: BoardType) -> Identity:
        """Read the words that name the board. Halts the core, writes nothing.

        Raises:
            WrongBoardError: a word differs from what the descriptor states.
        """
        self._board = None
        self.halt(Deadline(HALT_SECONDS, "the core to halt", f"board {self.serial}"))
        words: dict[str, int] = {}
        wrong: list[str] = []
        for check in board_type.identity:
            where = f"{check.name} at {check.address:#010x}"
            expected = f"expected {check.value:#010x} under mask {check.mask:#010x}"
            try:
                words[check.name] = self._word(check.address)
            except ProbeError:
                if self._lost() is not None:
                    raise
                wrong.append(f"{where} cannot be read, {expected}")
                continue
            if words[check.name] & check.mask != check.value:
                wrong.append(f"{where} reads {words[check.name]:#010x}, {expected}")
        if wrong:
            raise WrongBoardError(
                f"Board {self.serial} is not a {board_type.name}; nothing was written.",
                why="; ".join(wrong),
                todo="Correct the board type of this serial in bench.yaml, or plug in the right board.",
                context={"serial": self.serial, "expected": board_type.name, "read": words},
            )
        self._board = board_type
        return Identity(board_type.name, words)

    def flash(self, elf: Path, board_type: BoardType, deadline: Deadline | None = None) -> int:
        """Write the loadable segments of an ELF file and read them back. Leaves the core halted.

        Returns:
            Bytes written.

        Raises:
            DeadlineError: writing or reading back is not done in time.
            WrongBoardError: the board is not of this type; nothing was written.
            ProbeError: the image lies outside the board's memory, or writing failed.
            FlashVerifyError: it reads back other bytes.
        """
        segments = load_segments(elf, board_type)
        self.identify(board_type)
        self.reset()
        with self._calling("writing flash", "Power-cycle the board and run again."):
            dll = self._dll
            dll.JLINKARM_BeginDownload(0)
            written = []
            for address, data in _pieces(segments):
                written.append(dll.JLINKARM_WriteMem(_u32(address), len(data), data))
                if deadline is not None:
                    deadline.check(f"writing at {address:#010x}")
            status = int(dll.JLINKARM_EndDownload())
            if status < 0 or any(count < 0 for count in written):
                raise self._failed(f"writing flash (code {min(status, *written)})", self._flash_reason(status))
        for address, data in _pieces(segments):
            self._verify(address, data)
            if deadline is not None:
                deadline.check(f"reading back at {address:#010x}")
        return sum(len(part.data) for part in segments)

    def _flash_reason(self, status: int) -> str:
        return str(pylink().errors.JLinkFlashException(status)) if status < 0 else "The probe refused the bytes."

    def _verify(self, address: int, data: bytes) -> None:
        found = self.read_memory(address, len(data))
        if found != data:
            at = next(i for i, (a, b) in enumerate(zip(data, found, strict=True)) if a != b)
            raise FlashVerifyError(
                f"Flash of board {self.serial} reads back other bytes than were written.",
                why=f"First at {address + at:#010x}: {found[at]:#04x} instead of {data[at]:#04x}.",
                todo="Power-cycle the board and run again; if it stays so, the flash or the cable is bad.",
                context={"serial": self.serial, "address": address + at},
            )

    # -- run control ------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Reset the board and leave its core halted at the first instruction."""
        with self._calling("resetting", "Power-cycle the board and run again."):
            self._jl.reset(halt=True)

    def go(self) -> None:
        """Let the core run; nothing when it runs already."""
        with self._calling("starting the core", "Power-cycle the board and run again."):
            self._jl.restart()

    def halted(self) -> bool:
        """Whether the core is halted."""
        with self._calling("asking for the core's state", "Power-cycle the board and run again."):
            return bool(self._jl.halted())

    def halt(self, deadline: Deadline) -> None:
        """Halt the core; `DeadlineError` when it does not."""
        # pylink's halt() sleeps one second after it succeeded.
        with self._calling("halting", "Power-cycle the board and run again."):
            if self._jl.halted():
                return
            self._dll.JLINKARM_Halt()
        while not self.halted():
            deadline.check("the core still runs")
            time.sleep(POLL_SECONDS)

    def check_target(self) -> None:
        """Raise when the core is halted, handles a fault, locked up, or the link is lost; else return.

        Reads one status register and does not stop a healthy core.

        Raises:
            HardFaultError: the core is in a fault handler; registers in the context.
            LockupError: the core locked up.
            TargetError: the core is halted.
            ProbeError: the link is lost.
        """
        halted = self.halted()
        exception = self._word(ICSR) & VECTACTIVE
        if exception in FAULT_EXCEPTIONS:
            self._await_lockup()
            report = self.fault_registers()
            raise HardFaultError(
                f"The core of board {self.serial} is in its {FAULT_EXCEPTIONS[exception]} handler.",
                why=f"{explain_fault(exception, report.fault)}; {_place(report)}",
                todo="Look up the program counter in the image; check stack size and pointers.",
                context={"serial": self.serial, "fault": report.to_dict()},
            )
        if halted:
            registers = self.registers()
            raise TargetError(
                f"The core of board {self.serial} is halted.",
                why=f"At {registers['pc']:#010x}: a breakpoint instruction, or another debugger stopped it.",
                todo="Remove breakpoints from the firmware and run again.",
                context={"serial": self.serial, "registers": dict(registers)},
            )

    def _await_lockup(self) -> None:
        """Give a core that is in a fault handler the moment it takes to fault there again, which locks it up."""
        end = time.monotonic() + LOCKUP_SECONDS
        while time.monotonic() < end:
            lost = self._lost()
            if lost is not None:
                raise lost
            time.sleep(POLL_SECONDS)

    # -- memory and registers ---------------------------------------------------------------------------------------

    def read_memory(self, address: int, size: int) -> bytes:
        """Read target memory; `ProbeError` when it cannot be read."""
        buffer = ctypes.create_string_buffer(size)
        with self._calling(f"reading {size} bytes at {address:#010x}", "Check the address against the board's memory."):
            count = int(self._dll.JLINKARM_ReadMemEx(_u32(address), size, buffer, 0))
            if count != size:
                raise self._failed(f"reading {size} bytes at {address:#010x} (code {count})")
        return buffer.raw

    def write_memory(self, address: int, data: bytes) -> None:
        """Write target memory.

        Raises:
            ProbeError: the board was not identified first, or the memory cannot be written.
        """
        if self._board is None:
            raise ProbeError(
                f"Board {self.serial} was not identified; nothing was written.",
                why="A write before the identity was read could destroy another board's contents.",
                todo="Call identify() first.",
            )
        with self._calling(f"writing {len(data)} bytes at {address:#010x}", "Check the address."):
            count = int(self._dll.JLINKARM_WriteMemEx(_u32(address), len(data), bytes(data), 0))
            if count != len(data):
                raise self._failed(f"writing {len(data)} bytes at {address:#010x} (code {count})")

    def registers(self) -> Mapping[str, int]:
        """Core registers by name (r0 to r12, sp, lr, pc, xpsr). Halts a running core for a moment."""
        with self._calling("reading registers", "Power-cycle the board and run again."):
            return {name: self._jl.register_read(i) & 0xFFFF_FFFF for i, name in enumerate(REGISTER_NAMES)}

    def fault_registers(self) -> FaultReport:
        """Halt the core and read what tells of a fault."""
        self.halt(Deadline(HALT_SECONDS, "the core to halt", f"board {self.serial}"))
        registers = self.registers()
        fault = {name: self._word(address) for name, address in FAULT_ADDRESSES.items()}
        stacked = None
        if registers["xpsr"] & VECTACTIVE and self._board is not None:
            with suppress(ProbeError):
                stack = self.read_memory(registers["sp"], SEARCH_BYTES)
                stacked = find_frame(stack, [region for region in self._board.memory if region.kind == "code"])
        return FaultReport(registers["xpsr"] & VECTACTIVE, registers, fault, stacked)

    def _word(self, address: int) -> int:
        with self._calling(f"reading {address:#010x}", "Power-cycle the board and run again."):
            return int(self._jl.memory_read32(address, 1)[0])

    # -- RTT --------------------------------------------------------------------------------------------------------

    def boot_rtt(self, address: int, deadline: Deadline) -> RttTransport:
        """Reset, make any earlier control block unreadable, run, and open the new one.

        Memory survives a reset, so a block of an earlier boot, or of another image at the same place, would be taken
        for the new one before the firmware has written its own.
        """
        self.reset()
        self.write_memory(address, bytes(RTT_ID_BYTES))
        self.go()
        return self.rtt(address, deadline)

    def rtt(self, address: int, deadline: Deadline) -> RttTransport:
        """Open the control block at the address the image states.

        Raises:
            DeadlineError: the firmware did not write its block in time.
            TargetError: the core faulted or stopped instead.
        """
        if self._transport is not None:
            self._transport.close()
        with self._calling("starting RTT", "Update SEGGER's J-Link software."):
            self._jl.rtt_start(address)
        while True:
            try:
                with self._calling("looking for RTT", "Update SEGGER's J-Link software."):
                    self._jl.rtt_get_num_up_buffers()
                break
            except ProbeError as error:
                if not isinstance(error.__cause__, pylink().errors.JLinkRTTException):
                    raise
            self.check_target()
            if deadline.expired:
                raise deadline.error(f"no RTT control block at {address:#010x}; the core runs")
            time.sleep(POLL_SECONDS)
        self._transport = RttTransport(self._dll, address, self._rtt_failed)
        return self._transport

    def capture_swo(self, cpu_hz: int, swo_hz: int, ports: int) -> SwoCapture:
        """Have the probe capture what leaves by the SWO pin from now on; `ProbeError` when it cannot."""
        cure = "Check that SWO is wired and that the probe has it; else choose another transport."
        with self._calling("starting SWO", cure):
            self._jl.swo_enable(cpu_hz, swo_hz, ports)
        return SwoCapture(self._dll, self._failed)

    def _written_anew(self, address: int) -> bool:
        """Whether a control block that was not valid becomes so again."""
        end = time.monotonic() + REBOOT_SECONDS
        while time.monotonic() < end:
            with suppress(HarnessError):
                if _block_is_valid(self.read_memory(address, RTT_HEAD_BYTES)):
                    return True
            time.sleep(POLL_SECONDS)
        return False

    def _rtt_failed(self, action: str) -> HarnessError:
        lost = self._lost()
        if lost is None and self._transport is not None and self._written_anew(self._transport.address):
            return RestartedError(
                f"Board {self.serial} began to boot anew in the middle of the capture.",
                why="The control block of RTT was destroyed and written anew: a supply that broke down, or a reset.",
                todo="Check the supply and who else reaches the board; then run again.",
                context={"serial": self.serial},
            )
        return lost or TargetError(
            f"RTT of board {self.serial} failed while {action}.",
            why="The control block in the target's memory is not valid; the firmware may have overwritten it.",
            todo="Check the firmware for writes outside its buffers; the map file says what lies beside the block.",
            context={"serial": self.serial},
        )


def _block_is_valid(block: bytes) -> bool:
    """Whether the first bytes of an RTT control block, with its first up-channel, can be one."""
    name, up, down, _, _, size, write, read = struct.unpack_from("<16s7I", block)
    known = name.rstrip(b"\0") == b"SEGGER RTT" and 0 < up <= MOST_CHANNELS and down <= MOST_CHANNELS
    return bool(known and write < size and read < size)


def _pieces(segments: Iterable[Segment]) -> Iterator[tuple[int, bytes]]:
    """Addresses and bytes small enough that a deadline is looked at in between."""
    for part in segments:
        for offset in range(0, len(part.data), PIECE_BYTES):
            yield part.address + offset, part.data[offset : offset + PIECE_BYTES]


def _u32(value: int) -> ctypes.c_uint32:
    return ctypes.c_uint32(value)


def _place(report: FaultReport) -> str:
    if report.stacked is None:
        return f"pc {report.registers['pc']:#010x}"
    return f"raised at {report.stacked['pc']:#010x}, called from {report.stacked['lr']:#010x}"
