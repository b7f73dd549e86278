"""Every probe this host can see: on USB, and emulated boards alive at the moment. Opens none."""

from __future__ import annotations

from dataclasses import dataclass

from harness.bench.inventory import Bench
from harness.bench.locks import SerialLock
from harness.bench.virtual import registered
from harness.probe.listing import list_usb_probes


@dataclass(frozen=True)
class ProbeInfo:
    """A probe; `board_type` is what the bench registers under its serial, or what the emulator is, else empty."""

    serial: int | None
    product: str
    link: str
    board_type: str
    holder: str | None

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        return {
            "serial": self.serial,
            "product": self.product,
            "link": self.link,
            "board_type": self.board_type,
            "holder": self.holder,
        }


def list_probes(bench: Bench) -> tuple[tuple[ProbeInfo, ...], str]:
    """All probes, and why the list may be incomplete (empty when it is not)."""
    usb = list_usb_probes()
    types = {info.serial: info.board_type for info in bench.boards() if not info.on_demand}
    probes = [
        ProbeInfo(
            item.serial, item.product, f"usb {item.location}", types.get(item.serial or 0, ""), _holder(item.serial)
        )
        for item in usb.probes
    ]
    probes += [
        ProbeInfo(serial, "J-Link Virtual (QEMU)", "emulator", facts.get("board", ""), _holder(serial))
        for serial, facts in registered().items()
    ]
    return tuple(probes), usb.problem


def _holder(serial: int | None) -> str | None:
    return None if serial is None else SerialLock(serial).holder()
