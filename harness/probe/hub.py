"""Power of a single port of a USB hub, by the standard requests of the hub class.

The last resort for a probe that answers nothing any more: it is without power for a moment, as if it were unplugged.
Hub requests are those of the USB 2.0 specification, section 11.24.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from harness.core.deadline import Deadline
from harness.core.errors import BenchError
from harness.probe.usb import HUB_CLASS, UsbBus, location_of

CLASS_DEVICE_IN, CLASS_OTHER_IN, CLASS_OTHER_OUT = 0xA0, 0xA3, 0x23
GET_STATUS, CLEAR_FEATURE, SET_FEATURE, GET_DESCRIPTOR = 0, 1, 3, 6
PORT_POWER = 8
HUB_DESCRIPTOR, SUPERSPEED_HUB_DESCRIPTOR = 0x29, 0x2A
SWITCHING_MASK, INDIVIDUAL = 0x03, 0x01
POWER_BIT, SUPERSPEED_POWER_BIT = 1 << 8, 1 << 9
OFF_SECONDS = 2.0
POLL_SECONDS = 0.05


class HubError(BenchError):
    """A USB hub cannot switch the port it was asked to."""

    code = "bench.hub"


@dataclass(frozen=True)
class HubPort:
    """A port of a hub: where the hub is, as `harness ports` shows it (`1-2`), and the port's number from 1."""

    location: str
    port: int

    @property
    def behind(self) -> str:
        """Location of the device that is plugged into the port."""
        root = self.location.removeprefix("usb")
        return f"{root}-{self.port}" if root != self.location else f"{self.location}.{self.port}"


class Hub:
    """A hub whose ports can be switched one by one.

    Raises:
        HubError: there is no such hub, it has no such port, or it cannot switch single ports.
    """

    def __init__(self, place: HubPort, bus: UsbBus) -> None:
        self._place = place
        self._handle = self._find(bus)
        descriptor = self._request(CLASS_DEVICE_IN, GET_DESCRIPTOR, self._descriptor_type() << 8, 0, 8)
        if len(descriptor) < 4:
            raise self._error("its descriptor is too short")
        ports, characteristics = descriptor[2], descriptor[3]
        if not 1 <= place.port <= ports:
            raise self._error(f"it has ports 1 to {ports}, not {place.port}")
        if characteristics & SWITCHING_MASK != INDIVIDUAL:
            raise self._error("it cannot switch single ports")

    def powered(self) -> bool:
        """Whether the port has power."""
        status = self._request(CLASS_OTHER_IN, GET_STATUS, 0, self._place.port, 4)
        if len(status) < 2:
            raise self._error("the port's status is too short")
        bit = SUPERSPEED_POWER_BIT if self._is_superspeed() else POWER_BIT
        return bool(int.from_bytes(bytes(status[:2]), "little") & bit)

    def switch(self, on: bool) -> None:
        """Give the port power, or take it; `HubError` when the hub says that it did not."""
        self._request(CLASS_OTHER_OUT, SET_FEATURE if on else CLEAR_FEATURE, PORT_POWER, self._place.port, None)
        if self.powered() != on:
            raise self._error(f"port {self._place.port} stays {'off' if on else 'on'}")

    def _find(self, bus: UsbBus) -> Any:
        try:
            found = [handle for handle in bus.handles() if location_of(handle) == self._place.location]
        except Exception as fault:  # whatever a USB stack without devices or permissions raises
            raise self._error(f"USB cannot be listed: {fault}") from fault
        if not found or found[0].bDeviceClass != HUB_CLASS:
            raise self._error("there is no hub")
        return found[0]

    def _is_superspeed(self) -> bool:
        return int(self._handle.bcdUSB) >= 0x0300

    def _descriptor_type(self) -> int:
        return SUPERSPEED_HUB_DESCRIPTOR if self._is_superspeed() else HUB_DESCRIPTOR

    def _request(self, kind: int, request: int, value: int, index: int, size: int | None) -> Any:
        try:
            return self._handle.ctrl_transfer(kind, request, value, index, size)
        except Exception as fault:  # pyusb's errors differ by backend
            raise self._error(f"the request failed: {fault}") from fault

    def _error(self, why: str) -> HubError:
        return HubError(
            f"The USB hub at {self._place.location} cannot switch port {self._place.port}: {why}.",
            todo="`harness ports` lists hubs; correct `hub` in bench.yaml, or use a hub that switches single ports.",
            context={"location": self._place.location, "port": self._place.port},
        )


def power_cycle(place: HubPort, bus: UsbBus, deadline: Deadline, *, off_seconds: float = OFF_SECONDS) -> None:
    """Take a port's power, give it back, and wait until a device is there again. Power is given back whatever happens.

    Raises:
        HubError: the hub cannot.
        DeadlineError: no device came back.
    """
    hub = Hub(place, bus)
    try:
        hub.switch(False)
        time.sleep(off_seconds)
    finally:
        hub.switch(True)
    while not any(device.location == place.behind for device in bus.devices()):
        deadline.check(f"no device at USB {place.behind}")
        time.sleep(POLL_SECONDS)
