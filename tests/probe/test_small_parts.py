"""Listing, fault registers in words, image segments, and pylink's lock files."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.board.descriptor import Memory, load_board_type
from harness.core.errors import BoardBusyError, ProbeError
from harness.probe.faults import FRAME, explain_fault, find_frame
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary, pylink
from harness.probe.listing import list_usb_probes
from harness.probe.pylink_lock import holder_of, lock_file, remove_if_stale
from harness.probe.segments import load_segments, symbol_address
from harness.probe.usb import SEGGER_VENDOR
from harness.virtual.native_build import jlink_library

CODE = [Memory(name="code", kind="code", origin=0x1000, length=0x1000)]


def usb_device(bus: int, ports: tuple[int, ...] | None) -> Any:
    return SimpleNamespace(bus=bus, address=9, port_numbers=ports, idVendor=SEGGER_VENDOR, idProduct=0x0101)


def fake_usb(monkeypatch: pytest.MonkeyPatch, *devices: Any) -> None:
    monkeypatch.setattr("usb.core.find", lambda **wanted: devices)


def test_listing_reads_serials_without_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1-2.3").mkdir()
    (tmp_path / "1-2.3" / "serial").write_text("000683012345\n")
    (tmp_path / "1-2.3" / "product").write_text("J-Link EDU\n")
    fake_usb(monkeypatch, usb_device(2, None), usb_device(1, (2, 3)))
    listing = list_usb_probes(object(), sysfs=tmp_path)
    assert listing.problem == ""
    assert [(p.serial, p.product, p.location) for p in listing.probes] == [
        (683012345, "J-Link EDU", "1-2.3"),
        (None, "J-Link", "2:9"),
    ]


def test_listing_without_a_usb_stack_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise OSError("no backend available")

    monkeypatch.setattr("usb.core.find", broken)
    listing = list_usb_probes(object())
    assert listing.probes == () and "no backend" in listing.problem


@given(
    pushed=st.lists(st.integers(0, 0xFFF), max_size=20),
    registers=st.lists(st.integers(0, 0xFFF), min_size=5, max_size=5),
    lr=st.integers(0, 0x7FF).map(lambda n: 0x1001 + 2 * n),
    pc=st.integers(0, 0x7FF).map(lambda n: 0x1000 + 2 * n),
)
def test_the_pushed_frame_is_found(pushed: list[int], registers: list[int], lr: int, pc: int) -> None:
    frame = [*registers, lr, pc, 0x0100_0000]
    stack = struct.pack(f"<{len(pushed) + 8}I", *pushed, *frame)
    assert find_frame(stack, CODE) == dict(zip(FRAME, frame, strict=True))


def test_a_jump_to_nowhere_still_tells_from_where() -> None:
    frame = [0, 1, 2, 3, 12, 0x1235, 0xF000_0000, 0]
    found = find_frame(struct.pack("<8I", *frame), CODE)
    assert found is not None and found["lr"] == 0x1235


@given(st.binary(max_size=600))
def test_any_stack_can_be_searched(stack: bytes) -> None:
    found = find_frame(stack, CODE)
    assert found is None or tuple(found) == FRAME


def test_faults_in_words() -> None:
    fault = {"cfsr": 1 << 9 | 1 << 15, "hfsr": 1 << 30, "bfar": 0xF000_0000, "mmfar": 0}
    text = explain_fault(3, fault)
    assert text.startswith("HardFault: ") and "precise data bus error" in text and "0xf0000000" in text
    assert "mmfar" not in text
    assert explain_fault(3, {}) == "HardFault"


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF", b"text", b"\x7fELF\x02\x01\x01" + bytes(60)])
def test_files_that_are_no_image(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "a.elf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ProbeError):
        load_segments(file, load_board_type("mps2_an386"))
    with pytest.raises(ProbeError):
        symbol_address(file, "_SEGGER_RTT")


def test_segments_and_symbols(images: Any) -> None:
    image = images("mps2_an386")
    (segment,) = load_segments(image.elf, image.board_type)
    assert segment.address == 0 and segment.data[4:8] == (image.address("reset_handler") | 1).to_bytes(4, "little")
    with pytest.raises(ProbeError, match="no symbol"):
        symbol_address(image.elf, "no_such_symbol")


@pytest.fixture
def pylink_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pylink's lock files in a directory of the test's own."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))


@pytest.mark.usefixtures("pylink_locks")
def test_a_pylink_lock_of_a_process_that_does_not_hold_it_is_removed() -> None:
    # This process' own id, as if given to it after the one that made the file had been killed.
    lock_file(5).write_text(f"{os.getpid()}\n")
    assert holder_of(5) == os.getpid()
    assert remove_if_stale(5)
    assert not lock_file(5).exists()
    assert not remove_if_stale(5)


@pytest.mark.usefixtures("pylink_locks")
def test_a_stale_pylink_lock_that_cannot_be_removed_says_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    lock_file(8).write_text(f"{ended.pid}\n")

    def locked(self: object, serial_no: int) -> None:
        raise pylink().errors.JLinkException("J-Link is already open.")

    monkeypatch.setattr("harness.probe.jlink_session.remove_if_stale", lambda serial: False)
    monkeypatch.setattr(pylink().JLink, "open", locked)
    with pytest.raises(BoardBusyError, match="process that has ended") as caught:
        JLinkProbe(8, JLinkLibrary(jlink_library(), isolated=True)).open()
    assert str(lock_file(8)) in caught.value.why and "remove the file" in caught.value.todo


@pytest.mark.usefixtures("pylink_locks")
def test_a_pylink_lock_that_is_held_stays() -> None:
    lock = pylink().jlock.JLock(6)
    assert lock.acquire()
    assert not remove_if_stale(6)
    assert lock_file(6).exists()
    lock.release()


@pytest.mark.usefixtures("pylink_locks")
def test_a_pylink_lock_without_a_process_id() -> None:
    lock_file(7).write_text("rubbish")
    assert holder_of(7) is None and not remove_if_stale(7)
