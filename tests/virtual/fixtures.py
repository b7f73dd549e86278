"""Fixtures shared by the tests of the virtual bench, the probe and the leases."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.board.descriptor import board_types, load_board_type
from harness.core.deadline import Deadline
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary
from harness.virtual.launcher import LaunchOptions, VirtualBoard
from harness.virtual.native_build import jlink_library
from tests.virtual.support import Image, compile_image, take_serial

Start = Callable[..., VirtualBoard]
Open = Callable[..., JLinkProbe]


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of the test's own, short enough for sockets."""
    directory = Path(tempfile.mkdtemp(prefix="hil-t"))
    monkeypatch.setenv("HARNESS_RUNTIME_DIR", str(directory))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Image]:
    """`images(board, greeting=...)`: test firmware, compiled once a session."""
    directory = tmp_path_factory.mktemp("images")
    made: dict[tuple[str, str], Image] = {}

    def image(board: str, greeting: str = "HELLO\n") -> Image:
        key = (board, greeting)
        if key not in made:
            made[key] = compile_image(board, directory, greeting)
        return made[key]

    return image


@pytest.fixture
def serial() -> Iterator[int]:
    """A serial that no other test process uses."""
    lock = take_serial()
    yield lock.serial
    lock.release()


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(board, memory=...)`: an emulated board under a serial of its own."""
    boards: list[VirtualBoard] = []
    locks = []

    def make(board: str, serial: int | None = None, **options: object) -> VirtualBoard:
        if serial is None:
            locks.append(take_serial())
            serial = locks[-1].serial
        known = tuple(sorted({item.jlink.device for item in board_types().values()}))
        settings = LaunchOptions(known_devices=known, **options)  # type: ignore[arg-type]
        boards.append(VirtualBoard.start(load_board_type(board), serial, Deadline(20, "the emulator"), settings))
        return boards[-1]

    yield make
    for board in boards:
        board.stop()
    for lock in locks:
        lock.release()


@pytest.fixture
def library() -> JLinkLibrary:
    """Our J-Link library."""
    return JLinkLibrary(jlink_library(), isolated=True)


@pytest.fixture
def open_probe(library: JLinkLibrary) -> Iterator[Open]:
    """`open_probe(board)`: a probe connected to an emulated board."""
    probes: list[JLinkProbe] = []

    def make(board: VirtualBoard, *, identify: bool = True) -> JLinkProbe:
        probe = JLinkProbe(board.serial, library, why_lost=board.failure)
        probes.append(probe)
        probe.open()
        jlink = board.board.jlink
        probe.connect(jlink.device, jlink.speed_khz)
        if identify:
            probe.identify(board.board)
        return probe

    yield make
    for probe in probes:
        probe.close()
