"""The virtual J-Link library as pylink and other users of the real one see it."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.core.errors import ProbeError
from harness.core.files import atomic_write
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary
from harness.probe.library import pylink as pylink_package
from harness.virtual.launcher import VirtualBoard
from harness.virtual.native_build import NATIVE_DIR, jlink_library
from harness.virtual.registry import places
from tests.virtual.fixtures import Open, Start
from tests.virtual.support import BOARDS, Image, take_serial, within

pylink = pylink_package()
Images = Callable[..., Image]
OPEN, FORMAT, WRITE = -268, -269, -270
CODE, RAM = 0x0, 0x2000_0000


def dll_of(probe: JLinkProbe) -> Any:
    return probe._library.dll()


def hex_file(address: int, data: bytes) -> str:
    """An Intel HEX file with 16 bytes a record."""

    def record(kind: int, offset: int, body: bytes) -> str:
        raw = bytes([len(body), offset >> 8, offset & 0xFF, kind]) + body
        return f":{raw.hex().upper()}{-sum(raw) & 0xFF:02X}\n"

    text = record(4, 0, (address >> 16).to_bytes(2, "big"))
    for start in range(0, len(data), 16):
        text += record(0, (address + start) & 0xFFFF, data[start : start + 16])
    return text + record(1, 0, b"")


def test_emulators_are_listed_without_opening(start: Start, open_probe: Open) -> None:
    boards = [start(board) for board in BOARDS]
    open_probe(boards[0])
    listing = pylink.JLink(lib=pylink.library.Library(dllpath=str(jlink_library()), use_tmpcpy=True))
    found = listing.connected_emulators()
    assert {item.SerialNumber for item in found} == {board.serial for board in boards}
    assert listing.num_connected_emulators() == 2
    boards[0].stop()
    assert [item.SerialNumber for item in listing.connected_emulators()] == [boards[1].serial]


def test_a_probe_is_never_guessed(start: Start) -> None:
    for board in BOARDS:
        start(board)
    jlink = pylink.JLink(lib=pylink.library.Library(dllpath=str(jlink_library()), use_tmpcpy=True))
    with pytest.raises(pylink.errors.JLinkException):
        jlink.open()


def test_elf_hex_and_binary_files(start: Start, open_probe: Open, tmp_path: Path, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    dll = dll_of(probe)
    data = os.urandom(1000)
    raw, text = tmp_path / "a.bin", tmp_path / "a.hex"
    raw.write_bytes(data)
    text.write_text(hex_file(0x1F000, data[::-1]))
    assert dll.JLINK_DownloadFile(os.fsencode(raw), 0x8000) >= 0
    assert dll.JLINK_DownloadFile(os.fsencode(text), 0) >= 0
    assert dll.JLINK_DownloadFile(os.fsencode(images("mps2_an386").elf), 0) >= 0
    assert probe.read_memory(0x8000, 1000) == data
    assert probe.read_memory(0x1F000, 1000) == data[::-1]
    assert probe.read_memory(4, 4) == (images("mps2_an386").address("reset_handler") | 1).to_bytes(4, "little")
    assert dll.JLINK_EraseChip() == 0
    assert probe.read_memory(0x8000, 1000) == b"\xff" * 1000


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("none.bin", None, OPEN),
        ("a.txt", b"?", FORMAT),
        ("a.elf", b"not an ELF file", FORMAT),
        ("a.elf", b"\x7fELF\x01" + b"\xff" * 200, FORMAT),
        ("a.hex", b":0400000001020304F3\n", FORMAT),
        ("a.hex", b":zz\n", FORMAT),
        ("a.hex", b":040000000102030\n", FORMAT),
        ("a.hex", hex_file(0x5000_0000, b"1234").encode(), WRITE),
    ],
)
def test_files_that_cannot_be_flashed(
    name: str, content: bytes | None, code: int, start: Start, open_probe: Open, tmp_path: Path
) -> None:
    probe = open_probe(start("mps2_an386"))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert dll_of(probe).JLINK_DownloadFile(os.fsencode(tmp_path / name), 0) == code
    assert probe.read_memory(0, 256) == bytes(256)


def test_breakpoints_and_registers(start: Start, open_probe: Open, images: Images) -> None:
    image = images("mps2_an386")
    probe = open_probe(start("mps2_an386"))
    probe.flash(image.elf, image.board_type)
    probe.reset()
    jlink = probe._jlink
    assert probe.registers()["pc"] | 1 == image.address("reset_handler") | 1
    assert jlink.register_write(5, 0x1234_5678) == 5 or probe.registers()["r5"] == 0x1234_5678
    handle = jlink.breakpoint_set(image.address("marker"))
    assert handle > 0 and jlink.num_active_breakpoints() == 1
    transport = probe.boot_rtt(image.rtt, Deadline(5, "RTT"))
    transport.write(b"M\n")
    assert within(5, probe.halted) is not None
    assert probe.registers()["pc"] == image.address("marker") & ~1
    assert jlink.breakpoint_clear(handle) and jlink.num_active_breakpoints() == 0
    probe.go()
    assert not probe.halted()


@pytest.mark.parametrize("board", BOARDS)
def test_memory_is_the_same_by_every_way(board: str, start: Start, open_probe: Open) -> None:
    emulator = start(board)
    probe = open_probe(emulator)
    for region in emulator.board.memory:
        data = os.urandom(70_001)
        probe.write_memory(region.origin + 3, data)
        assert probe.read_memory(region.origin + 3, len(data)) == data
    origin = emulator.board.region("ram").origin
    assert probe._jlink.memory_read32(origin + 4, 2) == list(struct.unpack("<2I", probe.read_memory(origin + 4, 8)))
    assert probe._jlink.memory_read16(origin + 4, 1) == list(struct.unpack("<H", probe.read_memory(origin + 4, 2)))


def test_reading_where_nothing_is_fails(start: Start, open_probe: Open) -> None:
    probe = open_probe(start("mps2_an386"))
    buffer = ctypes.create_string_buffer(16)
    assert dll_of(probe).JLINKARM_ReadMemEx(ctypes.c_uint32(0xF000_0000), 16, buffer, 0) < 0


def test_process_memory_that_is_refused_falls_back(start: Start, open_probe: Open) -> None:
    emulator = start("mps2_an386")
    entry = places(emulator.serial).entry
    # Addresses the emulator does not have: the kernel refuses them as it does where the right is missing.
    atomic_write(entry, re.sub(r"(region=.*),0x[0-9a-f]+$", r"\1,0x1000", entry.read_text(), flags=re.MULTILINE))
    probe = open_probe(emulator)
    assert probe.describe().memory_path == "qtest"
    probe.write_memory(RAM, b"by another way")
    assert probe.read_memory(RAM, 14) == b"by another way"


def test_every_call_of_the_source_is_exported() -> None:
    library = ctypes.CDLL(str(jlink_library()))
    text = "".join(file.read_text() for file in (NATIVE_DIR / "jlink").glob("*.c"))
    names = set(re.findall(r"\b(JLINK(?:ARM)?_\w+)\(", text))
    assert len(names) > 80
    assert [name for name in sorted(names) if not hasattr(library, name)] == []


def test_what_an_emulated_board_lacks_says_so(start: Start, open_probe: Open) -> None:
    jlink = open_probe(start("mps2_an386"))._jlink
    with pytest.raises(pylink.errors.JLinkException):
        jlink.swo_start(10)
    jlink.swo_start(1_000_000)
    assert jlink.swo_read(0, 10) == [] and jlink.swo_num_bytes() == 0
    with pytest.raises(pylink.errors.JLinkException):
        jlink.cpu_speed()


def test_a_busy_control_socket_ends_in_time(start: Start, library: Any) -> None:
    emulator = start("mps2_an386")
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.connect(str(emulator.directory / "qmp"))
        begin = time.monotonic()
        with pytest.raises(ProbeError, match="opening"):
            JLinkProbe(emulator.serial, library).open()
        assert time.monotonic() - begin < 8


class Ring:
    """An RTT control block with one channel each way, written into target memory by the host."""

    UP, DOWN = 37, 23

    def __init__(self, probe: JLinkProbe) -> None:
        self.probe = probe
        self.block, self.up, self.down = RAM + 0x100, RAM + 0x200, RAM + 0x300

    def write(self, up: tuple[int, int], down: tuple[int, int], **over: int) -> None:
        head = b"SEGGER RTT".ljust(16, b"\0") + struct.pack("<2i", 1, 1)
        rings = struct.pack("<6I", 0, over.get("up_buffer", self.up), over.get("up_size", self.UP), *up, 2)
        rings += struct.pack("<6I", 0, self.down, self.DOWN, *down, 2)
        self.probe.write_memory(self.block, head + rings)

    def offsets(self) -> tuple[int, ...]:
        words = struct.unpack("<12I", self.probe.read_memory(self.block + 24, 48))
        return words[3], words[4], words[9], words[10]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    write=st.integers(0, Ring.UP - 1),
    read=st.integers(0, Ring.UP - 1),
    take=st.integers(1, 64),
    down=st.tuples(st.integers(0, Ring.DOWN - 1), st.integers(0, Ring.DOWN - 1)),
    data=st.binary(min_size=1, max_size=40),
)
def test_ring_buffers(shared: JLinkProbe, write: int, read: int, take: int, down: tuple[int, int], data: bytes) -> None:
    ring, dll = Ring(shared), dll_of(shared)
    content = bytes(range(1, Ring.UP + 1))
    ring.write((write, read), down)
    shared.write_memory(ring.up, content)
    shared.write_memory(ring.down, bytes(Ring.DOWN))
    assert dll.JLINK_RTTERMINAL_Control(0, ctypes.byref((ctypes.c_uint32 * 4)(ring.block))) == 0
    waiting = (content + content)[read : read + (write - read) % Ring.UP]
    buffer = ctypes.create_string_buffer(64)
    count = dll.JLINK_RTTERMINAL_Read(0, buffer, take)
    assert buffer.raw[:count] == waiting[:take] and count == len(waiting[:take])
    room = (down[1] - down[0] - 1) % Ring.DOWN
    assert dll.JLINK_RTTERMINAL_Write(0, data, len(data)) == min(room, len(data))
    assert ring.offsets()[1] == (read + count) % Ring.UP
    assert ring.offsets()[2] == (down[0] + min(room, len(data))) % Ring.DOWN
    held = shared.read_memory(ring.down, Ring.DOWN)
    assert bytes((held + held)[down[0] : down[0] + min(room, len(data))]) == data[:room]


@pytest.mark.parametrize(
    "broken",
    [{"up_buffer": 0xF000_0000}, {"up_buffer": RAM + 0x3F_FFF0, "up_size": 0x1000}, {"up_size": 5}],
)
def test_corrupt_rings_are_refused(broken: dict[str, int], start: Start, open_probe: Open) -> None:
    probe = open_probe(start("mps2_an386"))
    ring = Ring(probe)
    ring.write((30, 0), (0, 0), **broken)
    dll = dll_of(probe)
    dll.JLINK_RTTERMINAL_Control(0, ctypes.byref((ctypes.c_uint32 * 4)(ring.block)))
    assert dll.JLINK_RTTERMINAL_Read(0, ctypes.create_string_buffer(64), 64) < 0


def test_the_block_is_found_without_an_address(start: Start, open_probe: Open) -> None:
    probe = open_probe(start("mps2_an386"))
    dll = dll_of(probe)
    assert dll.JLINK_RTTERMINAL_Control(0, None) == 0
    assert dll.JLINK_RTTERMINAL_Control(3, ctypes.byref(ctypes.c_uint32(0))) == -2
    Ring(probe).write((0, 0), (0, 0))
    assert dll.JLINK_RTTERMINAL_Control(3, ctypes.byref(ctypes.c_uint32(0))) == 1


@pytest.fixture(scope="module")
def shared() -> Any:
    """One probe for many examples."""
    patch = pytest.MonkeyPatch()
    directory = tempfile.mkdtemp(prefix="hil-t")
    patch.setenv("HARNESS_RUNTIME_DIR", directory)
    lock = take_serial()
    board = load_board_type("mps2_an386")
    with VirtualBoard.start(board, lock.serial, Deadline(20, "the emulator")) as emulator:
        with JLinkProbe(emulator.serial, JLinkLibrary(jlink_library(), isolated=True)) as probe:
            probe.connect(board.jlink.device)
            probe.identify(board)
            yield probe
    lock.release()
    patch.undo()
    shutil.rmtree(directory, ignore_errors=True)
