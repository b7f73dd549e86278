"""Sources an engine compiles that are not part of the package: where they lie, pinned by a digest of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import SettingsError
from harness.core.hashing import sha256_file, tree_digest

MAX_FILES = 20_000
MAX_BYTES = 512 << 20
_IGNORED = frozenset({"__pycache__"})


@dataclass(frozen=True)
class SourceTree:
    """A directory of sources.

    Args:
        name: its name inside a build, as in `cmsis-nn/Source/arm_convolve_s8.c`.
        path: where it lies on this host.
        version: what its owner calls it.
        sha256: digest of the relative names and bytes of its files.
        option: the engine option that named it; empty when the engine found it by itself.
    """

    name: str
    path: Path
    version: str
    sha256: str
    option: str = ""


def digest_of(root: Path, suffixes: Iterable[str] | None = None) -> str:
    """Digest of the files below a directory, hidden ones and Python caches left out.

    Args:
        root: the directory.
        suffixes: take only files that end so, as in `.c`; None: all.

    Raises:
        SettingsError: it holds too much to be sources, or a link that leads out of it.
    """
    return tree_digest((path.relative_to(root).as_posix(), sha256_file(path)) for path in files_of(root, suffixes))


def files_of(root: Path, suffixes: Iterable[str] | None = None) -> Iterator[Path]:
    """The files that `digest_of` covers, in name order; raises likewise."""
    wanted = None if suffixes is None else frozenset(suffixes)
    resolved = root.resolve()
    count = size = 0
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if any(part.startswith(".") or part in _IGNORED for part in relative.parts) or not path.is_file():
            continue
        if wanted is not None and path.suffix not in wanted:
            continue
        if not path.resolve().is_relative_to(resolved):
            raise SettingsError(
                f"{relative.as_posix()} in {root} leads out of the directory.",
                why="What a link names elsewhere could change without the directory's digest changing.",
                todo="Copy the file into the directory.",
            )
        count, size = count + 1, size + path.stat().st_size
        if count > MAX_FILES or size > MAX_BYTES:
            raise SettingsError(
                f"{root} holds too much to be sources.",
                why=f"More than {MAX_FILES} files or {MAX_BYTES >> 20} MiB.",
                todo="Name the directory that holds the sources alone.",
            )
        yield path
