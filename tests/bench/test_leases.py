"""Leases: one holder a board, nothing left behind, and a killed holder blocks nobody."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.bench.inventory import Bench, load_bench
from harness.bench.provider import LeaseRequest
from harness.bench.virtual import VirtualHold
from harness.core.deadline import Deadline
from harness.core.errors import BenchError, BoardBusyError, LockupError, ToolMissingError, WrongBoardError
from harness.probe.library import JLinkLibrary
from harness.virtual.native_build import jlink_library
from harness.virtual.registry import places, registered
from tests.virtual.fixtures import Start
from tests.virtual.support import BOARDS, Image, process_gone, python_child, read_until, take_serial, within

Images = Callable[..., Image]
LEASE = """
    import sys
    from pathlib import Path
    from harness.bench.inventory import load_bench
    from harness.bench.provider import LeaseRequest
    from harness.core.deadline import Deadline
    bench = load_bench(Path(sys.argv[1]))
    lease = bench.lease(LeaseRequest((sys.argv[2],), holder="a child"), Deadline(20, "a board"))
    probe = lease.open_probe()
    print(lease.serial, lease._hold.emulator.pid(), flush=True)
    sys.stdin.readline()
    lease.release()
    print("released", flush=True)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The default bench."""
    path = tmp_path / "bench.yaml"
    path.write_text("version: 1\n")
    return load_bench(path)


@pytest.fixture
def registered_bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench with one virtual board under a serial of its own, and nothing on demand."""
    lock = take_serial()
    lock.release()
    path = tmp_path / "one.yaml"
    path.write_text(
        f"version: 1\nvirtual: off\nboards:\n  - {{serial: {lock.serial}, board: mps2_an386, probe: virtual}}\n"
    )
    yield load_bench(path)


@pytest.mark.parametrize("board", BOARDS)
def test_a_lease_runs_an_image_and_leaves_nothing(board: str, bench: Bench, images: Images) -> None:
    with bench.lease(LeaseRequest((board,), holder="tests"), Deadline(20, "a board")) as lease:
        assert lease.board_type.name == lease.info.board_type == board
        assert isinstance(lease._hold, VirtualHold)
        pid = lease._hold.emulator.pid()
        probe = lease.open_probe()
        assert lease.open_probe() is probe
        image = images(board)
        probe.flash(image.elf, lease.board_type)
        transport = probe.boot_rtt(image.rtt, Deadline(5, "RTT"))
        assert read_until(transport, b"\n") == image.greeting
        assert lease.serial in registered()
    assert process_gone(pid)
    assert not probe.is_open
    assert lease.serial not in registered() and not places(lease.serial).directory.exists()
    lease.release()
    with pytest.raises(BenchError, match="has ended"):
        lease.open_probe()
    with pytest.raises(BenchError, match="has ended"):
        lease.recover()


def test_leases_at_once_get_boards_of_their_own(bench: Bench) -> None:
    request = LeaseRequest(("mps2_an386",), holder="tests")
    with bench.lease(request, Deadline(20, "a board")) as one, bench.lease(request, Deadline(20, "a board")) as two:
        assert one.serial != two.serial
        a, b = one.open_probe(), two.open_probe()
        origin = one.board_type.region("ram").origin
        a.write_memory(origin, b"one")
        b.write_memory(origin, b"two")
        assert (a.read_memory(origin, 3), b.read_memory(origin, 3)) == (b"one", b"two")


def test_processes_at_once_get_boards_of_their_own(tmp_path: Path, bench: Bench) -> None:
    children = [python_child(LEASE, str(bench.path), board) for board in ("mps2_an386", "mps2_an386", "mps3_an547")]
    serials = [int(child.stdout.readline().split()[0]) for child in children if child.stdout is not None]
    assert len(set(serials)) == 3
    for child in children:
        out, _ = child.communicate("go\n", timeout=20)
        assert out == "released\n"


def test_a_registered_board_is_one_board(registered_bench: Bench) -> None:
    (info,) = registered_bench.boards()
    request = LeaseRequest(("mps2_an386",), holder="first holder")
    with registered_bench.lease(request, Deadline(20, "a board")) as lease:
        assert lease.serial == info.serial
        (busy,) = registered_bench.boards()
        assert busy.state == "busy" and "first holder" in (busy.holder or "")
        begin = time.monotonic()
        with pytest.raises(BoardBusyError, match="mps2_an386") as caught:
            registered_bench.lease(request, Deadline(0.2, "a board"))
        assert time.monotonic() - begin < 2
        assert "first holder" in caught.value.why and str(os.getpid()) in caught.value.why
    (free,) = registered_bench.boards()
    assert free.state == "free" and free.holder is None


def test_a_killed_holder_blocks_nobody(registered_bench: Bench) -> None:
    child = python_child(LEASE, str(registered_bench.path), "mps2_an386")
    assert child.stdout is not None
    serial, pid = (int(text) for text in child.stdout.readline().split())
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    begin = time.monotonic()
    gone = within(5, lambda: process_gone(pid))
    assert gone is not None and gone < 2
    with registered_bench.lease(LeaseRequest(serial=serial), Deadline(5, "the board")) as lease:
        lease.open_probe()
        assert time.monotonic() - begin < 5


