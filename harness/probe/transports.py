"""Opening a transport by its name: the board is reset, everything an earlier boot said is discarded, the core runs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from harness.board.transports import TRANSPORTS
from harness.probe.base import Transport

if TYPE_CHECKING:
    from harness.core.deadline import Deadline
    from harness.probe.jlink import JLinkProbe

DEFAULT_BAUD = 115_200


@dataclass(frozen=True)
class PortPlace:
    """Where a board's serial port is on this host: a device, or the tty of the USB device with a serial number.

    `bus` names the USB a device hangs on; empty is the host's own.
    """

    path: str = ""
    usb_serial: str = ""
    baud: int = DEFAULT_BAUD
    bus: str = ""

    def __str__(self) -> str:
        return self.path or f"the port of USB device {self.usb_serial}"


@dataclass(frozen=True)
class Link:
    """What a transport may use to reach the firmware of one board.

    Attributes:
        probe: open, the board identified and flashed.
        where: the board, for errors.
        rtt_address: of the image's RTT control block, None where it has none.
        port: the board's serial port for this transport, None where the bench knows none.
        clock_hz: rate of the core's clock.
    """

    probe: JLinkProbe
    where: str
    rtt_address: int | None = None
    port: PortPlace | None = None
    clock_hz: int = 0


def boot(transport: str, link: Link, deadline: Deadline) -> Transport:
    """Reset the board, let it run, and return the named transport, open.

    Raises:
        ProbeError: the transport cannot be opened, or the probe failed.
        BoardBusyError: another process has the port open.
        TargetError: the core faulted or stopped instead.
        DeadlineError: the firmware, or the port, did not come in time.
    """
    opened: Transport = import_module(TRANSPORTS[transport].module).boot(link, deadline)
    return opened
