"""What a registered board says it is plugged into."""

from __future__ import annotations

from dataclasses import dataclass

from harness.probe.serial_port import same_serial
from harness.probe.usb import UsbDevice


@dataclass(frozen=True)
class Claim:
    """One such thing: a path, a USB serial number, or a place on USB; `use` is what for."""

    board: str
    use: str
    path: str = ""
    usb_serial: str = ""
    location: str = ""

    def fits(self, device: UsbDevice, path: str) -> bool:
        """Whether this is the device, and the port of it, that the board means."""
        if self.path:
            return self.path == path
        if self.location:
            return self.location == device.location
        return same_serial(device.serial, self.usb_serial)
