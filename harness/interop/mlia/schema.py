"""The standardized output schema 1.2.0, stated as a small table and checked without a JSON Schema library.

Every object is closed unless its table says otherwise. `check_document` lists every violation with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = "1.2.0"
RESULT_KINDS = ("compatibility", "performance")
RESULT_STATUSES = ("ok", "partial", "incompatible", "failed", "skipped")
MODES = ("measured", "simulated", "predicted")
PLACEMENTS = ("NPU", "NX", "CPU", "GPU", "DSP", "Unknown")
_HASH = re.compile(r"[A-Fa-f0-9]{64}\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2}:\d{2}|Z)?\Z")
_NAMED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_\-]*\Z")

Errors = Iterator[str]
Check = Callable[[Any, str], Errors]


def text(value: Any, at: str) -> Errors:
    """A string."""
    if not isinstance(value, str):
        yield f"{at} must be a string"


def _text_or_null(value: Any, at: str) -> Errors:
    if value is not None:
        yield from text(value, at)


def _filled(value: Any, at: str) -> Errors:
    if not isinstance(value, str) or not value.strip():
        yield f"{at} must be a non-empty string"


def _number(value: Any, at: str) -> Errors:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{at} must be a number"
    elif value != value or value in (float("inf"), float("-inf")):
        yield f"{at} must be finite"


def _integer(value: Any, at: str) -> Errors:
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        yield f"{at} must be an integer"


def _size(value: Any, at: str) -> Errors:
    wrong = list(_integer(value, at))
    yield from wrong
    if not wrong and value < 0:
        yield f"{at} must not be negative"


def mapping(value: Any, at: str) -> Errors:
    """An object with any fields."""
    if not isinstance(value, dict):
        yield f"{at} must be an object"


def _one_of(*allowed: str) -> Check:
    def check(value: Any, at: str) -> Errors:
        if not isinstance(value, str) or value not in allowed:
            yield f"{at} must be one of {', '.join(allowed)}"

    return check


def _like(pattern: re.Pattern[str], what: str) -> Check:
    def check(value: Any, at: str) -> Errors:
        if not isinstance(value, str) or not pattern.match(value):
            yield f"{at} must be {what}"

    return check


def _list(item: Check, *, least: int = 0, unique: bool = False) -> Check:
    def check(value: Any, at: str) -> Errors:
        if not isinstance(value, list):
            yield f"{at} must be an array"
            return
        if len(value) < least:
            yield f"{at} must have at least {least} item"
        for index, entry in enumerate(value):
            yield from item(entry, f"{at}[{index}]")
        if unique and len({str(entry) for entry in value}) != len(value):
            yield f"{at} must not repeat an item"

    return check


@dataclass(frozen=True)
class _Closed:
    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, at: str) -> Errors:
        if not isinstance(value, dict):
            yield f"{at} must be an object"
            return
        for name in self.required:
            if name not in value:
                yield f"{at}.{name} is missing"
        for name, entry in value.items():
            check = self.required.get(name) or self.optional.get(name)
            if check is None:
                yield f"{at}.{name} is not a field of the schema"
            else:
                yield from check(entry, f"{at}.{name}")


def _qualifiers(value: Any, at: str) -> Errors:
    if not isinstance(value, dict):
        yield f"{at} must be an object"
        return
    for name, entry in value.items():
        if _NAMED.match(name) and entry is None:
            yield f"{at}.{name} must not be null"
    if "placement" in value:
        yield from _one_of(*PLACEMENTS)(value["placement"], f"{at}.placement")
    if "phase" in value:
        yield from _one_of("before", "after")(value["phase"], f"{at}.phase")


_NUMERIC = _Closed(
    {"name": text, "value": _number, "unit": text},
    {"aggregation": text, "samples": _integer, "qualifiers": _qualifiers},
)
_UNAVAILABLE = _Closed(
    {
        "name": text,
        "unit": text,
        "availability": _one_of("unavailable"),
        "reason": _like(re.compile(r"[\s\S]"), "text"),
    },
    {"qualifiers": _qualifiers},
)


def _metric(value: Any, at: str) -> Errors:
    if not isinstance(value, dict):
        yield f"{at} must be an object"
    elif "value" in value:
        yield from _NUMERIC(value, at)
    else:
        yield from _UNAVAILABLE(value, at)


def _component(value: Any, at: str) -> Errors:
    yield from _Closed(
        {"type": _one_of("cpu", "npu", "gpu", "dsp", "specification", "soc"), "family": text},
        {"model": text, "variant": text, "name": text, "components": _list(_component)},
    )(value, at)


_BREAKDOWN = _Closed({"entity_id": text, "metrics": _list(_metric)}, {"id": text, "qualifiers": _qualifiers})
_CHECK = _Closed(
    {"id": text, "status": _one_of("pass", "fail", "partial")}, {"entity_id": _text_or_null, "details": mapping}
)
_KIND = _Closed(
    {"id": _filled}, {"parent_kinds": _list(_filled, unique=True), "child_kinds": _list(_filled, unique=True)}
)
_ENTITY = _Closed(
    {"id": text, "kind": _filled, "name": text},
    {
        "placement": _text_or_null,
        "parent_ids": _list(text),
        "child_ids": _list(text),
        "attributes": mapping,
        "stack_trace": text,
    },
)
_ADVICE = _Closed(
    {
        "id": text,
        "category": _one_of("compatibility", "performance", "optimization"),
        "severity": _one_of("info", "warning", "error"),
        "message": text,
    },
    {"affected_entity_ids": _list(text), "details": mapping},
)
_RESULT = _Closed(
    {"kind": _one_of(*RESULT_KINDS), "status": _one_of(*RESULT_STATUSES), "producer": text},
    {
        "mode": _one_of(*MODES),
        "warnings": _list(text),
        "errors": _list(text),
        "metrics": _list(_metric),
        "breakdowns": _list(_BREAKDOWN),
        "checks": _list(_CHECK),
        "entities": _list(_ENTITY),
        "entity_kinds": _list(_KIND),
        "advice": _list(_ADVICE),
    },
)
_DOCUMENT = _Closed(
    {
        "schema_version": _one_of(SCHEMA_VERSION),
        "run_id": _like(_UUID, "a UUID"),
        "timestamp": _like(_TIME, "an ISO 8601 time"),
        "tool": _Closed({"name": text, "version": text}),
        "target": _Closed(
            {
                "profile_name": text,
                "target_type": text,
                "components": _list(_component, least=1),
                "configuration": mapping,
            },
            {"description": text, "host_platform": text},
        ),
        "model": _Closed(
            {"name": text, "format": text, "hash": _like(_HASH, "a SHA-256 in hexadecimal")}, {"size_bytes": _size}
        ),
        "context": _Closed(
            {},
            {
                "runtime_configuration": mapping,
                "git": _Closed({}, {"mlia_commit": text}),
                "notes": text,
                "cli_arguments": _list(text),
            },
        ),
        "backends": _list(
            _Closed({"id": text, "name": text, "version": text, "configuration": mapping}, {"impl": mapping}), least=1
        ),
        "results": _list(_RESULT),
    },
    {"extensions": mapping},
)


def check_document(document: Any, *, limit: int = 200) -> list[str]:
    """Every violation of the closed schema, up to `limit`; empty when there is none."""
    out: list[str] = []
    try:
        for error in _DOCUMENT(document, "document"):
            out.append(error)
            if len(out) >= limit:
                break
    except RecursionError:
        out.append("document nests too deeply")
    return out
