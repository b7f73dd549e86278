"""A serial port as a transport: opened by nobody else, reopened when it vanishes, every gap recorded with its times."""

from __future__ import annotations

import errno
import os
import select
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import BoardBusyError, ProbeError

if TYPE_CHECKING:
    from harness.core.deadline import Deadline
    from harness.probe.transports import Link, PortPlace

REOPEN_SECONDS = 5.0
RETRY_SECONDS = 0.02
_GONE = frozenset({errno.EIO, errno.ENODEV, errno.ENXIO, errno.ENOENT, errno.EBADF, errno.EPIPE})


class SerialTransport:
    """Reads and writes one port without waiting.

    A port that vanishes (the board reboots its USB, a cable is moved) is looked for again, up to `reopen_seconds`.
    What was lost meanwhile shows in the frames; that there was a gap shows in `events`.

    Args:
        find: the device's path at present, None while there is none.
        baud: bits a second.
        where: the board, for errors.
        name: of the transport.
        reopen_seconds: how long a vanished port may stay away.
    """

    def __init__(
        self,
        find: Callable[[], str | None],
        baud: int,
        where: str,
        *,
        name: str = "serial",
        reopen_seconds: float = REOPEN_SECONDS,
    ) -> None:
        self.name = name
        self.events: list[str] = []
        self.path = ""
        self._find = find
        self._baud = baud
        self._where = where
        self._reopen_seconds = reopen_seconds
        self._port: Any = None
        self._poll = select.poll()
        self._started = time.monotonic()
        self._gone_since: float | None = None
        self._retry_at = 0.0
        self._closed = False

    def open(self, deadline: Deadline) -> None:
        """Open the port, waiting for it to appear, and discard what it holds.

        Raises:
            DeadlineError: there is no such port.
            BoardBusyError: another process has it open.
            ProbeError: it cannot be opened.
        """
        while not self._try_open():
            deadline.check("no such port")
            time.sleep(RETRY_SECONDS)
        self.discard()

    def discard(self) -> None:
        """Throw away what has come and what waits to be sent; times of events count from here."""
        with suppress(termios.error):
            termios.tcflush(self._port.fileno(), termios.TCIOFLUSH)
        self._started = time.monotonic()

    def read(self, max_bytes: int = 65536) -> bytes:
        """Bytes that have come; empty when none have, or while the port is away.

        Raises:
            ProbeError: the port did not come back in time.
        """
        if not self._there():
            return b""
        ready = self._poll.poll(0)
        if not ready:
            return b""
        try:
            data = os.read(self._port.fileno(), max_bytes)
        except BlockingIOError:
            return b""
        except OSError as fault:
            self._vanished(fault)
            return b""
        if not data:
            # Ready, yet nothing to read: that is how a device says that it is gone.
            self._vanished(OSError(errno.EIO, "the device hung up"))
        return data

    def write(self, data: bytes) -> int:
        """Hand over bytes; returns how many the port took, possibly 0. Raises like `read`."""
        if not data or not self._there():
            return 0
        try:
            return os.write(self._port.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError as fault:
            self._vanished(fault)
            return 0

    def close(self) -> None:
        """Close the port. May be called more than once."""
        self._closed = True
        self._release()

    def _there(self) -> bool:
        if self._closed:
            raise ProbeError(f"The {self.name} port of {self._where} was closed.", todo="Boot the board again.")
        if self._gone_since is None:
            return True
        now = time.monotonic()
        if now < self._retry_at:
            return False
        self._retry_at = now + RETRY_SECONDS
        if self._try_open():
            self.events.append(
                f"{self.name} port came back as {self.path} {self._clock(now)}, away {now - self._gone_since:.3f} s"
            )
            self._gone_since = None
            return True
        if now - self._gone_since > self._reopen_seconds:
            raise ProbeError(
                f"The {self.name} port of {self._where} vanished and did not come back.",
                why=f"{self.path} went {self._clock(self._gone_since)}; waited {self._reopen_seconds:g} s.",
                todo="Check the cable and the board's power; `harness ports` lists what is there.",
                context={"path": self.path, "events": list(self.events)},
            )
        return False

    def _vanished(self, fault: OSError) -> None:
        if fault.errno not in _GONE:
            raise ProbeError(
                f"The {self.name} port {self.path} of {self._where} failed.",
                why=fault.strerror or str(fault),
                todo="Unplug the port's adapter and plug it in again.",
            ) from fault
        self._release()
        self._gone_since = time.monotonic()
        self._retry_at = self._gone_since
        self.events.append(f"{self.name} port {self.path} vanished {self._clock(self._gone_since)}: {fault.strerror}")

    def _clock(self, now: float) -> str:
        return f"{now - self._started:.3f} s after the boot"

    def _try_open(self) -> bool:
        path = self._find()
        if path is None:
            return False
        serial = import_module("serial")
        port = serial.Serial(baudrate=self._baud, timeout=0, write_timeout=0, exclusive=True)
        port.port = path
        try:
            port.open()
        except serial.SerialException as fault:
            if fault.errno in _GONE:
                return False
            raise self._refused(path, fault) from fault
        self._port, self.path = port, path
        self._poll = select.poll()
        self._poll.register(port.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        return True

    def _refused(self, path: str, fault: Any) -> ProbeError | BoardBusyError:
        if fault.errno in (errno.EAGAIN, errno.EBUSY, errno.EWOULDBLOCK):
            holder = port_holder(path)
            return BoardBusyError(
                f"The {self.name} port {path} of {self._where} is open in another process.",
                why=f"Process {holder} has it open." if holder else "Which one cannot be seen from here.",
                todo="End that process, or choose another transport.",
                context={"path": path, "pid": holder},
            )
        return ProbeError(
            f"The {self.name} port {path} of {self._where} cannot be opened.",
            why=os.strerror(fault.errno) if fault.errno else str(fault),
            todo="Check the path and your rights to it (group dialout on most systems).",
            context={"path": path},
        )

    def _release(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            with suppress(Exception):
                port.close()


def port_holder(path: str) -> int | None:
    """The process that has a device open, as far as this user may see; None when none is seen."""
    target = os.path.realpath(path)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if int(link.parts[2]) != os.getpid() and str(link.readlink()) == target:
                return int(link.parts[2])
    return None


def find_port(place: PortPlace) -> str | None:
    """The path of a port at present; None while it is not there. Opens nothing."""
    if place.path:
        return place.path if Path(place.path).exists() else None
    for port in import_module("serial.tools.list_ports").comports():
        if same_serial(str(port.serial_number or ""), place.usb_serial):
            return str(port.device)
    return None


def same_serial(found: str, wanted: str) -> bool:
    """Whether two USB serial numbers are the same; those that are numbers may be padded with zeros."""
    if found.isdigit() and wanted.isdigit():
        return int(found) == int(wanted)
    return bool(found) and found == wanted


def boot(link: Link, deadline: Deadline) -> SerialTransport:
    """Open the board's port, reset, discard what came before, run. See `harness.probe.transports.boot`."""
    place = link.port
    if place is None:
        raise ProbeError(
            f"The bench knows no serial port of {link.where}.",
            todo="State `ports: {serial: {path: ...}}` of the board in bench.yaml; `harness ports` lists them.",
        )
    return boot_port(SerialTransport(lambda: find_port(place), place.baud, link.where), link, deadline)


def boot_port(transport: SerialTransport, link: Link, deadline: Deadline) -> SerialTransport:
    """Open a port before the firmware says anything, then let it boot."""
    transport.open(deadline)
    try:
        link.probe.reset()
        transport.discard()
        link.probe.go()
    except BaseException:
        transport.close()
        raise
    return transport
