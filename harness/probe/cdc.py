"""USB CDC as a transport: the board's own USB device, found by its serial number, opened through its tty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.core.errors import ProbeError
from harness.probe.serial_port import SerialTransport, boot_port
from harness.probe.usb import UsbBus, find_by_serial

if TYPE_CHECKING:
    from harness.core.deadline import Deadline
    from harness.probe.transports import Link, PortPlace


def find_tty(place: PortPlace) -> str | None:
    """Path of the device's tty at present; None while the device is not there. Opens nothing.

    Raises:
        ProbeError: USB cannot be listed.
    """
    if place.path:
        return place.path
    bus = UsbBus.of_tree(place.bus) if place.bus else UsbBus()
    try:
        device = find_by_serial(place.usb_serial, bus)
    except Exception as fault:  # whatever a USB stack without devices or permissions raises
        raise ProbeError(
            "USB devices cannot be listed.",
            why=str(fault) or type(fault).__name__,
            todo="Name the port itself: `ports: {cdc: {path: /dev/ttyACM0}}` in bench.yaml.",
        ) from fault
    return device.ttys[0] if device is not None else None


def boot(link: Link, deadline: Deadline) -> SerialTransport:
    """Open the tty of the board's USB device, then boot. See `harness.probe.transports.boot`."""
    place = link.port
    if place is None:
        raise ProbeError(
            f"The bench does not know the USB device of {link.where}.",
            todo="State `ports: {cdc: {usb_serial: ...}}` of the board in bench.yaml; `harness ports` lists devices.",
        )
    return boot_port(SerialTransport(lambda: find_tty(place), place.baud, link.where, name="cdc"), link, deadline)
