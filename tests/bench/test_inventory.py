"""bench.yaml is read strictly, and a board is never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.inventory import BenchFileError, load_bench
from harness.bench.provider import LeaseRequest
from harness.bench.virtual import first_serial
from harness.core.deadline import Deadline
from harness.core.errors import NoBoardError
from tests.virtual.support import BOARDS


def bench_file(directory: Path, text: str) -> Path:
    path = directory / "bench.yaml"
    path.write_text(text)
    return path


def test_without_a_file_every_emulated_type_is_there_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    infos = load_bench().boards()
    assert {info.board_type for info in infos} >= set(BOARDS)
    assert all(info.on_demand and info.state == "free" and info.provider == "virtual" for info in infos)
    assert len({info.serial for info in infos}) == len(infos)


def test_serials_of_a_type_are_for_ever() -> None:
    assert (first_serial("mps2_an386"), first_serial("mps3_an547")) == (680_463_001, 692_627_001)


def test_a_file_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench_file(
        tmp_path,
        "version: 1\nvirtual: off\nboards:\n"
        "  - {serial: 12, board: mps2_an386, probe: virtual, transport: rtt}\n"
        "  - {serial: 13, board: mps3_an547, library: jlink/libjlinkarm.so}\n",
    )
    monkeypatch.chdir(tmp_path)
    bench = load_bench()
    assert bench.path == path
    assert [(info.serial, info.board_type, info.provider, info.probe) for info in bench.boards()] == [
        (13, "mps3_an547", "local", "jlink"),
        (12, "mps2_an386", "virtual", "virtual"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boards: [", "not YAML"),
        ("- 1\n", "not a mapping"),
        ("boards: []\n", "'version' is missing"),
        ("version: 2\n", "version"),
        ("version: 1\nboard: []\n", "unknown key 'board'. Did you mean 'boards'?"),
        ("version: 1\nboards:\n  - {serial: 1, bord: mps2_an386}\n", "Did you mean 'board'?"),
        ("version: 1\nboards:\n  - {board: mps2_an386}\n", "'boards.0.serial' is missing"),
        ("version: 1\nboards:\n  - {serial: '', board: mps2_an386}\n", "bench.yaml:3"),
        ("version: 1\nboards:\n  - {serial: 0, board: mps2_an386}\n", "greater than 0"),
        ("version: 1\nboards:\n  - {serial: 1, board: mps2_an368}\n", "Did you mean 'mps2_an386'?"),
        ("version: 1\nboards:\n  - {serial: 1, board: mps2_an386, transport: spi}\n", "rtt"),
        (
            "version: 1\nboards:\n  - {serial: 1, board: mps2_an386}\n  - {serial: 1, board: mps3_an547}\n",
            "registered twice",
        ),
        ("version: 1\nboards:\n  - {serial: 1, board: mps2_an386, probe: virtual, library: x.so}\n", "own library"),
    ],
)
def test_files_that_cannot_be_used(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(BenchFileError) as caught:
        load_bench(bench_file(tmp_path, text))
    assert expected in str(caught.value)
    assert caught.value.exit_code == 2 and caught.value.todo


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match="cannot be read"):
        load_bench(tmp_path / "none.yaml")


def test_several_that_would_do_are_an_error_that_lists_them(tmp_path: Path) -> None:
    bench = load_bench(bench_file(tmp_path, "version: 1\n"))
    with pytest.raises(NoBoardError, match="never guessed") as caught:
        bench.lease(LeaseRequest(), Deadline(1, "a board"))
    assert all(board in caught.value.why for board in BOARDS)


def test_two_providers_with_one_type_are_not_interchangeable(tmp_path: Path) -> None:
    bench = load_bench(bench_file(tmp_path, "version: 1\nboards:\n  - {serial: 3, board: mps2_an386}\n"))
    with pytest.raises(NoBoardError, match="never guessed") as caught:
        bench.lease(LeaseRequest(("mps2_an386",)), Deadline(1, "a board"))
    assert "3 (local)" in caught.value.why


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (LeaseRequest(("mps2_an368",)), "Did you mean 'mps2_an386'?"),
        (LeaseRequest(serial=99), "serial 99"),
        (LeaseRequest(("mps2_an386",), serial=99), "mps2_an386, serial 99"),
    ],
)
def test_no_such_board(request_: LeaseRequest, expected: str, tmp_path: Path) -> None:
    bench = load_bench(bench_file(tmp_path, "version: 1\n"))
    with pytest.raises(NoBoardError) as caught:
        bench.lease(request_, Deadline(1, "a board"))
    assert expected in str(caught.value) and caught.value.exit_code == 6
