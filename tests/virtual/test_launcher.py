"""Emulated boards start blank, end with their owner, and leave nothing behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.core.errors import BenchError, BoardBusyError, HarnessError, TargetError, ToolMissingError
from harness.virtual import command, launcher
from harness.virtual.launcher import VirtualBoard
from harness.virtual.plugin_host import plugin_range
from harness.virtual.registry import places, registered
from tests.virtual.fixtures import Open, Start
from tests.virtual.support import BOARDS, process_gone, python_child, within

OWN_A_BOARD = """
    import sys, time
    from harness.board.descriptor import load_board_type
    from harness.core.deadline import Deadline
    from harness.virtual.launcher import VirtualBoard
    board = VirtualBoard.start(load_board_type("mps2_an386"), int(sys.argv[1]), Deadline(20, "the emulator"))
    print(board.pid(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("board", BOARDS)
def test_starts_blank_and_stopped(board: str, start: Start, open_probe: Open) -> None:
    emulator = start(board)
    assert emulator.alive and emulator.failure(patience=0) is None
    facts = registered()[emulator.serial]
    assert facts["board"] == board and facts["device"] == emulator.board.jlink.device
    probe = open_probe(emulator)
    assert probe.halted()
    for region in emulator.board.memory:
        assert probe.read_memory(region.origin, 4096) == bytes(4096)


@pytest.mark.parametrize("board", BOARDS)
def test_pages_file_states_where_the_pages_lie_in_the_emulator(board: str, start: Start, open_probe: Open) -> None:
    emulator = start(board)
    lines = (emulator.directory / "pages").read_text().splitlines()
    pages = {name: int(value, 16) for name, value in (line.split("=") for line in lines)}
    facts = emulator.board.emulator
    assert facts is not None
    placed = {name for name, address in facts.pages.model_dump().items() if address is not None}
    assert set(pages) == placed >= {"dwt", "observer", "itm"}
    probe = open_probe(emulator)
    probe.write_memory(facts.pages.observer + 64, b"a word that is seen")
    with open(f"/proc/{emulator.pid()}/mem", "rb") as memory:
        memory.seek(pages["observer"] + 64)
        assert memory.read(19) == b"a word that is seen"


def test_a_host_without_ptys_has_boards_without_serial_ports(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(start("mps2_an386").ports) == {"serial", "cdc"}
    monkeypatch.setattr(command, "PTY_MASTER", "/dev/none")
    emulator = start("mps2_an386")
    assert emulator.alive and emulator.ports == {} and not emulator.usb_tree.exists()


def test_stop_leaves_nothing_and_may_be_repeated(start: Start) -> None:
    emulator = start("mps2_an386")
    pid, where = emulator.pid(), places(emulator.serial)
    emulator.stop()
    emulator.stop()
    assert process_gone(pid)
    assert not where.entry.exists() and not where.directory.exists()
    assert not emulator.alive and emulator.failure() is None


def test_killed_owner_takes_the_emulator_along_and_the_serial_is_free_again(serial: int) -> None:
    owner = python_child(OWN_A_BOARD, str(serial))
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert serial in registered()
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    gone = within(5, lambda: process_gone(pid))
    assert gone is not None and gone < 2
    deadline = Deadline(5, "the serial")
    with VirtualBoard.start(load_board_type("mps2_an386"), serial, deadline) as again:
        assert again.alive
    assert not deadline.expired


def test_killed_guard_takes_the_emulator_along(start: Start) -> None:
    emulator = start("mps2_an386")
    pid = emulator.pid()
    os.kill(emulator._process.pid, signal.SIGKILL)
    gone = within(5, lambda: process_gone(pid))
    assert gone is not None and gone < 2
    assert isinstance(emulator.failure(), TargetError)


def test_a_killed_emulator_is_told_from_a_living_one(start: Start) -> None:
    emulator = start("mps2_an386")
    os.kill(emulator.pid(), signal.SIGKILL)
    reason = emulator.failure()
    assert isinstance(reason, TargetError)
    assert "signal 9" in reason.what
    assert emulator.serial not in registered()
    with pytest.raises(TargetError):
        emulator.pid()


def test_one_emulator_a_serial(start: Start) -> None:
    emulator = start("mps2_an386")
    with pytest.raises(BoardBusyError, match=str(emulator.serial)):
        VirtualBoard.start(emulator.board, emulator.serial, Deadline(0.1, "the serial"))
    assert emulator.alive and emulator.serial in registered()


def test_missing_emulator(serial: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="qemu-system-arm") as caught:
        VirtualBoard.start(load_board_type("mps2_an386"), serial, Deadline(5, "the emulator"))
    assert "apt-get install -y qemu-system-arm" in caught.value.todo


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo no such machine >&2\nexit 1\n", "no such machine"),
        ("exec sleep 60\n", "emulator to come up"),
        (
            'case "$*" in *apiprobe*) echo plugin interface versions 0 to 1 >&2; exit 1; esac\nexec sleep 60\n',
            "sockets",
        ),
    ],
    ids=["refuses", "hangs", "no-sockets"],
)
def test_an_emulator_that_does_not_come_up(
    script: str, expected: str, serial: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "qemu"
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv(launcher.QEMU_VARIABLE, str(program))
    if expected == "sockets":
        # Answered beforehand, so that the deadline is spent on waiting for the sockets alone.
        assert plugin_range(program) is not None
    with pytest.raises(HarnessError) as caught:
        VirtualBoard.start(load_board_type("mps2_an386"), serial, Deadline(0.5, "the emulator to come up"))
    assert expected in str(caught.value)
    assert not places(serial).entry.exists() and not places(serial).directory.exists()


def test_runtime_directory_too_long_for_sockets(serial: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_RUNTIME_DIR", str(tmp_path / ("x" * 100)))
    with pytest.raises(BenchError, match="too long") as caught:
        VirtualBoard.start(load_board_type("mps2_an386"), serial, Deadline(5, "the emulator"))
    assert "HARNESS_RUNTIME_DIR" in caught.value.todo


def test_a_runtime_directory_with_the_characters_of_qemu_options(
    start: Start, open_probe: Open, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_RUNTIME_DIR", str(runtime / "a b,c=1"))
    assert open_probe(start("mps2_an386")).halted()
