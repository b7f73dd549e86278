"""`kill -9` of the compiler and of the builder: no entry, no directory, no process is left; the next build works."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.core.deadline import Deadline
from harness.core.errors import BuildError, DeadlineError
from harness.image.build import build
from harness.image.record import Build
from tests.image.conftest import BOARDS

_BUILDER = "import sys; from harness.image.build import build; build(sys.argv[1], sys.argv[2], model=sys.argv[3])"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(place))
    return place


class Pids:
    """Process ids that come through a named pipe, one a line."""

    def __init__(self, pipe: Path) -> None:
        self.pipe = pipe
        os.mkfifo(pipe)
        self.handle = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""

    def next(self, deadline: Deadline) -> int:
        """The next process id."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.handle], [], [], deadline.remaining())
            deadline.check()
            if ready:
                self.rest += os.read(self.handle, 4096)
        line, self.rest = self.rest.split(b"\n", 1)
        return int(line)


@pytest.fixture
def stuck(tmp_path: Path, fake_compiler: Callable[[str], None]) -> Iterator[Pids]:
    """Makes every compilation tell its process id, then hang."""
    pids = Pids(tmp_path / "pids")
    fake_compiler(f'case "$*" in *" -c "*) echo $$ > {pids.pipe}; exec sleep 1000;; esac')
    yield pids
    os.close(pids.handle)


def _await_gone(pid: int, deadline: Deadline) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([handle], [], [], deadline.remaining())
        assert ready, f"process {pid} is still there"
    finally:
        os.close(handle)


def _unpath(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"].split(os.pathsep, 1)[1])


def _assert_clean(tmp_path: Path, cache: Path) -> None:
    assert not (tmp_path / "out").exists()
    assert not list(cache.rglob("image.elf"))


def test_killing_the_compiler(
    reference: dict[str, Build], tmp_path: Path, cache: Path, stuck: Pids, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_both() -> None:
        for _ in range(2):
            os.kill(stuck.next(Deadline(20, "a compilation")), signal.SIGKILL)

    killer = threading.Thread(target=kill_both, daemon=True)
    killer.start()
    with pytest.raises(BuildError, match="does not compile") as caught:
        build(reference[BOARDS[0]].plan, tmp_path / "out")
    assert "signal 9" in caught.value.why
    _assert_clean(tmp_path, cache)
    assert not list(tmp_path.glob(".tmp-*")) and not list(cache.rglob(".tmp-*"))
    _unpath(monkeypatch)
    assert build(reference[BOARDS[0]].plan, tmp_path / "out").sha256 == reference[BOARDS[0]].sha256


def test_killing_the_builder(
    reference: dict[str, Build], tmp_path: Path, cache: Path, stuck: Pids, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = reference[BOARDS[0]]
    plan = made.plan.save(tmp_path / "plan.json")
    command = [sys.executable, "-c", _BUILDER, str(plan), str(tmp_path / "out"), str(made.model_path)]
    root = str(Path(__file__).parents[2])
    builder = subprocess.Popen(command, cwd=root, start_new_session=True)
    pids = [stuck.next(Deadline(30, "a compilation")) for _ in range(2)]
    builder.send_signal(signal.SIGKILL)
    builder.wait(10)
    for pid in pids:
        _await_gone(pid, Deadline(2, "the end of the compiler"))
    _assert_clean(tmp_path, cache)
    _unpath(monkeypatch)
    assert build(made.plan, tmp_path / "out", model=made.model_path).sha256 == made.sha256
    assert not list(tmp_path.glob(".tmp-*")) and not list(cache.rglob(".tmp-*"))


def test_a_compiler_that_hangs_ends_with_the_deadline(
    reference: dict[str, Build], tmp_path: Path, cache: Path, fake_compiler: Callable[[str], None]
) -> None:
    fake_compiler('case "$*" in *" -c "*) exec sleep 1000;; esac')
    with pytest.raises(DeadlineError, match="the compiler"):
        build(reference[BOARDS[0]].plan, tmp_path / "out", deadline_seconds=1.0)
    _assert_clean(tmp_path, cache)
