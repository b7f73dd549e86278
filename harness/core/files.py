"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def fsync_dir(path: Path) -> None:
    """Make renames inside a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and flush it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never a part.

    Raises:
        OSError: the directory does not exist or the disk is full; the old file is untouched.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temp = Path(name)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        temp.chmod(0o644)
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_dir(path.parent)


@contextmanager
def published_dir(final: Path) -> Iterator[Path]:
    """Fill a hidden sibling, then rename it to `final` in one step.

    On any exception, and after a crash, `final` does not exist; the hidden sibling is removed on exceptions and is
    recognisable by its `.tmp-` prefix after a crash.

    Raises:
        FileExistsError: `final` exists already.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        raise FileExistsError(final)
    temp = Path(tempfile.mkdtemp(prefix=f".tmp-{final.name}-", dir=final.parent))
    try:
        temp.chmod(0o755)
        yield temp
        fsync_dir(temp)
        temp.rename(final)
    except BaseException:
        shutil.rmtree(temp, ignore_errors=True)
        raise
    fsync_dir(final.parent)
