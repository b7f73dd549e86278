"""The fingerprint of what the package itself puts into an image: firmware sources, and the code that makes sources."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from harness.board.descriptor import BoardType
from harness.core.hashing import sha256_file, tree_digest
from harness.core.resources import data_dir

SUFFIXES = frozenset({".c", ".h", ".ld", ".S", ".inc", ".py", ".j2"})
ENGINE_HEADERS = ("engine.h", "engine_resources.h")
SHARED_FIRMWARE = ("app", "hal", "kernels", "ports/common")
PACKAGE_CODE = (
    "engines",
    "model",
    "image/project.py",
    "image/port_files.py",
    "image/build_header.py",
    "plan/toolchain.py",
)


def baseline_fingerprint(board: BoardType) -> str:
    """Digest of the firmware sources that the board type uses, and of the code that turns a model into C."""
    return tree_digest((name, sha256_file(path)) for name, path in _entries(board))


def _entries(board: BoardType) -> Iterator[tuple[str, Path]]:
    firmware = data_dir("firmware")
    for name in ENGINE_HEADERS:
        yield f"firmware/{name}", firmware / name
    for part in SHARED_FIRMWARE:
        yield from _tree(f"firmware/{part}", firmware / part)
    yield from _tree("port", board.port_dir)
    package = Path(str(files("harness")))
    for part in PACKAGE_CODE:
        yield from _tree(f"harness/{part}", package / part)


def _tree(name: str, path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield name, path
        return
    for file in sorted(path.rglob("*")):
        relative = file.relative_to(path)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if file.is_file() and file.suffix in SUFFIXES and not hidden:
            yield f"{name}/{relative.as_posix()}", file
