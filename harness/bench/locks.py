"""One owner a probe serial, across processes and users of a host.

A lock is a kernel lock (flock) on a file named after the serial, in a directory all users share. It goes with the
process that holds it, however that ends; the file's text only names the holder and decides nothing. Virtual and
physical serials share the directory, so no two boards of a host ever have one serial at a time.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from harness.core.errors import BenchError

LOCK_VARIABLE = "HARNESS_LOCK_DIR"
HOLDER_BYTES = 400


def lock_directory() -> Path:
    """The shared directory: `HARNESS_LOCK_DIR`, else `hil-locks` in the temporary directory.

    Raises:
        BenchError: it is no directory, or its owner lets nobody else write there.
    """
    override = os.environ.get(LOCK_VARIABLE)
    path = Path(override).absolute() if override else Path(tempfile.gettempdir()) / "hil-locks"
    with suppress(FileExistsError):
        path.mkdir(parents=True)
        # Not through mkdir's mode, which the umask cuts; sticky, as the temporary directory is.
        path.chmod(0o1777)
    if not stat.S_ISDIR(path.lstat().st_mode) or not os.access(path, os.W_OK | os.X_OK):
        raise BenchError(
            f"The lock directory {path} cannot be used.",
            why="It is no directory, or its owner lets nobody else write there.",
            todo=f"Have its owner run `chmod 1777 {path}`, or set {LOCK_VARIABLE} for everybody on this host.",
        )
    return path


class SerialLock:
    """The lock of one serial."""

    def __init__(self, serial: int, directory: Path | None = None) -> None:
        self.serial = serial
        self.path = (directory or lock_directory()) / f"{serial}.lock"
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def acquire(self, holder: str) -> bool:
        """Take the lock if it is free; `holder` is what others are told. Returns whether it was taken."""
        if self._fd is not None:
            return False
        fd = self._open()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        with suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, holder.encode("utf-8", "replace")[:HOLDER_BYTES], 0)
        self._fd = fd
        return True

    def release(self) -> None:
        """Give the lock back. May be called more than once."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)

    def holder(self) -> str | None:
        """Who holds the lock, in words; None when it is free."""
        if self._fd is None:
            try:
                fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                return None
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                pass
            finally:
                os.close(fd)
        with suppress(OSError):
            text = self.path.read_text("utf-8", "replace").strip()
            return text or "another process"
        return "another process"

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        # In a sticky directory the kernel may refuse O_CREAT on a file that another user made.
        with suppress(FileNotFoundError):
            return os.open(self.path, flags)
        try:
            fd = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise
            return os.open(self.path, flags)
        os.fchmod(fd, 0o666)
        return fd


def holder_text(purpose: str) -> str:
    """What a lock tells others of this process: its id, user and what it does."""
    import getpass

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"process {os.getpid()} of {user}{f' ({purpose})' if purpose else ''}"
