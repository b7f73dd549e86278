"""Where emulated boards of this user are found by serial, and what a crash left there.

Under the runtime directory (short, because socket paths end at 108 bytes):

    registry/<serial>.board   what the virtual J-Link needs to know, `key=value` lines; appears by rename
    boards/<serial>.lock      a kernel lock, held by the guard as long as the emulator lives
    boards/<serial>/          sockets, pages file and standard error of the emulator

An entry counts only while its lock is held. Whoever gets the lock of a dead board removes what it left.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.core.files import atomic_write
from harness.core.resources import runtime_root


@dataclass(frozen=True)
class Places:
    """Paths of one serial."""

    serial: int
    root: Path

    @property
    def entry(self) -> Path:
        """The registry file."""
        return self.root / "registry" / f"{self.serial}.board"

    @property
    def lock(self) -> Path:
        """The file whose kernel lock says that the emulator lives."""
        return self.root / "boards" / f"{self.serial}.lock"

    @property
    def directory(self) -> Path:
        """Sockets and files of the emulator."""
        return self.root / "boards" / str(self.serial)

    def clear(self) -> None:
        """Remove entry and directory; the caller holds the lock."""
        self.entry.unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)


def places(serial: int) -> Places:
    """Paths of a serial under this user's runtime directory, whose folders exist afterwards."""
    root = runtime_root()
    for name in ("registry", "boards"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    return Places(serial, root)


def try_lock(path: Path) -> int | None:
    """A descriptor that holds the file's kernel lock, or None when somebody else does."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def _brief_lock(path: Path) -> Iterator[bool]:
    fd = try_lock(path)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)


def _held(path: Path) -> bool:
    """Whether somebody holds the lock. Asks with a shared lock, so that two who ask do not see each other."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def write_entry(where: Places, facts: Mapping[str, str | list[str]]) -> None:
    """Register a board in one step. A list becomes one line an item."""
    lines: list[str] = []
    for key, value in facts.items():
        lines += [f"{key}={item}" for item in (value if isinstance(value, list) else [value])]
    atomic_write(where.entry, "\n".join(lines) + "\n")


def read_entry(path: Path) -> dict[str, str]:
    """The facts of a registry file; the last value of a repeated key; empty when it is gone."""
    try:
        text = path.read_text("utf-8")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def registered() -> dict[int, dict[str, str]]:
    """The boards alive, by serial. Opens no board and disturbs none."""
    found: dict[int, dict[str, str]] = {}
    for file in sorted((places(0).root / "registry").glob("*.board")):
        if not file.stem.isdigit():
            continue
        where = places(int(file.stem))
        if _held(where.lock) and (facts := read_entry(file)):
            found[where.serial] = facts
    return found


def reclaim() -> list[int]:
    """Remove what emulators of dead owners left; returns the serials. Live boards are not touched."""
    removed: list[int] = []
    boards = places(0).root / "boards"
    for lock in sorted(boards.glob("*.lock")):
        if not lock.stem.isdigit():
            continue
        where = places(int(lock.stem))
        if not where.directory.exists() and not where.entry.exists():
            continue
        with suppress(OSError), _brief_lock(where.lock) as dead:
            if dead:
                where.clear()
                removed.append(where.serial)
    return removed
