"""`harness ports` and recovery by a hub: what is plugged in, whose it is, and how a stuck probe comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bench.inventory import BenchFileError, load_bench
from harness.bench.local import LocalBoard, LocalHold
from harness.bench.ports import list_ports
from harness.bench.provider import LeaseRequest
from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.core.errors import ProbeError
from harness.probe import hub as hub_module
from harness.probe.hub import HubPort
from harness.probe.usb import UsbBus
from tests.probe.usb_devices import Bus, VirtualHub, cdc, jlink, ppk2

BENCH = """
version: 1
virtual: off
boards:
  - serial: 683012345
    board: mps2_an386
    ports: {cdc: {usb_serial: HARNESS-7}}
    hub: {location: 1-2, port: 1}
    power: {driver: ppk2, address: /dev/ttyACM0}
"""


@pytest.fixture
def usb(tmp_path: Path) -> UsbBus:
    bus = Bus()
    bus.plug("1-1", jlink("000683012346"))
    VirtualHub(bus, "1-2")
    bus.plug("1-2.1", jlink("000683012345"))
    bus.plug("1-3", ppk2("C0FFEE"))
    bus.plug("1-4", cdc("HARNESS-7"))
    bus.write_sysfs(tmp_path)
    for location, tty in (("1-2.1", "ttyACM2"), ("1-3", "ttyACM0"), ("1-4", "ttyACM1")):
        (tmp_path / f"{location}:1.0" / "tty" / tty).mkdir(parents=True)
    return UsbBus(bus, tmp_path)


def test_ports_are_matched_to_boards_and_nothing_is_opened(usb: UsbBus, tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH)
    found, problem = list_ports(load_bench(file), usb)
    board = "mps2_an386 683012345"
    listed = [(p.kind, p.device, p.location, p.board, p.use) for p in found if p.location != "emulator"]
    assert problem == "" and listed == [
        ("probe", "", "1-1", "", ""),
        ("hub", "", "1-2", board, "hub"),
        ("probe", "", "1-2.1", board, "probe"),
        ("serial port", "/dev/ttyACM2", "1-2.1", board, "serial"),
        ("power monitor", "", "1-3", "", ""),
        ("serial port", "/dev/ttyACM0", "1-3", board, "power"),
        ("serial port", "/dev/ttyACM1", "1-4", board, "cdc"),
    ]
    assert usb.backend.opened == []


def test_ports_of_an_emulated_board_are_listed_while_it_is_leased(tmp_path: Path) -> None:
    def listed() -> list[dict[str, str]]:
        command = [sys.executable, "-m", "harness.cli", "ports", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout)["ports"])

    with load_bench(None).lease(LeaseRequest(("mps2_an386",), None, "test"), Deadline(60, "a board")) as lease:
        mine = [port for port in listed() if port["board"] == f"mps2_an386 {lease.serial}"]
        assert {port["use"] for port in mine} == {"serial", "cdc"}
        assert all(port["device"].startswith("/dev/pts/") for port in mine)
        serial = lease.port("serial")
        assert serial is not None and serial.path in [port["device"] for port in mine]
    assert not [port for port in listed() if port["board"] == f"mps2_an386 {lease.serial}"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("ports: {serial: {}}", "exactly one of path and usb_serial"),
        ("ports: {serial: {path: /dev/a, usb_serial: b}}", "exactly one of path and usb_serial"),
        ("ports: {serail: {path: /dev/a}}", "serial"),
        ("hub: {location: somewhere, port: 1}", "hub.location"),
        ("hub: {location: 1-2, port: 0}", "hub.port"),
        ("hub: {location: 1-2x3, port: 1}", "hub.location"),
        ("hub: {location: 1-2, port: 1}, probe: virtual", "hangs on no hub"),
        ("power: {driver: ppk2, address: /dev/ttyACM0}, probe: virtual", "power monitor"),
    ],
)
def test_mistakes_in_the_bench_are_named(tmp_path: Path, entry: str, message: str) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(f"version: 1\nboards:\n  - {{serial: 1, board: mps2_an386, {entry}}}\n")
    with pytest.raises(BenchFileError) as caught:
        load_bench(file)
    assert message in str(caught.value)


def test_a_hub_may_hang_on_a_hub(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text("version: 1\nboards: [{serial: 1, board: mps2_an386, hub: {location: 1-2.3.4, port: 2}}]\n")
    (entry,) = load_bench(file).entries
    assert entry.hub is not None and entry.hub.place() == HubPort("1-2.3.4", 2)


def test_a_stuck_probe_is_without_power_for_a_moment(usb: UsbBus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "OFF_SECONDS", 0.0)
    monkeypatch.setattr(hub_module.power_cycle, "__kwdefaults__", {"off_seconds": 0.0})
    attempts: list[bool] = []

    def stuck_until_cycled(self: LocalHold, deadline: Deadline) -> None:
        attempts.append(True)
        if len(attempts) == 1:
            raise ProbeError("stuck")

    monkeypatch.setattr(LocalHold, "_reset", stuck_until_cycled)
    board = load_board_type("mps2_an386")
    plain = LocalHold(LocalBoard(683012345, "mps2_an386", "rtt"), board, usb)
    with pytest.raises(ProbeError, match="stuck"):
        plain.recover(Deadline(5, "the board"))
    attempts.clear()
    hold = LocalHold(LocalBoard(683012345, "mps2_an386", "rtt", hub=HubPort("1-2", 1)), board, usb)
    hold.recover(Deadline(5, "the board"))
    assert len(attempts) == 2
    assert "1-2.1" in [device.location for device in usb.devices()], "it is there again"
    assert usb.backend.opened == ["1-2"], "only the hub was opened"
