"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.deadline import Deadline

PIPE_SECONDS = 10.0
HIDDEN_PREFIX = ".tmp-hil-"
"""How directories begin that are being filled."""


def fsync_dir(path: Path) -> None:
    """Make renames inside a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    # The kernel's answer to a write names no file.
    try:
        yield
    except OSError as fault:
        if fault.filename is None:
            fault.filename = str(path)
        raise


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and flush it to the disk. An `OSError` names the file, also when the disk is full."""
    with _named(path), path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def copy_synced(source: Path, path: Path) -> None:
    """Copy a file of any size and flush the copy to the disk; errors as `write_synced`."""
    with _named(path), source.open("rb") as read, path.open("wb") as file:
        shutil.copyfileobj(read, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def read_at_most(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a file that a person named.

    A pipe, as of `<(command)`, is read to its end within `PIPE_SECONDS`; nobody may ever write to it.

    Raises:
        OSError: there is no such file, it cannot be read, or a pipe did not end in time.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with _named(path), os.fdopen(fd, "rb", buffering=0) as file:
        if not stat.S_ISFIFO(os.fstat(fd).st_mode):
            return _read(file.read, limit)
        deadline = Deadline(PIPE_SECONDS, "what is written to a pipe", str(path))

        def piped(size: int) -> bytes | None:
            if not select.select([fd], [], [], deadline.remaining())[0]:
                raise OSError(errno.ETIMEDOUT, f"Nothing more was written to it within {PIPE_SECONDS:g} s", str(path))
            return file.read(size)

        return _read(piped, limit)


def _read(read: Callable[[int], bytes | None], limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := read(min(limit, 1 << 20))) != b"":
        parts.append(part or b"")
        limit -= len(part or b"")
    return b"".join(parts)


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never a part.

    Raises:
        OSError: the directory does not exist or the disk is full; the old file is untouched.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        # A name that just fits must not become too long by what is put around it.
        fd, name = tempfile.mkstemp(prefix=f".{path.name[:32]}.", dir=path.parent)
    except OSError as fault:
        fault.filename = str(path)
        raise
    temp = Path(name)
    try:
        with _named(path), os.fdopen(fd, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        temp.chmod(0o644)
        temp.replace(path)
    except BaseException as fault:
        temp.unlink(missing_ok=True)
        if isinstance(fault, OSError) and fault.filename == str(temp):
            # Nobody knows the temporary file's name.
            fault.filename = str(path)
        raise
    fsync_dir(path.parent)


@contextmanager
def published_dir(final: Path) -> Iterator[Path]:
    """Fill a hidden sibling, then rename it to `final` in one step.

    On any exception, and after a crash, `final` does not exist; the hidden sibling is removed on exceptions. What
    crashes left (hidden siblings that nobody holds a lock on) is removed by the next publication beside them.

    Raises:
        FileExistsError: `final` exists already.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        raise FileExistsError(final)
    _sweep(final.parent)
    try:
        temp, lock = _locked_dir(final.parent, f"{HIDDEN_PREFIX}{final.name}-")
    except OSError as fault:
        fault.filename = str(final)
        raise
    try:
        temp.chmod(0o755)
        yield temp
        fsync_dir(temp)
        temp.rename(final)
    except BaseException:
        shutil.rmtree(temp, ignore_errors=True)
        raise
    finally:
        os.close(lock)
    fsync_dir(final.parent)


def _locked_dir(parent: Path, prefix: str) -> tuple[Path, int]:
    # A kernel lock on the directory tells a maker at work from one that crashed.
    while True:
        temp = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(temp, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if temp.exists():
            return temp, lock
        os.close(lock)


def _sweep(parent: Path) -> None:
    for stale in parent.iterdir():
        if not stale.name.startswith(HIDDEN_PREFIX):
            continue
        try:
            lock = os.open(stale, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(stale, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(lock)
