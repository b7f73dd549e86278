"""Sources an engine compiles that are not part of the package: where they lie, pinned by a digest of all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import SettingsError
from harness.core.hashing import sha256_bytes, sha256_file, tree_digest

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

    Of a link to a directory below the same root it covers where the link leads; what lies there it covers anyway.

    Args:
        root: the directory.
        suffixes: take only files that end so, as in `.c`; None: all.

    Raises:
        SettingsError: it holds too much to be sources, a link that leads out of it, or a name that is not UTF-8.
    """
    files, links = _entries(root, suffixes)
    named = [(path.relative_to(root).as_posix(), sha256_file(path)) for path in files]
    inside = root.resolve()
    for link in links:
        target = link.resolve().relative_to(inside).as_posix()
        named.append((link.relative_to(root).as_posix(), sha256_bytes(f"link to {target}".encode())))
    return tree_digest(named)


def files_of(root: Path, suffixes: Iterable[str] | None = None) -> Iterator[Path]:
    """The files that `digest_of` covers, in name order; raises likewise."""
    yield from _entries(root, suffixes)[0]


def uncovered(root: Path, path: Path) -> str:
    """Why the digest of a directory does not cover a path below it that something names; empty when it does.

    Args:
        root: the directory.
        path: a file or directory below it that exists.
    """
    inside, place = root.resolve(), path.resolve()
    if not place.is_relative_to(inside):
        return "a link leads out of the directory"
    for relative in (path.relative_to(root), place.relative_to(inside)):
        if any(map(_is_left_out, relative.parts)):
            return "hidden files and Python caches are left out of the digest"
    return "" if path.is_dir() or path.is_file() else "it is no regular file"


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name in _IGNORED


def _entries(root: Path, suffixes: Iterable[str] | None) -> tuple[list[Path], list[Path]]:
    """Files, and links to directories, in name order."""
    wanted = None if suffixes is None else frozenset(suffixes)
    inside = root.resolve()
    files: list[Path] = []
    links: list[Path] = []
    size = 0
    for folder, names, others in os.walk(root, onerror=_raise):
        # What is taken out of the list here is not walked into.
        names[:] = [name for name in names if not _is_left_out(name)]
        place = Path(folder)
        for path in (place / name for name in (*names, *others) if not _is_left_out(name)):
            link = path.is_symlink() and path.is_dir()
            if not link and (not path.is_file() or (wanted is not None and path.suffix not in wanted)):
                continue
            _check(root, path, inside)
            if link:
                links.append(path)
                continue
            files.append(path)
            size += path.stat().st_size
            if len(files) > MAX_FILES or size > MAX_BYTES:
                raise SettingsError(
                    f"{root} holds too much to be sources.",
                    why=f"More than {MAX_FILES} files or {MAX_BYTES >> 20} MiB.",
                    todo="Name the directory that holds the sources alone.",
                )
    return sorted(files), sorted(links)


def _check(root: Path, path: Path, inside: Path) -> None:
    relative = path.relative_to(root).as_posix()
    try:
        relative.encode()
    except UnicodeEncodeError:
        raise SettingsError(
            f"{relative!r} in {root} is no name in UTF-8.",
            why="The digest of a directory is over names and bytes.",
            todo="Rename the file.",
        ) from None
    if not path.resolve().is_relative_to(inside):
        raise SettingsError(
            f"{relative} in {root} leads out of the directory.",
            why="What a link names elsewhere could change without the directory's digest changing.",
            todo="Copy what it names into the directory.",
        )


def _raise(fault: OSError) -> None:
    # What cannot be listed would be missing from the digest without a word.
    raise fault
