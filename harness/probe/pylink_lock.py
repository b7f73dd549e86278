"""pylink's own lock files, which name a process id that a later process may have been given.

pylink refuses to open a serial while its lock file names a living process. A file left by a killed process whose id
was given to another would block the board for as long as that other one lives. pylink keeps the file open while it
holds the lock, so a named process that does not have it open is not the holder.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def lock_file(serial: int) -> Path:
    """Where pylink keeps the lock of a serial."""
    return Path(tempfile.gettempdir()) / f".pylink-usb-{serial}.lck"


def holder_of(serial: int) -> int | None:
    """The process id that pylink's lock file names; None when there is no such file or it names none."""
    try:
        return int(lock_file(serial).read_text("ascii").strip())
    except (OSError, ValueError):
        return None


def release_lock(jlink: Any) -> None:
    """Give back the lock of a session that did not open or did not close.

    pylink leaves that to the collector, and an exception's traceback keeps the session alive for as long as somebody
    keeps the exception: pytest does so until the next failure, and nobody else could open the board.
    """
    lock = getattr(jlink, "_lock", None)
    if lock is not None:
        with suppress(OSError):
            lock.release()


def holder_ended(serial: int) -> bool:
    """Whether the lock file names a process that is gone: what it leaves locked, only its owner can free."""
    pid = holder_of(serial)
    return pid is not None and not Path(f"/proc/{pid}").exists()


def remove_if_stale(serial: int) -> bool:
    """Remove the lock file when its named process surely does not hold it; returns whether it was removed.

    Whether another user's process holds a file cannot be seen; such a lock is left alone.
    """
    path, pid = lock_file(serial), holder_of(serial)
    if pid is None:
        return False
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        descriptors = []
    except OSError:
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if descriptor.readlink() == path.resolve():
                return False
    with suppress(OSError):
        path.unlink()
        return True
    return False
