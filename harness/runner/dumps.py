"""ETDumps that firmware keeps in memory or sends over RTT, read from a leased board."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.deadline import Deadline
from harness.core.errors import CaptureError, UsageError
from harness.interop.etdump.dump import IDENTIFIER, read_etdump
from harness.probe.segments import symbol_address

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease
    from harness.probe.jlink import JLinkProbe

MAX_BYTES = 16 * 1024 * 1024
HEAD = 12
"""Size prefix, offset of the root, identifier: what a size-prefixed ETDump begins with."""
POLL_SECONDS = 0.01
RTT_SYMBOL = "_SEGGER_RTT"


@dataclass(frozen=True)
class DumpPlace:
    """Where the dump is: in the buffer of symbol `symbol`, complete when the word of `size_symbol` is not zero and says
    how many bytes it has; or, with `rtt`, on RTT channel 0, where other bytes may come before it."""

    symbol: str = "etdump_buffer"
    size_symbol: str = "etdump_bytes"
    rtt: bool = False


def read_dump(lease: BoardLease, elf: Path, place: DumpPlace, deadline: Deadline, *, flash: bool = False) -> bytes:
    """Read one dump; the core runs on afterwards.

    Args:
        lease: the board, held by the caller.
        elf: the image in it, for its symbols.
        place: where the dump is.
        deadline: until when it must be complete.
        flash: write the image and boot it first; without it the board keeps running what it runs.

    Raises:
        ProbeError: the image lacks a symbol, or the link is lost.
        DeadlineError: no complete dump in time.
        CaptureError: what was there is no dump.
        TargetError: the core faulted.
    """
    probe = lease.open_probe()
    if flash:
        probe.flash(elf, lease.board_type, deadline)
    data = _over_rtt(probe, elf, deadline, flash) if place.rtt else _from_memory(probe, elf, place, deadline, flash)
    if probe.halted():
        probe.go()
    read_etdump(data, lease.info.board_type)
    return data


def _wait(probe: JLinkProbe, deadline: Deadline, ready: Callable[[], bytes | None], heard: Callable[[], str]) -> bytes:
    while True:
        found = ready()
        if found is not None:
            return found
        probe.check_target()
        deadline.check(heard())
        time.sleep(POLL_SECONDS)


def _from_memory(probe: JLinkProbe, elf: Path, place: DumpPlace, deadline: Deadline, fresh: bool) -> bytes:
    buffer, size_word = symbol_address(elf, place.symbol), symbol_address(elf, place.size_symbol)
    if fresh:
        probe.reset()
        # Memory survives a reset: a size of an earlier boot must not pass for this one's.
        probe.write_memory(size_word, bytes(4))
    probe.go()

    def ready() -> bytes | None:
        size: int = struct.unpack("<I", probe.read_memory(size_word, 4))[0]
        if not size:
            return None
        if not HEAD <= size <= MAX_BYTES:
            raise CaptureError(
                f"{place.size_symbol} says {size} bytes.",
                why=f"A dump has {HEAD} to {MAX_BYTES}.",
                todo="Check that the image is the one in the board, and the symbol.",
            )
        probe.halt(deadline)
        return probe.read_memory(buffer, size)

    return _wait(probe, deadline, ready, lambda: f"{place.size_symbol} is still 0")


def _over_rtt(probe: JLinkProbe, elf: Path, deadline: Deadline, fresh: bool) -> bytes:
    address = symbol_address(elf, RTT_SYMBOL)
    if fresh:
        transport = probe.boot_rtt(address, deadline)
    else:
        probe.go()
        transport = probe.rtt(address, deadline)
    heard = bytearray()

    def ready() -> bytes | None:
        heard.extend(transport.read())
        if len(heard) > 2 * MAX_BYTES:
            raise CaptureError("RTT carries no ETDump.", why=f"{len(heard)} bytes came.", todo="Check the firmware.")
        at = heard.find(IDENTIFIER) - 8
        if at < 0:
            return None
        size: int = struct.unpack_from("<I", heard, at)[0] + 4
        if not HEAD <= size <= MAX_BYTES:
            raise CaptureError(
                "The ETDump on RTT is damaged.", why=f"It says {size} bytes.", todo="Check the firmware."
            )
        return bytes(heard[at : at + size]) if len(heard) >= at + size else None

    try:
        return _wait(probe, deadline, ready, lambda: f"{len(heard)} bytes on RTT")
    finally:
        transport.close()


def check_place(place: DumpPlace, *, symbols_named: bool) -> None:
    """Raise `UsageError` when symbols of a buffer and RTT are asked for together."""
    if place.rtt and symbols_named:
        raise UsageError("A dump comes from a buffer or over RTT.", todo="Leave out --rtt, or the symbols.")
