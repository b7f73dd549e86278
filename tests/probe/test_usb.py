"""USB: listing opens nothing, sysfs and pyusb agree, hubs switch single ports, CDC devices are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.deadline import Deadline
from harness.core.errors import DeadlineError, ProbeError
from harness.probe.cdc import boot, find_tty
from harness.probe.hub import Hub, HubError, HubPort, power_cycle
from harness.probe.listing import list_usb_probes
from harness.probe.transports import Link, PortPlace
from harness.probe.usb import SysfsBackend, UsbBus
from harness.virtual.usb import DESCRIPTORS, cdc_serial, write_cdc_device
from tests.probe.usb_devices import Bus, VirtualHub, cdc, jlink, ppk2


@pytest.fixture
def bus() -> Bus:
    made = Bus()
    made.plug("1-1", jlink("000683012345"))
    made.plug("1-3", ppk2("C0FFEE"))
    return made


@pytest.fixture
def usb(bus: Bus, tmp_path: Path) -> UsbBus:
    VirtualHub(bus, "1-2")
    bus.plug("1-2.4", cdc("HARNESS-7"))
    bus.write_sysfs(tmp_path)
    for location, tty in (("1-3", "ttyACM0"), ("1-2.4", "ttyACM1")):
        (tmp_path / f"{location}:1.0" / "tty" / tty).mkdir(parents=True)
    return UsbBus(bus, tmp_path)


def test_a_listing_names_everything_and_opens_nothing(bus: Bus, usb: UsbBus) -> None:
    listed = [(device.location, device.kind, device.serial, device.ttys) for device in usb.devices()]
    assert listed == [
        ("1-1", "probe", "000683012345", ()),
        ("1-2", "hub", "", ()),
        ("1-2.4", "serial port", "HARNESS-7", ("/dev/ttyACM1",)),
        ("1-3", "power monitor", "C0FFEE", ("/dev/ttyACM0",)),
    ]
    assert bus.opened == []


def test_probes_are_listed_from_the_same_devices(bus: Bus, usb: UsbBus) -> None:
    (probe,) = list_usb_probes(bus, usb.sysfs).probes
    assert (probe.serial, probe.product, probe.location) == (683012345, "J-Link", "1-1")
    assert bus.opened == []


def test_the_kernels_files_give_the_same_listing_as_the_devices(bus: Bus, usb: UsbBus) -> None:
    assert UsbBus(SysfsBackend(usb.sysfs), usb.sysfs).devices() == usb.devices()


def test_a_hub_takes_the_power_of_one_port_and_gives_it_back(bus: Bus, usb: UsbBus) -> None:
    place = HubPort("1-2", 4)
    hub = Hub(place, usb)
    assert hub.powered()
    hub.switch(False)
    assert not hub.powered() and "1-2.4" not in [device.location for device in usb.devices()]
    hub.switch(True)
    power_cycle(place, usb, Deadline(5, "the device"), off_seconds=0.01)
    assert "1-2.4" in [device.location for device in usb.devices()]
    assert "1-1" not in bus.opened and "1-2.4" not in bus.opened


def test_what_a_hub_cannot_is_said_before_anything_is_switched(bus: Bus, usb: UsbBus) -> None:
    ganged = VirtualHub(bus, "1-5", individual=False)
    for place, message in (
        (HubPort("1-5", 1), "cannot switch single ports"),
        (HubPort("1-2", 5), "ports 1 to 4"),
        (HubPort("1-1", 1), "there is no hub"),
        (HubPort("9-9", 1), "there is no hub"),
    ):
        with pytest.raises(HubError, match=message):
            power_cycle(place, usb, Deadline(5, "the device"), off_seconds=0)
    assert ganged.requests == []


def test_a_hub_that_lies_is_found_out(bus: Bus) -> None:
    hub = VirtualHub(bus, "1-6")
    hub.stuck = True
    with pytest.raises(HubError, match="stays on"):
        Hub(HubPort("1-6", 1), UsbBus(bus)).switch(False)


def test_a_device_that_does_not_come_back_ends_with_the_deadline(bus: Bus, usb: UsbBus) -> None:
    with pytest.raises(DeadlineError) as caught:
        power_cycle(HubPort("1-2", 1), usb, Deadline(0.05, "the probe"), off_seconds=0)
    assert "1-2.1" in caught.value.why
    assert Hub(HubPort("1-2", 1), usb).powered()


def test_places_behind_a_port() -> None:
    assert HubPort("usb1", 2).behind == "1-2" and HubPort("1-2", 3).behind == "1-2.3"


def test_a_usb_stack_that_fails_is_a_typed_error() -> None:
    class Broken(Bus):
        def enumerate_devices(self):  # type: ignore[no-untyped-def]
            raise OSError("permission denied")

    with pytest.raises(HubError, match="permission denied"):
        Hub(HubPort("1-2", 1), UsbBus(Broken()))


def test_a_virtual_boards_device_is_found_by_its_serial(tmp_path: Path) -> None:
    write_cdc_device(tmp_path, 7, "/dev/pts/12")
    (device,) = UsbBus.of_tree(tmp_path).devices()
    assert (device.serial, device.ttys, device.kind) == ("HARNESS-7", ("/dev/pts/12",), "serial port")
    assert find_tty(PortPlace(usb_serial=cdc_serial(7), bus=str(tmp_path))) == "/dev/pts/12"
    assert find_tty(PortPlace(usb_serial=cdc_serial(8), bus=str(tmp_path))) is None
    assert find_tty(PortPlace(path="/dev/ttyACM5")) == "/dev/ttyACM5"


def test_a_virtual_boards_descriptors_are_those_of_a_cdc_device() -> None:
    """Class, interfaces and endpoints as another implementation of the class writes them."""
    device = cdc("HARNESS-7")
    theirs = device.device_descriptor().pack() + device.config_bytes()

    def walk(raw: bytes) -> list[bytes]:
        parts, at = [], 0
        while at < len(raw):
            parts.append(raw[at : at + raw[at]])
            at += raw[at]
        return parts

    ours = walk(DESCRIPTORS)
    assert [part[1] for part in ours].count(5) == [part[1] for part in walk(theirs)].count(5) == 3
    classes = [(part[5], part[6]) for part in ours if part[1] == 4]
    assert classes == [(part[5], part[6]) for part in walk(theirs) if part[1] == 4]
    assert int.from_bytes(ours[1][2:4], "little") == len(DESCRIPTORS) - 18


def test_damaged_descriptors_are_an_error_of_the_listing(tmp_path: Path) -> None:
    (tmp_path / "1-1").mkdir()
    (tmp_path / "1-1" / "descriptors").write_bytes(b"\x12\x01")
    with pytest.raises(ProbeError, match="cannot be listed"):
        find_tty(PortPlace(usb_serial="x", bus=str(tmp_path)))


def test_a_board_without_a_usb_device_is_told_what_to_write() -> None:
    with pytest.raises(ProbeError) as caught:
        boot(Link(None, "board 7"), Deadline(1, "the boot"))  # type: ignore[arg-type]
    assert "cdc" in caught.value.todo
