"""One owner a serial, across processes; a lock goes with its holder, however that ends."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from harness.bench.locks import LOCK_VARIABLE, SerialLock, holder_text, lock_directory
from harness.core.errors import BenchError
from tests.virtual.support import python_child, within

HOLD = """
    import sys
    from harness.bench.locks import SerialLock
    lock = SerialLock(int(sys.argv[1]))
    print(lock.acquire("somebody else"), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of the test's own."""
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "locks"))
    return tmp_path / "locks"


def test_one_owner_in_one_process() -> None:
    first, second = SerialLock(5), SerialLock(5)
    assert first.holder() is None
    assert first.acquire("a test") and first.held
    assert not first.acquire("again") and not second.acquire("another")
    assert second.holder() == first.holder() == "a test"
    assert SerialLock(6).acquire("beside it")
    first.release()
    first.release()
    assert second.holder() is None and second.acquire("another")
    second.release()


def test_one_owner_across_processes_and_none_after_a_kill() -> None:
    other = python_child(HOLD, "7")
    assert other.stdout is not None and other.stdout.readline() == "True\n"
    lock = SerialLock(7)
    assert not lock.acquire("me") and lock.holder() == "somebody else"
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert within(1, lambda: lock.acquire("me")) is not None
    assert lock.holder() == "me"
    lock.release()


def test_other_users_may_use_the_directory_and_the_files(directory: Path) -> None:
    old = os.umask(0o077)
    try:
        lock = SerialLock(8)
        assert lock.acquire("me")
    finally:
        os.umask(old)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o1777
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o666
    lock.release()


def test_a_lock_file_is_never_followed_elsewhere(directory: Path, tmp_path: Path) -> None:
    lock_directory()
    target = tmp_path / "precious"
    target.write_text("kept")
    (directory / "9.lock").symlink_to(target)
    with pytest.raises(OSError):
        SerialLock(9).acquire("me")
    assert target.read_text() == "kept"


def test_a_directory_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(BenchError, match="lock directory") as caught:
        SerialLock(1)
    assert LOCK_VARIABLE in caught.value.todo


def test_holder_names_process_and_purpose() -> None:
    assert str(os.getpid()) in holder_text("pytest test_x") and "pytest test_x" in holder_text("pytest test_x")
