"""Virtual USB devices: the device side of the `usbip` package behind a pyusb backend of ours."""

from __future__ import annotations

import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import usbip
import usbip.host
from usb.backend import IBackend
from usb.core import USBError
from usbip.classes.device.cdc_acm import CDCACM

PORT_POWER, POWER_ON = 8, 0x0100


class Bus(IBackend):  # type: ignore[misc]
    """pyusb's view of what is plugged into a loopback; `opened` are locations of the devices that were opened."""

    def __init__(self) -> None:
        self.loopback = usbip.Loopback()
        self.opened: list[str] = []
        self._devices: dict[str, usbip.USBDevice] = {}

    def plug(self, location: str, device: usbip.USBDevice) -> usbip.USBDevice:
        """Plug a device in at a location such as 1-2.3."""
        device.set_busid(location)
        device.plug(via=self.loopback)
        self._devices[location] = device
        return device

    def unplug(self, location: str) -> usbip.USBDevice:
        """Pull a device out."""
        device = self._devices.pop(location)
        device.unplug()
        return device

    def write_sysfs(self, root: Path) -> None:
        """What the kernel would tell of these devices without opening them."""
        for location, device in self._devices.items():
            node = root / location
            node.mkdir(exist_ok=True)
            strings = {"serial": device.iSerialNumber, "product": device.iProduct}
            for name, index in strings.items():
                if index:
                    (node / name).write_text(device._strings[index] + "\n")
            (node / "busnum").write_text(location.partition("-")[0] + "\n")
            (node / "devnum").write_text("9\n")
            (node / "descriptors").write_bytes(device.device_descriptor().pack() + device.config_bytes())

    def enumerate_devices(self) -> Iterator[str]:
        exported = {str(info["busid"]) for info in usbip.host.list_devices(self.loopback)} if self._devices else set()
        return iter([location for location in self._devices if location in exported])

    def get_device_descriptor(self, location: str) -> Any:
        found = self._devices[location].device_descriptor()
        ports = tuple(int(port) for port in location.partition("-")[2].split("."))
        fields = {name: getattr(found, name, 0) for name in _FIELDS}
        return SimpleNamespace(
            **fields, bus=int(location.partition("-")[0]), address=9, port_number=ports[-1], port_numbers=ports,
            speed=None,
        )  # fmt: skip

    def open_device(self, location: str) -> Any:
        self.opened.append(location)
        return usbip.open(busid=location, transport=self.loopback, set_config=None)

    def close_device(self, handle: Any) -> None:
        handle.close()

    def ctrl_transfer(self, handle: Any, kind: int, request: int, value: int, index: int, data: Any, _: int) -> int:
        try:
            if not kind & 0x80:
                return int(handle.control(kind, request, value, index, data.tobytes()))
            got = handle.control(kind, request, value, index, len(data) * data.itemsize)
        except usbip.USBError as fault:
            raise USBError(str(fault), None, 32) from fault
        data[: len(got)] = array.array("B", got)
        return len(got)


_FIELDS = (
    "bLength", "bDescriptorType", "bcdUSB", "bDeviceClass", "bDeviceSubClass", "bDeviceProtocol", "bMaxPacketSize0",
    "idVendor", "idProduct", "bcdDevice", "iManufacturer", "iProduct", "iSerialNumber", "bNumConfigurations",
)  # fmt: skip


class VirtualHub:
    """A hub of the USB 2.0 specification with switched ports; what is behind a port goes and comes with its power."""

    def __init__(self, bus: Bus, location: str, ports: int = 4, *, individual: bool = True) -> None:
        self.requests: list[tuple[int, int, int]] = []
        self.stuck = False
        self._bus = bus
        self._location = location
        self._ports = ports
        self._individual = individual
        self._off: dict[int, Any] = {}
        self.device = usbip.USBDevice(0x05E3, 0x0610, product="USB2.0 Hub", device_class=9)
        self.device.add(_HubInterface())
        self.device.on_control(None, self._control)
        bus.plug(location, self.device)

    def _control(self, setup: Any, data: bytes = b"") -> bytes:
        kind, request, port = setup.bmRequestType, setup.bRequest, setup.wIndex
        if (kind, request) == (0xA0, 6):
            return bytes([9, 0x29, self._ports, 1 if self._individual else 0, 0, 50, 100, 0, 0xFF])
        if (kind, request) == (0xA3, 0):
            return (0 if port in self._off else POWER_ON).to_bytes(2, "little") + b"\0\0"
        if kind == 0x23 and setup.wValue == PORT_POWER and not self.stuck:
            self.requests.append((request, setup.wValue, port))
            behind = f"{self._location}.{port}"
            if request == 1:
                self._off[port] = self._bus.unplug(behind) if behind in self._bus._devices else None
            elif port in self._off and (device := self._off.pop(port)) is not None:
                self._bus.plug(behind, device)
        elif kind != 0x23:
            raise usbip.Stall
        return b""


class _HubInterface(usbip.Interface):  # type: ignore[misc]
    bInterfaceClass = 9
    change = usbip.In(0x81, "interrupt", mps=1, interval=12)


class _Vendor(usbip.Interface):  # type: ignore[misc]
    bInterfaceClass = 0xFF
    out = usbip.Out(0x01, "bulk", mps=64)
    back = usbip.In(0x81, "bulk", mps=64)


def jlink(serial: str) -> usbip.USBDevice:
    """A SEGGER device with the given USB serial number."""
    device = usbip.USBDevice(0x1366, 0x0101, product="J-Link", serial=serial)
    device.add(_Vendor())
    return device


def ppk2(serial: str) -> usbip.USBDevice:
    """A Power Profiler Kit II as it lists itself."""
    device = usbip.USBDevice(0x1915, 0xC00A, product="PPK2", serial=serial)
    device.add(CDCACM())
    return device


def cdc(serial: str) -> usbip.USBDevice:
    """A CDC ACM device."""
    device = usbip.USBDevice(0x1209, 0x0001, product="board", serial=serial)
    device.add(CDCACM())
    return device
