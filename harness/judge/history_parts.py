"""What one process adds to a history: a file that only grows, in batches that count whole or not at all.

A batch is lines of JSON and an empty line. The writer holds a kernel lock on its file for as long as it may add to it,
so a compaction can tell a file at work from one that is closed or whose process was killed. What a killed process left
after the last empty line was never acknowledged, and is not read.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
from pathlib import Path

SUFFIX = ".ndjson"
ROTATE_BYTES = 1 << 20
"""Size after which a process begins another file, so that a compaction can take this one."""
_END = b"\n\n"


class PartWriter:
    """Adds batches to a file of this process in a directory; a forked child gets a file of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._fd = -1
        self._pid = 0
        self._size = 0
        self._lock = threading.Lock()

    def add(self, lines: bytes) -> tuple[bool, bool]:
        """Append lines, each ending with a newline, as one batch; returns (a file was begun, a file was closed).

        Raises:
            OSError: the disk is full or the directory cannot be written; nothing of the batch counts.
        """
        with self._lock:
            begun = self._fd < 0 or self._pid != os.getpid()
            if begun:
                self._begin()
            batch = memoryview(lines + b"\n")
            try:
                while batch:
                    batch = batch[os.write(self._fd, batch) :]
            except BaseException:
                os.ftruncate(self._fd, self._size)
                raise
            self._size += len(lines) + 1
            closed = self._size >= ROTATE_BYTES
        if closed:
            self.close()
        return begun, closed

    def close(self) -> None:
        """Let go of the file; the next batch begins another."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)

    def _begin(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self.directory.mkdir(parents=True, exist_ok=True)
        stem = f"{time.time_ns()}-{os.getpid()}-{secrets.token_hex(4)}"
        hidden = self.directory / f".{stem}"
        fd = os.open(hidden, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        # Locked before it has a name that compactions look at: they would take an unlocked file for a finished one.
        fcntl.flock(fd, fcntl.LOCK_EX)
        hidden.rename(self.directory / f"{stem}{SUFFIX}")
        self._fd, self._pid, self._size = fd, os.getpid(), 0

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def whole_batches(path: Path) -> bytes:
    """The lines of all batches of a file that were written to their end."""
    data = path.read_bytes()
    return data[: data.rfind(_END) + 1].replace(_END, b"\n")


def is_closed(path: Path) -> bool:
    """Whether no living process may still add to a file.

    Raises:
        FileNotFoundError: it is gone.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
