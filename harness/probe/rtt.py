"""SEGGER Real Time Transfer as a transport: one up-channel and one down-channel of the control block."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.core.errors import HarnessError, ProbeError

if TYPE_CHECKING:
    from harness.core.deadline import Deadline
    from harness.probe.transports import Link

BUFFER_BYTES = 65536


class RttTransport:
    """Reads and writes channel 0 (or another) through the J-Link library.

    The library is called with one reused buffer: pylink's own `rtt_read` makes a list of integers of every block, which
    costs more than the transfer.
    """

    name = "rtt"

    def __init__(
        self, dll: Any, address: int, failed: Callable[[str], HarnessError], *, up: int = 0, down: int = 0
    ) -> None:
        self.address = address
        self.events: list[str] = []
        self._dll = dll
        self._failed = failed
        self._up = up
        self._down = down
        self._buffer = ctypes.create_string_buffer(BUFFER_BYTES)
        self._open = True

    def read(self, max_bytes: int = BUFFER_BYTES) -> bytes:
        """Bytes that have come, at most 65536; empty when none have.

        Raises:
            HarnessError: the link is lost, or the control block in target memory is corrupt.
        """
        self._check_open("Reading")
        count = int(self._dll.JLINK_RTTERMINAL_Read(self._up, self._buffer, min(max_bytes, BUFFER_BYTES)))
        if count < 0:
            raise self._failed(f"reading RTT channel {self._up} (code {count})")
        return ctypes.string_at(self._buffer, count)

    def write(self, data: bytes) -> int:
        """Hand over bytes; returns how many the target's buffer took, possibly 0. Raises like `read`."""
        self._check_open("Writing")
        if not data:
            return 0
        count = int(self._dll.JLINK_RTTERMINAL_Write(self._down, bytes(data), len(data)))
        if count < 0:
            raise self._failed(f"writing RTT channel {self._down} (code {count})")
        return count

    def close(self) -> None:
        """Stop RTT. May be called more than once."""
        if self._open:
            self._open = False
            self._dll.JLINK_RTTERMINAL_Control(1, None)

    def _check_open(self, action: str) -> None:
        if not self._open:
            raise ProbeError(f"{action} RTT after it was closed.", todo="Open it again through the probe.")


def boot(link: Link, deadline: Deadline) -> RttTransport:
    """Reset, make any earlier control block unreadable, run, open the new one."""
    return link.probe.boot_rtt(control_block(link), deadline)


def control_block(link: Link) -> int:
    """Address of the image's control block; `ProbeError` when it has none."""
    if link.rtt_address is None:
        raise ProbeError(
            f"The image on {link.where} has no RTT control block.",
            why="It was built for another transport.",
            todo="Build it with --transport rtt.",
        )
    return link.rtt_address
