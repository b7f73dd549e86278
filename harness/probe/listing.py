"""Debug probes on USB, listed without opening any: a listing must not disturb a run that uses one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

SEGGER_VENDOR = 0x1366
SYSFS_DEVICES = Path("/sys/bus/usb/devices")


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
        core = import_module("usb.core")
        if backend is None:
            backend = import_module("libusb_package").get_libusb1_backend()
        found = list(core.find(find_all=True, idVendor=SEGGER_VENDOR, backend=backend) or ())
    except Exception as error:  # whatever a USB stack without devices or permissions raises
        return UsbListing((), f"USB cannot be listed: {error or type(error).__name__}")
    return UsbListing(tuple(sorted((_probe(device, sysfs) for device in found), key=lambda probe: probe.location)))


def _probe(device: Any, sysfs: Path) -> UsbProbe:
    ports = ".".join(str(port) for port in device.port_numbers or ())
    location = f"{device.bus}-{ports}" if ports else f"{device.bus}:{device.address}"
    serial = _attribute(sysfs / location / "serial")
    return UsbProbe(
        serial=int(serial) if serial.isdigit() else None,
        product=_attribute(sysfs / location / "product") or "J-Link",
        vendor_id=int(device.idVendor),
        product_id=int(device.idProduct),
        location=location,
    )


def _attribute(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace").strip()
    return ""
