"""JSON without surprises: repeated keys, NaN, infinities and absurd nesting are refused on the way in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from harness.core.errors import EvidenceError
from harness.core.files import read_at_most

MAX_BYTES = 256 * 1024 * 1024
_WORDS = {None: "null", True: "true", False: "false"}
_QUOTES: tuple[Callable[[str], str], ...] = (encode_basestring, encode_basestring_ascii)


class StrictJsonError(EvidenceError):
    """The text is not strict JSON. `code` names the fault."""

    def __init__(self, what: str, *, code: str, why: str = "", todo: str = "") -> None:
        super().__init__(what, why=why, todo=todo or "The file was edited or damaged; produce it again.")
        self.code = code  # type: ignore[misc]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise StrictJsonError(f"JSON object repeats the key {key!r}.", code="duplicate_key")
        out[key] = value
    return out


def _constant(text: str) -> NoReturn:
    raise StrictJsonError(f"JSON holds the non-finite number {text}.", code="invalid_number")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise StrictJsonError(f"JSON number {text[:40]} is out of range.", code="invalid_number")
    return value


def loads(text: str | bytes, *, source: str = "input") -> Any:
    """Parse strict JSON.

    Raises:
        StrictJsonError: not UTF-8, not JSON, a repeated key, NaN or an infinity, nesting too deep.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)
    except StrictJsonError as error:
        error.why = error.why or f"In {source}."
        raise
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise StrictJsonError(f"{source} is not JSON.", code="invalid_json", why=str(error)[:200]) from None


def load(path: Path) -> Any:
    """Parse a file as strict JSON; `StrictJsonError` when missing, unreadable, too large or not strict."""
    try:
        data = read_at_most(path, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise StrictJsonError(f"{path.name} is larger than {MAX_BYTES} bytes.", code="invalid_json", why=str(path))
    except OSError as error:
        raise StrictJsonError(
            f"{path.name} cannot be read.",
            code="unreadable",
            why=f"{path}: {error.strerror or error}",
            todo="Check the path.",
        ) from None
    return loads(data, source=str(path))


def canonical(value: Any) -> bytes:
    """Compact sorted ASCII JSON: the form that hashes are taken over. NaN and infinities raise ValueError."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def pretty(value: Any) -> str:
    """Two-space indented, key-sorted JSON with a trailing newline: the form of every record on disk.

    Text that UTF-8 cannot hold, such as a file name in another encoding, makes all of it ASCII with escapes.
    """
    text = _laid_out(value, encode_basestring)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _laid_out(value, encode_basestring_ascii)
    return text


def is_pretty(raw: bytes, value: Any) -> bool:
    """Whether bytes are the form `pretty` gives a value, with text as it is or in escapes."""
    return raw in (_laid_out(value, quote).encode("utf-8", "replace") for quote in _QUOTES)


def _laid_out(value: Any, quote: Callable[[str], str]) -> str:
    # The encoder of the standard library that indents is written in Python and takes three times as long.
    parts: list[str] = []
    _lay_out(value, quote, "\n", parts.append)
    parts.append("\n")
    return "".join(parts)


def _lay_out(value: Any, quote: Callable[[str], str], line: str, put: Callable[[str], None]) -> None:
    kind = type(value)
    if kind is str:
        put(quote(value))
    elif kind is int:
        put(int.__repr__(value))
    elif value is None or value is True or value is False:
        put(_WORDS[value])
    elif kind is dict and all(type(key) is str for key in value):
        inner = line + "  "
        opening = "{" + inner
        for key in sorted(value):
            item = value[key]
            start = opening + quote(key) + ": "
            if type(item) is str:
                put(start + quote(item))
            else:
                put(start)
                _lay_out(item, quote, inner, put)
            opening = "," + inner
        put(line + "}" if value else "{}")
    elif kind is list or kind is tuple:
        inner = line + "  "
        opening = "[" + inner
        for item in value:
            put(opening)
            _lay_out(item, quote, inner, put)
            opening = "," + inner
        put(line + "]" if value else "[]")
    elif kind is float and isfinite(value):
        put(float.__repr__(value))
    else:
        text = json.dumps(
            value, sort_keys=True, indent=2, ensure_ascii=quote is encode_basestring_ascii, allow_nan=False
        )
        put(text.replace("\n", line))
