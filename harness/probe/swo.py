"""Serial Wire Output as a transport: trace packets up, commands down through RTT.

The pin carries bytes to the host only. Whoever can read SWO has a debug probe, so the way down is the control block in
target memory that RTT uses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.probe.itm import ItmDecoder
from harness.probe.rtt import control_block

if TYPE_CHECKING:
    from harness.core.deadline import Deadline
    from harness.core.errors import HarnessError
    from harness.probe.rtt import RttTransport
    from harness.probe.transports import Link

SWO_HZ = 1_000_000
PORT_MASK = 1
BUFFER_BYTES = 65536
_FLUSH, _COUNT, _STOP = 2, 10, 1


class SwoCapture:
    """Raw bytes that the probe captured from the pin, through the J-Link library with one reused buffer."""

    def __init__(self, dll: Any, failed: Callable[[str], HarnessError]) -> None:
        self._dll = dll
        self._failed = failed
        self._buffer = ctypes.create_string_buffer(BUFFER_BYTES)

    def read(self, max_bytes: int = BUFFER_BYTES) -> bytes:
        """Bytes that have come, removed from the probe's buffer. Raises what `failed` makes of a lost link."""
        count = int(self._dll.JLINKARM_SWO_Control(_COUNT, None))
        if count < 0:
            raise self._failed(f"reading SWO (code {count})")
        if count == 0:
            return b""
        size = ctypes.c_uint32(min(count, max_bytes, BUFFER_BYTES))
        self._dll.JLINKARM_SWO_Read(self._buffer, 0, ctypes.byref(size))
        self._dll.JLINKARM_SWO_Control(_FLUSH, ctypes.byref(size))
        return ctypes.string_at(self._buffer, size.value)

    def stop(self) -> None:
        """Stop capturing."""
        self._dll.JLINKARM_SWO_Control(_STOP, None)


class SwoTransport:
    """Stimulus port 0 up, RTT down."""

    name = "swo"

    def __init__(self, capture: SwoCapture, down: RttTransport) -> None:
        self._capture = capture
        self._down = down
        self._decoder = ItmDecoder()
        self._open = True

    @property
    def events(self) -> list[str]:
        """What the trace carried beside frames."""
        return [f"SWO: {self._decoder.counts}", *self._down.events]

    def read(self, max_bytes: int = BUFFER_BYTES) -> bytes:
        """Bytes of the stimulus port that have come; empty when none have. Raises when the link is lost."""
        return self._decoder.feed(self._capture.read(max_bytes))

    def write(self, data: bytes) -> int:
        """Hand over bytes; returns how many the target's RTT buffer took. Raises like `read`."""
        return self._down.write(data)

    def close(self) -> None:
        """Stop capturing. May be called more than once."""
        if self._open:
            self._open = False
            self._capture.stop()
            self._down.close()


def boot(link: Link, deadline: Deadline) -> SwoTransport:
    """Start the capture before the firmware runs, then boot with RTT open for commands."""
    capture = link.probe.capture_swo(link.clock_hz, SWO_HZ, PORT_MASK)
    try:
        down = link.probe.boot_rtt(control_block(link), deadline)
    except BaseException:
        capture.stop()
        raise
    return SwoTransport(capture, down)
