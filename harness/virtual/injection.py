"""Which faults of a virtual board strike in which run, and what each needs of the board before the run begins."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.virtual.faults import GRABBED, Fault, registry_entries
from harness.virtual.wire_faults import Carrier, SpoiledTransport

_KEPT_BYTES = 1 << 20
_PLUGIN_OPTIONS = {"counter-stuck": "stuck", "clock-stopped": "stops_after", "events-zero": "zero_after"}
_OTHER_HOLDER = "another process (a fault on purpose)"


class Injection:
    """The faults of one virtual board, and how many runs it has had.

    Runs are counted over leases: whoever hands out the board keeps its injection.
    """

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._faults = tuple(faults)
        self._run = 0
        self._striking: tuple[Fault, ...] = ()
        self._earlier = b""
        self._grabbed: int | None = None

    def with_more(self, faults: Iterable[Fault | str | Mapping[str, Any]]) -> Injection:
        """These and further faults, runs counted anew.

        Raises:
            FaultError: an unknown fault, or impossible parameters.
        """
        return Injection((*self._faults, *(Fault.of(fault) for fault in faults)))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults."""
        return self._faults

    @property
    def striking(self) -> tuple[Fault, ...]:
        """Those that strike in the present run."""
        return self._striking

    def next_run(self) -> None:
        """Count a run and settle what strikes in it."""
        self._run += 1
        self._striking = tuple(fault for fault in self._faults if fault.strikes(self._run))

    @property
    def entries(self) -> list[str]:
        """Values of `fault=` in the registry."""
        return registry_entries(self._striking)

    @property
    def plugin_options(self) -> tuple[str, ...]:
        """Options of the counter plugin."""
        striking = [fault for fault in self._striking if fault.name in _PLUGIN_OPTIONS]
        return tuple(f"{_PLUGIN_OPTIONS[fault.name]}={fault.where}" for fault in striking)

    @property
    def disk_room(self) -> int | None:
        """How many bytes of a bundle the disk takes; None when nobody spoils it."""
        rooms = [fault.where for fault in self._striking if fault.name == "disk-full"]
        return min(rooms) if rooms else None

    def grab(self, probe_lock: Path) -> None:
        """Take the probe as another process would, or let go of it, as the present run wants it."""
        self.let_go()
        if any(fault.name == GRABBED for fault in self._striking):
            fd = os.open(probe_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            os.pwrite(fd, _OTHER_HOLDER.encode(), 0)
            self._grabbed = fd

    def let_go(self) -> None:
        """Give back what was grabbed. May be called more than once."""
        fd, self._grabbed = self._grabbed, None
        if fd is not None:
            os.close(fd)

    def wire(self, transport: Carrier) -> Carrier:
        """The transport as the present run's faults leave it."""
        if not self._faults:
            return transport
        return _Kept(SpoiledTransport(transport, self._striking, earlier=self._earlier), self)

    def keep(self, data: bytes, *, first: bool) -> None:
        """Remember what a run's target said, for a later run to find in its buffer."""
        self._earlier = data if first else (self._earlier + data)[:_KEPT_BYTES]


class _Kept:
    """Tells an injection what passes."""

    def __init__(self, inner: SpoiledTransport, injection: Injection) -> None:
        self.name = inner.name
        self._inner = inner
        self._injection = injection
        self._first = True

    @property
    def events(self) -> Sequence[str]:
        return self._inner.events

    def read(self, max_bytes: int = 65536) -> bytes:
        data = self._inner.read(max_bytes)
        if data:
            self._injection.keep(data, first=self._first)
            self._first = False
        return data

    def write(self, data: bytes) -> int:
        return self._inner.write(data)

    def close(self) -> None:
        self._inner.close()
