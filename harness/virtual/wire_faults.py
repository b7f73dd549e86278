"""A transport that spoils what passes: frames lost, repeated, swapped, cut, changed; silence; echoes; old answers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from harness.virtual.faults import Fault

_DELIMITER = b"\0"


class Carrier(Protocol):
    """What carries bytes off the target and back."""

    name: str

    @property
    def events(self) -> Sequence[str]: ...
    def read(self, max_bytes: int = 65536) -> bytes: ...
    def write(self, data: bytes) -> int: ...
    def close(self) -> None: ...


class SpoiledTransport:
    """Passes on what the faults leave of each frame.

    Frames from the target are counted from 0 since the board booted; the first is the one that says so.

    Args:
        inner: the transport behind it.
        faults: those that strike in this run; faults of other places are passed over.
        earlier: every byte of an earlier boot's answer, for `stale-result`.
        clock: seconds; for tests.
    """

    def __init__(
        self,
        inner: Carrier,
        faults: Sequence[Fault],
        *,
        earlier: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._faults = {fault.name: fault for fault in faults if fault.spec.place == "wire"}
        self._clock = clock
        self._part = b""
        self._number = 0
        self._ready = bytearray()
        self._late: deque[bytes] = deque()
        self._blocked_until = 0.0
        self._behind_stall = bytearray()
        self._mute = bool(self._faults.keys() & {"stale-result", "every-second-run"})
        if "stale-result" in self._faults:
            self._ready += earlier

    @property
    def events(self) -> Sequence[str]:
        """What happened to the link."""
        return self._inner.events

    def read(self, max_bytes: int = 65536) -> bytes:
        """Bytes that came through."""
        *whole, self._part = (self._part + self._inner.read(max_bytes)).split(_DELIMITER)
        for frame in whole:
            self._pass_on(frame + _DELIMITER)
        if self._behind_stall and self._clock() >= self._blocked_until:
            self._ready += self._behind_stall
            self._behind_stall.clear()
        out = bytes(self._ready[:max_bytes])
        del self._ready[: len(out)]
        return out

    def write(self, data: bytes) -> int:
        """Hand on bytes; an echoing channel brings them back."""
        taken = self._inner.write(data)
        if "echo" in self._faults:
            self._ready += data[:taken]
        return taken

    def close(self) -> None:
        """Close the transport behind."""
        self._inner.close()

    def _pass_on(self, frame: bytes) -> None:
        if len(frame) == 1:
            self._emit(frame)
            return
        number = self._number
        self._number += 1
        for out in self._spoiled(number, frame):
            self._emit(out)

    def _emit(self, data: bytes) -> None:
        if self._mute:
            return
        (self._behind_stall if self._behind_stall else self._ready).extend(data)

    def _spoiled(self, number: int, frame: bytes) -> list[bytes]:
        late = [self._late.popleft()] if self._late else []
        striking = {name for name, fault in self._faults.items() if fault.where == number}
        middle = len(frame) // 2
        if "wire-dead" in striking:
            self._mute = True
        if "stall" in striking:
            self._emit(frame[:middle])
            self._blocked_until = self._clock() + self._faults["stall"].duration
            self._behind_stall += frame[middle:]
            return late
        if "frame-dropped" in striking:
            return late
        if "frame-reordered" in striking:
            self._late.append(frame)
            return late
        if "frame-truncated" in striking:
            return [frame[:middle] + _DELIMITER, *late]
        if "frame-flipped" in striking:
            # Not to the delimiter: a frame cut in two is another fault.
            flipped = frame[middle] ^ 0x10 or 0x55
            return [frame[:middle] + bytes([flipped]) + frame[middle + 1 :], *late]
        return [frame, frame, *late] if "frame-duplicated" in striking else [frame, *late]
