"""Debug probes on USB, listed without opening any: a listing must not disturb a run that uses one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.probe.usb import SEGGER_VENDOR, SYSFS_DEVICES, UsbBus, UsbDevice


@dataclass(frozen=True)
class UsbProbe:
    """A SEGGER device on USB. `serial` is None where the system does not tell it without opening the device."""

    serial: int | None
    product: str
    vendor_id: int
    product_id: int
    location: str

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        return {
            "serial": self.serial,
            "product": self.product,
            "usb_id": f"{self.vendor_id:04x}:{self.product_id:04x}",
            "location": self.location,
        }


@dataclass(frozen=True)
class UsbListing:
    """What was found; `problem` says why the list may be incomplete, empty when it is not."""

    probes: tuple[UsbProbe, ...]
    problem: str = ""


def list_usb_probes(backend: Any = None, sysfs: Path = SYSFS_DEVICES) -> UsbListing:
    """All SEGGER devices. Never fails: without libusb the list is empty and `problem` says why.

    Args:
        backend: a pyusb backend; None takes libusb, from the system or from the libusb-package wheel.
        sysfs: where the kernel tells a device's serial number without opening it.
    """
    try:
        found = UsbBus(backend, sysfs).devices()
    except Exception as error:  # whatever a USB stack without devices or permissions raises
        return UsbListing((), f"USB cannot be listed: {error or type(error).__name__}")
    return UsbListing(tuple(_probe(device) for device in found if device.vendor_id == SEGGER_VENDOR))


def _probe(device: UsbDevice) -> UsbProbe:
    return UsbProbe(
        serial=int(device.serial) if device.serial.isdigit() else None,
        product=device.product or "J-Link",
        vendor_id=device.vendor_id,
        product_id=device.product_id,
        location=device.location,
    )
