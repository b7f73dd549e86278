"""Children end with their owner, in time, and the store survives whatever happens to a maker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.core.deadline import Deadline
from harness.core.errors import DeadlineError, ToolMissingError
from harness.core.proc import clean_env, end_guarded, run_guarded, spawn_guarded
from harness.core.store import ContentStore


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_gone(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_output_and_status() -> None:
    done = run_guarded(["sh", "-c", "echo out; echo err >&2; exit 3"], Deadline(10, "sh"))
    assert (done.status, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_missing_program_is_typed() -> None:
    with pytest.raises(ToolMissingError):
        run_guarded(["no-such-program-here"], Deadline(10, "it"))


def test_late_command_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(DeadlineError):
        run_guarded(["sh", "-c", f"sleep 60 & echo $! $$ > {pids}; wait"], Deadline(0.5, "sleep"))
    for pid in map(int, pids.read_text().split()):
        assert wait_gone(pid, 2)


def test_command_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from harness.core.proc import spawn_guarded\n"
        "p = spawn_guarded(['sh', '-c', 'sleep 60 & echo $! $$; wait'])\n"
        "print(p.stdout.readline().decode(), p.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [*map(int, owner.stdout.readline().split()), int(owner.stdout.readline())]
    assert all(map(alive, pids))
    owner.kill()
    owner.wait()
    assert all(wait_gone(pid, 2) for pid in pids)
    owner.stdout.close()


def test_command_ends_when_its_guard_is_killed() -> None:
    process = spawn_guarded(["sh", "-c", "echo $$; exec sleep 60"])
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    assert wait_gone(pid, 2)
    end_guarded(process)


def test_environment_is_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "xx")
    monkeypatch.setenv("CFLAGS", "-Obad")
    assert clean_env(A="b")["LC_ALL"] == "C" and "CFLAGS" not in clean_env() and clean_env(A="b")["A"] == "b"


def test_store_makes_once_and_keeps_nothing_of_a_failure(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    calls: list[Path] = []

    def make(directory: Path) -> None:
        calls.append(directory)
        (directory / "f").write_text("x")
        if len(calls) == 1:
            raise RuntimeError("compiler died")

    with pytest.raises(RuntimeError):
        store.get_or_make("ab12", make)
    assert store.get("ab12") is None
    first = store.get_or_make("ab12", make)
    assert store.get_or_make("ab12", make) == first and len(calls) == 2
    assert store.info().entries == 1


def test_store_purges_least_recently_used(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    for index, key in enumerate(["aa", "bb", "cc"]):
        entry = store.get_or_make(key, lambda d: (d / "f").write_bytes(b"x" * 100) and None)
        os.utime(entry, (index, index))
    os.utime(store.path("aa"), (10, 10))
    assert store.purge(200) == 1
    assert store.get("bb") is None and store.get("aa") and store.get("cc")
