"""USB devices, listed without opening any: pyusb for what is there, the kernel's sysfs for what only it may tell.

Strings of a device (serial number, product) would have to be asked of the device itself, which needs it open; the
kernel has them already. A listing therefore disturbs nothing that uses a device.
"""

from __future__ import annotations

import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SYSFS_DEVICES = Path("/sys/bus/usb/devices")
HUB_CLASS = 9
SEGGER_VENDOR = 0x1366
MONITORS = {
    (0x1915, 0xC00A): "Power Profiler Kit II",
    (0x1FC9, 0xFC93): "Joulescope JS110",
    (0x16D0, 0x10BA): "Joulescope JS220",
}
"""Power monitors by vendor and product."""


@dataclass(frozen=True)
class UsbDevice:
    """A device. Strings are empty where the kernel does not tell them; `ttys` are paths of its serial ports."""

    vendor_id: int
    product_id: int
    location: str
    device_class: int = 0
    serial: str = ""
    product: str = ""
    ttys: tuple[str, ...] = ()

    @property
    def usb_id(self) -> str:
        """Vendor and product, as in 1366:0101."""
        return f"{self.vendor_id:04x}:{self.product_id:04x}"

    @property
    def kind(self) -> str:
        """`hub`, `power monitor`, `probe`, `serial port`, or `other`."""
        if self.device_class == HUB_CLASS:
            return "hub"
        if (self.vendor_id, self.product_id) in MONITORS:
            return "power monitor"
        if self.vendor_id == SEGGER_VENDOR:
            return "probe"
        return "serial port" if self.ttys else "other"


@dataclass(frozen=True)
class UsbBus:
    """Where devices are looked for.

    Attributes:
        backend: a pyusb backend; None takes libusb, from the system or from the libusb-package wheel.
        sysfs: the kernel's directory of devices.
    """

    backend: Any = None
    sysfs: Path = SYSFS_DEVICES

    @classmethod
    def of_tree(cls, directory: Path | str) -> UsbBus:
        """The devices that a directory in the kernel's layout describes."""
        return cls(SysfsBackend(Path(directory)), Path(directory))

    def handles(self) -> list[Any]:
        """pyusb's devices, none of them open. Raises whatever a USB stack raises without devices or permissions."""
        core = import_module("usb.core")
        backend = self.backend
        if backend is None:
            backend = import_module("libusb_package").get_libusb1_backend()
        return list(core.find(find_all=True, backend=backend) or ())

    def devices(self) -> tuple[UsbDevice, ...]:
        """All devices by location. Raises like `handles`."""
        return tuple(sorted(map(self.describe, self.handles()), key=lambda device: device.location))

    def describe(self, handle: Any) -> UsbDevice:
        """What a listing shows of a pyusb device."""
        where = location_of(handle)
        node = self.sysfs / where
        return UsbDevice(
            vendor_id=int(handle.idVendor),
            product_id=int(handle.idProduct),
            location=where,
            device_class=int(getattr(handle, "bDeviceClass", 0)),
            serial=_attribute(node / "serial"),
            product=_attribute(node / "product"),
            ttys=tuple(_ttys(self.sysfs, where)),
        )


def location_of(handle: Any) -> str:
    """Bus and ports as the kernel names them, `1-2.3`; a root hub is `usb1`."""
    ports = ".".join(str(port) for port in handle.port_numbers or ())
    if ports:
        return f"{handle.bus}-{ports}"
    is_root = getattr(handle, "bDeviceClass", 0) == HUB_CLASS and handle.address == 1
    return f"usb{handle.bus}" if is_root else f"{handle.bus}:{handle.address}"


def find_by_serial(serial: str, bus: UsbBus) -> UsbDevice | None:
    """The device with this serial number that has a serial port; None when there is none."""
    return next((device for device in bus.devices() if device.ttys and device.serial == serial), None)


def _ttys(sysfs: Path, where: str) -> Iterator[str]:
    for interface in sorted(sysfs.glob(f"{where}:*")):
        # CDC devices have tty/<name>, USB-to-serial chips <name>/tty/<name>. "!" stands for "/" in the kernel's names.
        for node in sorted({*interface.glob("tty/*"), *interface.glob("tty*/tty/*")}):
            yield "/dev/" + node.name.replace("!", "/")


def _attribute(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace").strip()
    return ""


class SysfsBackend:
    """A pyusb backend that only lists: it reads the descriptors that the kernel keeps in a directory of devices."""

    def __init__(self, sysfs: Path) -> None:
        self._sysfs = sysfs

    def enumerate_devices(self) -> Iterator[Path]:
        """One directory a device."""
        return iter(sorted(file.parent for file in self._sysfs.glob("*/descriptors")))

    def get_device_descriptor(self, node: Path) -> Any:
        """The device descriptor, with pyusb's further fields.

        Raises:
            ValueError: it is shorter than a device descriptor.
        """
        raw = (node / "descriptors").read_bytes()[:18]
        if len(raw) < 18:
            raise ValueError(f"{node.name} has no whole device descriptor")
        ports = node.name.partition("-")[2]
        numbers = tuple(int(port) for port in ports.split(".")) if ports else None
        words = array.array("H", raw[2:4] + raw[8:14])
        return SimpleNamespace(
            bLength=raw[0], bDescriptorType=raw[1], bcdUSB=words[0], bDeviceClass=raw[4], bDeviceSubClass=raw[5],
            bDeviceProtocol=raw[6], bMaxPacketSize0=raw[7], idVendor=words[1], idProduct=words[2], bcdDevice=words[3],
            iManufacturer=raw[14], iProduct=raw[15], iSerialNumber=raw[16], bNumConfigurations=raw[17],
            address=int(_attribute(node / "devnum") or 0), bus=int(_attribute(node / "busnum") or 0),
            port_number=numbers[-1] if numbers else None, port_numbers=numbers, speed=None,
        )  # fmt: skip
