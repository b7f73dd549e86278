"""Everything a bench is plugged into: probes, serial ports, power monitors, hubs, with the board each belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from harness.bench.claims import Claim
from harness.bench.inventory import Bench
from harness.bench.virtual import registered
from harness.probe.usb import UsbBus, UsbDevice


@dataclass(frozen=True)
class PortInfo:
    """One thing to plug into.

    Attributes:
        kind: `probe`, `serial port`, `power monitor` or `hub`.
        device: path to open; empty where there is none.
        location: on USB as the kernel names it, or `emulator`.
        serial: serial number of the USB device.
        board: type and serial of the board it belongs to, as the bench says; empty where it belongs to none.
        use: what the board uses it for.
    """

    kind: str
    device: str
    location: str
    serial: str
    product: str
    board: str = ""
    use: str = ""

    def to_dict(self) -> dict[str, str]:
        """JSON-ready form."""
        return {
            "kind": self.kind,
            "device": self.device,
            "location": self.location,
            "serial": self.serial,
            "product": self.product,
            "board": self.board,
            "use": self.use,
        }


def list_ports(bench: Bench, usb: UsbBus | None = None) -> tuple[tuple[PortInfo, ...], str]:
    """All of them, and why the list may be incomplete (empty when it is not). Opens nothing.

    Args:
        bench: says which board is plugged into what.
        usb: where USB devices are looked for; None is this host's.
    """
    claims, problem = bench.claims(), ""
    try:
        devices = (usb or UsbBus()).devices()
    except Exception as fault:  # whatever a USB stack without devices or permissions raises
        devices, problem = (), f"USB cannot be listed: {fault or type(fault).__name__}"
    found = [info for device in devices for info in _of_device(device, claims)]
    if usb is None:
        found += _without_usb({info.device for info in found}, claims)
    return (*found, *_emulated()), problem


def _of_device(device: UsbDevice, claims: tuple[Claim, ...]) -> Iterator[PortInfo]:
    if device.kind == "other":
        return
    # A probe or a monitor with ports of its own is listed once for itself, once a port.
    paths = [] if device.kind == "serial port" else [("", device.kind)]
    for path, kind in [*paths, *((path, "serial port") for path in device.ttys)]:
        claim = next((claim for claim in claims if claim.fits(device, path) and _suits(claim, kind)), None)
        yield PortInfo(
            kind,
            path,
            device.location,
            device.serial,
            device.product,
            claim.board if claim is not None else "",
            claim.use if claim is not None else "",
        )


def _suits(claim: Claim, kind: str) -> bool:
    if claim.use in ("probe", "hub"):
        return claim.use == kind
    return kind == "serial port" or (claim.use == "power" and kind == "power monitor")


def _without_usb(known: set[str], claims: tuple[Claim, ...]) -> Iterator[PortInfo]:
    """Serial ports of other kinds, such as those on the mainboard, and those that sysfs does not tell."""
    for port in import_module("serial.tools.list_ports").comports():
        if port.device not in known:
            claim = next((claim for claim in claims if claim.path == port.device), Claim("", ""))
            yield PortInfo(
                "serial port",
                port.device,
                port.location or "",
                port.serial_number or "",
                port.description or "",
                claim.board,
                claim.use,
            )


def _emulated() -> Iterator[PortInfo]:
    for serial, facts in registered().items():
        for name, path in facts.items():
            if name.startswith("port."):
                transport = name.removeprefix("port.")
                board = f"{facts.get('board', '')} {serial}"
                yield PortInfo("serial port", path, "emulator", "", "emulated UART", board, transport)
