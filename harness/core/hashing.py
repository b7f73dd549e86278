"""Hashes that state what they are a hash of: `<producer>.<kind>/<version>:sha256:<hex>`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.core.strict_json import canonical

PRODUCER = "harness"
_TEXT = re.compile(r"^[a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*/[1-9][0-9]*:sha256:[0-9a-f]{64}$")


def sha256_bytes(data: bytes) -> str:
    """Bare lowercase hex digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Bare lowercase hex digest of a file's bytes; OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def semantic_hash(kind: str, value: Any, *, version: int = 1) -> str:
    """Hash of a JSON-ready value over its canonical form, in the self-describing text form.

    Raises:
        ValueError: NaN or an infinity inside, or a malformed kind.
    """
    text = f"{PRODUCER}.{kind}/{version}:sha256:{sha256_bytes(canonical(value))}"
    if not _TEXT.match(text):
        raise ValueError(f"malformed hash kind {kind!r}")
    return text


def is_semantic_hash(text: str, kind: str | None = None) -> bool:
    """Whether the text has the form of a semantic hash (of the given kind)."""
    return bool(_TEXT.match(text)) and (kind is None or text.split("/")[0].split(".")[1] == kind)


def tree_digest(entries: Iterable[tuple[str, str]]) -> str:
    """Digest of a set of files given as (relative path, sha256) pairs, independent of order."""
    lines = sorted(f"{path}\0{digest}\n" for path, digest in entries)
    return sha256_bytes("".join(lines).encode())
