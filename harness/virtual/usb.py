"""A virtual USB device beside an emulated board: descriptors and a tty, laid out as the kernel lays them out.

The device is a CDC ACM one whose data interface is an emulated UART: its tty is the pty of that UART.
"""

from __future__ import annotations

import struct
from pathlib import Path

VENDOR, PRODUCT = 0x1209, 0x0001
"""The open vendor's number for tests."""
PRODUCT_NAME = "harness virtual CDC"
LOCATION = "1-1"
_DEVICE = struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 2, 0, 0, 64, VENDOR, PRODUCT, 0x0100, 0, 1, 2, 1)
_FUNCTIONS = bytes.fromhex("05240010010424020205240600010524010001".replace(" ", ""))
_CONTROL = struct.pack("<9B", 9, 4, 0, 0, 1, 2, 2, 1, 0) + _FUNCTIONS + struct.pack("<BBBBHB", 7, 5, 0x82, 3, 8, 16)
_DATA = (
    struct.pack("<9B", 9, 4, 1, 0, 2, 10, 0, 0, 0)
    + struct.pack("<BBBBHB", 7, 5, 0x01, 2, 64, 0)
    + struct.pack("<BBBBHB", 7, 5, 0x81, 2, 64, 0)
)
_CONFIGURATION = struct.pack("<BBHBBBBB", 9, 2, 9 + len(_CONTROL) + len(_DATA), 2, 1, 0, 0x80, 50)
DESCRIPTORS = _DEVICE + _CONFIGURATION + _CONTROL + _DATA


def cdc_serial(serial: int) -> str:
    """USB serial number of a board's CDC device."""
    return f"HARNESS-{serial}"


def write_cdc_device(root: Path, serial: int, pty: str) -> None:
    """Describe the device in a new directory of devices."""
    node = root / LOCATION
    (root / f"{LOCATION}:1.0" / "tty" / pty.removeprefix("/dev/").replace("/", "!")).mkdir(parents=True)
    node.mkdir()
    (node / "descriptors").write_bytes(DESCRIPTORS)
    for name, text in {"serial": cdc_serial(serial), "product": PRODUCT_NAME, "busnum": "1", "devnum": "2"}.items():
        (node / name).write_text(text + "\n", "utf-8")
