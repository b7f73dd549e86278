"""Paths stored in records: relative to a named root, canonical, and never leaving it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from harness.core.errors import EvidenceError


class PathEscapeError(EvidenceError):
    """A recorded path is absolute, not canonical, or leaves its root."""

    code = "invalid_path"


def check_relative(text: str) -> str:
    """Return the text when it is a canonical relative POSIX path without `..`; `PathEscapeError` otherwise."""
    pure = PurePosixPath(text)
    if (
        not text
        or "\\" in text
        or "\0" in text
        or pure.is_absolute()
        or ".." in pure.parts
        or str(pure) != text
        or (len(text) > 1 and text[1] == ":")
    ):
        raise PathEscapeError(
            f"Path {text!r} is not a canonical relative path.",
            why="Recorded paths stay inside their root: no absolute paths, no '..', no backslashes.",
            todo="The record was edited or damaged; produce it again.",
        )
    return text


def resolve_inside(root: Path, text: str) -> Path:
    """Resolve a recorded path under `root`, following symlinks; `PathEscapeError` when the result is outside."""
    path = (root / check_relative(text)).resolve()
    if not path.is_relative_to(root.resolve()):
        raise PathEscapeError(
            f"Path {text!r} leaves its directory.",
            why=f"It resolves to a place outside {root}.",
            todo="The record was edited or damaged; produce it again.",
        )
    return path


def relative_to_root(path: Path, root: Path) -> str:
    """The canonical recorded form of `path` under `root`; ValueError when it is outside."""
    return check_relative(path.resolve().relative_to(root.resolve()).as_posix())
