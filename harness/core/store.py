"""A content-addressed store: entries appear by rename, are never changed, and the least used go first."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from harness.core.deadline import Deadline
from harness.core.errors import EvidenceError, HostError
from harness.core.files import published_dir
from harness.core.hashing import sha256_file, tree_digest

SEAL_NAME = "seal"
LOCK_SECONDS = 900.0
"""Longer than any maker's own deadline: whoever waits this long waits for a process that hangs."""


@dataclass(frozen=True)
class StoreInfo:
    """How much a store holds: entries, total bytes."""

    root: Path
    entries: int
    size_bytes: int


class ContentStore:
    """Directories keyed by a digest of whatever decides their content."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Where the entry of a key lies, whether or not it exists."""
        return self.root / key[:2] / key

    def get(self, key: str) -> Path | None:
        """The entry of a key, marked as just used, or None."""
        entry = self.path(key)
        with suppress(OSError):
            os.utime(entry)
        # A cache that may only be read serves all the same.
        with suppress(OSError):
            return entry if stat.S_ISDIR(entry.stat().st_mode) else None
        return None

    def get_or_make(self, key: str, make: Callable[[Path], None]) -> Path:
        """The entry of a key; when missing, `make(directory)` fills a hidden directory which then appears by rename.

        Two processes asking for the same key make it once. Whatever `make` raises leaves no entry behind.

        Raises:
            HostError: the cache's directories cannot be made.
            DeadlineError: another process has been making the same entry for longer than any maker may take.
        """
        entry = self.get(key)
        if entry is not None:
            return entry
        entry = self.path(key)
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise HostError(
                f"The cache {self.root} cannot be written.",
                why=f"{fault.filename}: {fault.strerror}.",
                todo="Mend its permissions, or set HARNESS_CACHE_DIR to another directory.",
            ) from fault
        deadline = Deadline(LOCK_SECONDS, "another process to make the same cache entry", str(entry))
        try:
            held = FileLock(str(entry.parent / f".{key}.lock")).acquire(timeout=LOCK_SECONDS)
        except Timeout:
            raise deadline.error("its lock is still held") from None
        with held:
            if not entry.is_dir():
                self._sweep(entry)
                with published_dir(entry) as directory:
                    make(directory)
        return entry

    def get_or_make_sealed(self, key: str, make: Callable[[Path], None]) -> Path:
        """Like `get_or_make`, for entries that are read back later: one that was damaged on disk is made again.

        Raises:
            EvidenceError: what was just made reads back otherwise.
        """

        def make_and_seal(directory: Path) -> None:
            make(directory)
            (directory / SEAL_NAME).write_text(_digest_of(directory), "ascii")

        for _ in range(2):
            entry = self.get_or_make(key, make_and_seal)
            with suppress(OSError):
                if (entry / SEAL_NAME).read_bytes() == _digest_of(entry).encode():
                    return entry
            self.discard(key)
        raise EvidenceError(
            "The cache damages what is written to it.",
            why=f"Entry {self.path(key)} reads back other bytes than were written.",
            todo="Check the disk, or set HARNESS_CACHE_DIR to another one.",
        )

    def _sweep(self, entry: Path) -> None:
        # Under the key's lock: whatever hidden directory exists was left by a maker that crashed.
        for stale in entry.parent.glob(f".tmp-{entry.name}-*"):
            shutil.rmtree(stale, ignore_errors=True)

    def _entries(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return [
            entry
            for bucket in self.root.iterdir()
            if bucket.is_dir()
            for entry in bucket.iterdir()
            # Hidden ones are being made or removed: a maker must not lose its directory to a purge.
            if entry.is_dir() and not entry.name.startswith(".")
        ]

    def discard(self, key: str) -> None:
        """Remove an entry, as when its content turned out damaged; nothing happens when there is none."""
        entry = self.path(key)
        doomed = Path(tempfile.mkdtemp(prefix=f".tmp-{entry.name}-", dir=entry.parent)) if entry.is_dir() else None
        if doomed is not None:
            with suppress(OSError):
                entry.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)

    def info(self) -> StoreInfo:
        """Entries and bytes."""
        entries = self._entries()
        return StoreInfo(self.root, len(entries), sum(_size(entry) for entry in entries))

    def purge(self, max_bytes: int = 0) -> int:
        """Remove the least recently used entries until at most `max_bytes` remain; returns how many went."""
        entries = sorted(self._entries(), key=_last_used)
        sizes = {entry: _size(entry) for entry in entries}
        total, removed = sum(sizes.values()), 0
        for entry in entries:
            if total <= max_bytes:
                break
            # Renaming first keeps a reader from seeing half an entry.
            doomed = entry.with_name(f".tmp-{entry.name}-purged")
            try:
                entry.rename(doomed)
            except OSError:
                continue
            shutil.rmtree(doomed, ignore_errors=True)
            total -= sizes[entry]
            removed += 1
        return removed


def _last_used(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(entry: Path) -> int:
    total = 0
    for folder, _, names in os.walk(entry):
        for name in names:
            # Another process may remove the entry meanwhile.
            with suppress(FileNotFoundError):
                total += Path(folder, name).lstat().st_size
    return total


def _digest_of(entry: Path) -> str:
    return tree_digest((file.name, sha256_file(file)) for file in entry.iterdir() if file.name != SEAL_NAME)
