"""The probe against real emulated boards, through unmodified pylink and our J-Link library."""

from __future__ import annotations

import ctypes
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.core.errors import (
    BoardBusyError,
    DeadlineError,
    FlashVerifyError,
    HardFaultError,
    HarnessError,
    LockupError,
    ProbeError,
    TargetError,
    WrongBoardError,
)
from harness.probe.base import Capability
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary, LibraryPool
from harness.probe.pylink_lock import lock_file
from harness.probe.rtt import RttTransport
from tests.virtual.fixtures import Open, Start
from tests.virtual.support import BOARDS, Image, python_child, read_exactly, read_until, within, write_all

Images = Callable[..., Image]
on_both_boards = pytest.mark.parametrize("board", BOARDS)


def lcg_bytes(count: int) -> bytes:
    """The bytes the test firmware sends for `S`."""
    out, seed = bytearray(), 12345
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(seed >> 24)
    return bytes(out)


def boot(probe: JLinkProbe, image: Image) -> RttTransport:
    probe.flash(image.elf, image.board_type)
    transport = probe.boot_rtt(image.rtt, Deadline(10, "RTT"))
    assert read_until(transport, b"\n") == image.greeting
    return transport


@on_both_boards
@pytest.mark.parametrize("memory", ["auto", "qtest", "gdb"])
def test_flash_run_and_rtt_both_ways(board: str, memory: str, start: Start, open_probe: Open, images: Images) -> None:
    image = images(board)
    emulator = start(board, memory=memory)
    probe = open_probe(emulator)
    facts = probe.describe()
    assert (facts.support, facts.memory_path) == ("emulated", {"auto": "process_vm"}.get(memory, memory))
    assert Capability.RTT in facts.capabilities
    transport = boot(probe, image)
    size = 5_000 if memory == "gdb" else 100_000
    write_all(transport, b"S%d\n" % size)
    heard = read_exactly(transport, size + 9)
    expected = lcg_bytes(size)
    assert heard[:size] == expected
    assert heard[size:] == b"%08x\n" % zlib.crc32(expected)
    message = os.urandom(1_000)
    write_all(transport, b"R1000\n" + message)
    assert read_until(transport, b"\n") == b"%08x\n" % zlib.crc32(message)
    probe.check_target()


@on_both_boards
def test_flash_reads_back_and_a_reset_starts_over(board: str, start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start(board))
    transport = boot(probe, images(board))
    write_all(transport, b"M\n")
    assert read_until(transport, b"\n") == b"MARKED\n"
    # Another image over the first one: a stale control block lies in RAM, at the same place.
    other = images(board, "ANOTHER IMAGE\n")
    assert other.rtt == images(board).rtt
    boot(probe, other)
    code = images(board).board_type.region("code").origin
    assert probe.read_memory(code, 8) == probe.read_memory(code, 8)[:4] + (
        images(board).address("reset_handler") | 1
    ).to_bytes(4, "little")