def test_recovery_starts_the_board_over(bench: Bench, images: Images) -> None:
    image = images("mps2_an386")
    with bench.lease(LeaseRequest(("mps2_an386",)), Deadline(20, "a board")) as lease:
        probe = lease.open_probe()
        probe.flash(image.elf, lease.board_type)
        transport = probe.boot_rtt(image.rtt, Deadline(5, "RTT"))
        transport.write(b"L1\n")
        with pytest.raises(LockupError):
            while True:
                probe.check_target()
        assert isinstance(lease.why_lost(), LockupError)
        lease.recover()
        assert lease.why_lost() is None
        again = lease.open_probe()
        assert again.read_memory(lease.board_type.region("code").origin, 64) == bytes(64)
        again.flash(image.elf, lease.board_type)
        assert read_until(again.boot_rtt(image.rtt, Deadline(5, "RTT")), b"\n") == image.greeting


def test_an_interrupted_test_leaves_the_board_free(registered_bench: Bench) -> None:
    request = LeaseRequest(("mps2_an386",))
    with pytest.raises(KeyboardInterrupt):
        with registered_bench.lease(request, Deadline(20, "a board")) as lease:
            lease.open_probe()
            raise KeyboardInterrupt
    assert registered_bench.boards()[0].state == "free"


def test_a_lease_that_fails_leaves_the_board_free(
    registered_bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HARNESS_QEMU", str(tmp_path / "no-such-program"))
    with pytest.raises(ToolMissingError):
        registered_bench.lease(LeaseRequest(), Deadline(5, "a board"))
    assert registered_bench.boards()[0].state == "free"


def local_bench(tmp_path: Path, serial: int, board: str) -> Bench:
    """A bench whose real probe is, for this test, the virtual library."""
    library: JLinkLibrary = JLinkLibrary(jlink_library())
    path = tmp_path / "local.yaml"
    path.write_text(
        f"version: 1\nvirtual: off\nboards:\n  - {{serial: {serial}, board: {board}, library: {library.path}}}\n"
    )
    return load_bench(path)


def test_a_local_board_is_flashed_halted_and_left(start: Start, tmp_path: Path, images: Images) -> None:
    emulator = start("mps2_an386", take_and_free())
    bench = local_bench(tmp_path, emulator.serial, "mps2_an386")
    image = images("mps2_an386")
    with bench.lease(LeaseRequest(serial=emulator.serial), Deadline(5, "a board")) as lease:
        assert lease.info.provider == "local"
        probe = lease.open_probe()
        probe.flash(image.elf, lease.board_type)
        assert read_until(probe.boot_rtt(image.rtt, Deadline(5, "RTT")), b"\n") == image.greeting
        lease.recover(Deadline(5, "the board"))
    assert emulator.alive
    with bench.lease(LeaseRequest(serial=emulator.serial), Deadline(5, "a board")) as lease:
        probe = lease.open_probe()
        assert probe.halted()


SILICON = """
name: my_board
based_on: mps2_an386
source: silicon
qualification: {state: unverified}
emulator: null
"""


def test_an_emulated_board_is_never_labelled_silicon(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_board.yml").write_text(SILICON)
    monkeypatch.setenv("HIL_BOARDS_PATH", str(tmp_path))
    emulator = start("mps2_an386", take_and_free())
    bench = local_bench(tmp_path, emulator.serial, "my_board")
    with bench.lease(LeaseRequest(serial=emulator.serial), Deadline(5, "a board")) as lease:
        with pytest.raises(WrongBoardError, match="is emulated; its type my_board is silicon"):
            lease.open_probe()


def test_a_board_of_silicon_is_never_labelled_emulated(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = start("mps2_an386", take_and_free())
    bench = local_bench(tmp_path, emulator.serial, "mps2_an386")
    monkeypatch.setattr("harness.probe.jlink_session.VIRTUAL_PRODUCT", "some other product")
    with bench.lease(LeaseRequest(serial=emulator.serial), Deadline(5, "a board")) as lease:
        with pytest.raises(WrongBoardError, match="is silicon; its type mps2_an386 is emulated"):
            lease.open_probe()


def test_a_board_registered_under_the_wrong_type_is_refused(start: Start, tmp_path: Path) -> None:
    emulator = start("mps2_an386", take_and_free())
    bench = local_bench(tmp_path, emulator.serial, "mps3_an547")
    with bench.lease(LeaseRequest(("mps3_an547",)), Deadline(5, "a board")) as lease:
        with pytest.raises(WrongBoardError, match="nothing was written") as caught:
            lease.open_probe()
    assert "bench.yaml" in caught.value.todo
    assert bench.boards()[0].state == "free"


def take_and_free() -> int:
    """A serial that was free a moment ago; the lease will lock it."""
    lock = take_serial()
    lock.release()
    return lock.serial