def test_halting_and_booting_take_no_fixed_second(start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    begin = time.monotonic()
    boot(probe, images("mps2_an386"))
    probe.halt(Deadline(5, "halt"))
    assert probe.halted()
    probe.go()
    assert not probe.halted()
    assert time.monotonic() - begin < 0.9


def test_a_stale_control_block_is_not_taken_for_a_new_one(start: Start, open_probe: Open, images: Images) -> None:
    image = images("mps2_an386")
    probe = open_probe(start("mps2_an386"))
    boot(probe, image)
    probe.halt(Deadline(5, "halt"))
    # A complete block of an earlier boot in memory, and an image that never writes its own: an endless loop.
    entry = image.address("reset_handler") & ~1
    probe.write_memory(entry, bytes.fromhex("fee7fee7"))
    with pytest.raises(DeadlineError, match="RTT"):
        probe.boot_rtt(image.rtt, Deadline(0.3, "the firmware's RTT control block"))


@on_both_boards
def test_wrong_board_is_refused_with_its_memory_unchanged(
    board: str, start: Start, open_probe: Open, images: Images
) -> None:
    other = load_board_type(next(name for name in BOARDS if name != board))
    probe = open_probe(start(board), identify=False)
    own = load_board_type(board)
    before = [probe.read_memory(region.origin, 65536) for region in own.memory]
    with pytest.raises(WrongBoardError) as caught:
        probe.flash(images(other.name).elf, other)
    assert "nothing was written" in caught.value.what
    assert "CPUID" in caught.value.why
    assert [probe.read_memory(region.origin, 65536) for region in own.memory] == before


def test_nothing_is_written_before_the_board_was_identified(start: Start, open_probe: Open) -> None:
    board = load_board_type("mps2_an386")
    probe = open_probe(start("mps2_an386"), identify=False)
    ram = board.region("ram").origin
    before = probe.read_memory(ram, 16)
    with pytest.raises(ProbeError, match="not identified"):
        probe.write_memory(ram, b"x" * 16)
    assert probe.read_memory(ram, 16) == before
    probe.identify(board)
    probe.write_memory(ram, b"x" * 16)
    assert probe.read_memory(ram, 16) == b"x" * 16


def test_an_image_outside_the_board_is_refused(start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    with pytest.raises(ProbeError, match="does not fit"):
        probe.flash(images("mps3_an547").elf, load_board_type("mps2_an386"))


def test_bytes_that_read_back_differently(
    start: Start, open_probe: Open, images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = images("mps2_an386")
    probe = open_probe(start("mps2_an386"))
    honest = JLinkProbe.read_memory

    def flipped(self: JLinkProbe, address: int, size: int) -> bytes:
        data = bytearray(honest(self, address, size))
        data[100] ^= 0x10
        return bytes(data)

    monkeypatch.setattr(JLinkProbe, "read_memory", flipped)
    with pytest.raises(FlashVerifyError, match="reads back") as caught:
        probe.flash(image.elf, image.board_type)
    assert caught.value.context["address"] == image.board_type.region("code").origin + 100


@on_both_boards
def test_hard_fault_registers(board: str, start: Start, open_probe: Open, images: Images) -> None:
    image = images(board)
    probe = open_probe(start(board))
    transport = boot(probe, image)
    write_all(transport, b"F7\n")
    caught: list[HarnessError] = []

    def faulted() -> bool:
        try:
            probe.check_target()
        except HardFaultError as error:
            caught.append(error)
        return bool(caught)

    assert within(5, faulted) is not None
    assert "HardFault" in caught[0].what
    report = probe.fault_registers()
    assert report.exception == 3
    assert report.fault["hfsr"] >> 30 & 1
    assert report.fault["cfsr"] != 0
    code = image.board_type.region("code")
    assert report.stacked is not None and code.origin <= report.stacked["pc"] < code.end
    assert f"{report.stacked['pc']:#010x}" in caught[0].why


@on_both_boards
def test_lockup(board: str, start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start(board))
    transport = boot(probe, images(board))
    begin = time.monotonic()
    write_all(transport, b"L7\n")
    with pytest.raises(LockupError, match="locked up") as caught:
        while time.monotonic() - begin < 5:
            probe.check_target()
    assert "Lockup" in caught.value.why
    assert caught.value.todo
    with pytest.raises(LockupError):
        transport.read()


def test_running_without_code_locks_up(start: Start, open_probe: Open) -> None:
    probe = open_probe(start("mps2_an386"))
    with pytest.raises(LockupError):
        probe.reset()
        probe.go()
        while True:
            probe.check_target()


@on_both_boards
def test_a_killed_emulator_is_a_target_fault_at_once(
    board: str, start: Start, open_probe: Open, images: Images
) -> None:
    emulator = start(board)
    probe = open_probe(emulator)
    transport = boot(probe, images(board))
    os.kill(emulator.pid(), 9)
    begin = time.monotonic()
    with pytest.raises(TargetError, match="killed"):
        while True:
            transport.read()
    assert time.monotonic() - begin < 2
    for call in (probe.halted, probe.registers, probe.check_target, probe.reset):
        with pytest.raises(TargetError):
            call()
    probe.close()


def test_a_corrupt_control_block_is_reported(start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    transport = boot(probe, images("mps2_an386"))
    write_all(transport, b"C\n")
    with pytest.raises(TargetError, match="RTT"):
        read_until(transport, b"never", seconds=5)


def test_a_halted_core_is_reported(start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    boot(probe, images("mps2_an386"))
    probe.halt(Deadline(5, "halt"))
    with pytest.raises(TargetError, match="halted"):
        probe.check_target()


def test_a_second_opener_in_this_process_is_refused(start: Start, open_probe: Open, library: JLinkLibrary) -> None:
    emulator = start("mps2_an386")
    first = open_probe(emulator)
    with pytest.raises(BoardBusyError) as caught:
        JLinkProbe(emulator.serial, library).open()
    assert str(os.getpid()) in str(caught.value)
    assert first.halted()


def test_a_second_opener_is_refused_by_the_kernel_lock_too(
    start: Start, open_probe: Open, library: JLinkLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = start("mps2_an386")
    open_probe(emulator)
    monkeypatch.setattr("pylink.jlock.JLock.acquire", lambda self: True)
    monkeypatch.setattr("harness.probe.jlink_session.remove_if_stale", lambda serial: False)
    with pytest.raises(BoardBusyError, match="open in another session") as caught:
        JLinkProbe(emulator.serial, library).open()
    assert f"process {os.getpid()}" in caught.value.why


@pytest.mark.parametrize("ending", ["open", "close"])
def test_a_session_that_fails_leaves_no_lock_behind(
    ending: str, start: Start, library: JLinkLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = start("mps2_an386")
    probe = JLinkProbe(emulator.serial, library, pool=LibraryPool())
    if ending == "open":
        monkeypatch.setattr("pylink.jlink.ctypes.cast", lambda result, kind: ctypes.c_char_p(b"no answer"))
        # Kept, as pytest keeps it: its traceback refers to the session.
        with pytest.raises(ProbeError, match="no answer") as caught:
            probe.open()
        assert caught.tb is not None
    else:
        probe.open()
        assert lock_file(emulator.serial).exists()
        monkeypatch.setattr("pylink.JLink.close", lambda self: 1 / 0)
        kept = probe._jlink
        probe.close()
        assert kept._lock is not None
        monkeypatch.undo()
        kept.close()
    assert not lock_file(emulator.serial).exists()


def test_a_second_opener_in_another_process_is_refused(start: Start, open_probe: Open) -> None:
    emulator = start("mps2_an386")
    open_probe(emulator)
    child = python_child(OPEN_AND_REPORT, str(emulator.serial))
    out, _ = child.communicate(timeout=20)
    assert out.split()[0] == "BoardBusyError"


OPEN_AND_REPORT = """
    import sys
    from harness.core.errors import HarnessError
    from harness.probe.jlink import JLinkProbe
    from harness.probe.library import JLinkLibrary
    from harness.virtual.native_build import jlink_library
    try:
        with JLinkProbe(int(sys.argv[1]), JLinkLibrary(jlink_library(), isolated=True)) as probe:
            probe.connect("MPS2_AN386")
            print("open", probe.halted())
    except HarnessError as error:
        print(type(error).__name__, error.what)
"""


def test_two_boards_in_one_process(start: Start, open_probe: Open, images: Images) -> None:
    sessions = [(boot(open_probe(start(board)), images(board))) for board in BOARDS]
    for transport in sessions:
        write_all(transport, b"S3000\n")
    for transport in sessions:
        assert read_exactly(transport, 3009)[:3000] == lcg_bytes(3000)


def test_no_such_serial(library: JLinkLibrary, serial: int) -> None:
    with pytest.raises(ProbeError, match=f"{serial}") as caught:
        JLinkProbe(serial, library).open()
    assert "harness probes" in caught.value.todo


def test_a_library_that_is_none(tmp_path: Path, serial: int) -> None:
    file = tmp_path / "libjlinkarm.so"
    file.write_text("not a library")
    with pytest.raises(ProbeError, match="cannot be loaded"):
        JLinkProbe(serial, JLinkLibrary(file)).open()


def test_sessions_in_turn_use_one_loaded_copy(start: Start, library: JLinkLibrary) -> None:
    emulator = start("mps2_an386")
    pool = LibraryPool()
    seen = set()
    for _ in range(5):
        with JLinkProbe(emulator.serial, library, pool=pool) as probe:
            probe.connect("MPS2_AN386")
            seen.add(id(probe._library))
    assert len(seen) == 1


def test_a_closed_probe_says_so(start: Start, open_probe: Open, images: Images) -> None:
    probe = open_probe(start("mps2_an386"))
    transport = boot(probe, images("mps2_an386"))
    probe.close()
    transport.close()
    for call in (transport.read, lambda: transport.write(b"x")):
        with pytest.raises(ProbeError, match="after it was closed"):
            call()
    probe.close()
    with pytest.raises(ProbeError, match="not open"):
        probe.halted()
