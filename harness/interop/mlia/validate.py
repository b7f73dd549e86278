"""Whether a JSON value is a standardized output 1.2.0: every fault with its path.

Own code for the published schema, the rules between its objects (kinds, references, cycles) and the rules for numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.interop.mlia.graph import build_graph
from harness.interop.mlia.records import SCHEMA_VERSION, WELL_KNOWN_EDGES, WELL_KNOWN_KINDS

MAX_FAULTS = 200
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2}:\d{2}|Z)?\Z")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")
_QUALIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_\-]*\Z")

Check = Callable[["_Faults", str, Any], None]


@dataclass(frozen=True)
class Fault:
    """One thing wrong: where (`results[0].metrics[2].value`) and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'document'}: {self.message}"


class _Faults(list[Fault]):
    def add(self, path: str, message: str) -> None:
        if len(self) < MAX_FAULTS:
            self.append(Fault(path, message))


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def is_number(value: Any) -> bool:
    """Whether a value is a finite JSON number (booleans are none)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is(test: Callable[[Any], bool], expected: str) -> Check:
    def check(faults: _Faults, path: str, value: Any) -> None:
        if not test(value):
            faults.add(path, f"{_short(value)} is not {expected}.")

    return check


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_of(*names: str) -> Check:
    return _is(lambda value: isinstance(value, str) and value in names, "one of " + ", ".join(names))


def _matches(pattern: re.Pattern[str], expected: str) -> Check:
    return _is(lambda value: isinstance(value, str) and bool(pattern.match(value)), expected)


def _integer(least: int | None = None) -> Check:
    def test(value: Any) -> bool:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool) and (least is None or value >= least)

    return _is(test, "an integer" if least is None else f"an integer of at least {least}")


_text = _is(lambda value: isinstance(value, str), "text")
_filled = _is(lambda value: isinstance(value, str) and bool(value.strip()), "text that is not blank")
_some = _is(lambda value: isinstance(value, str) and value != "", "text that is not empty")
_text_or_null = _is(lambda value: value is None or isinstance(value, str), "text or null")
_open = _is(lambda value: isinstance(value, dict), "an object")
_number = _is(is_number, "a finite number")


def _list(item: Check, *, least: int = 0, unique: bool = False) -> Check:
    def check(faults: _Faults, path: str, value: Any) -> None:
        if not isinstance(value, list):
            faults.add(path, f"{_short(value)} is not a list.")
            return
        if len(value) < least:
            faults.add(path, f"needs at least {least} item.")
        for index, one in enumerate(value):
            item(faults, f"{path}[{index}]", one)
        if unique and len({one for one in value if isinstance(one, str)}) < len(value):
            faults.add(path, "an item is repeated.")

    return check


def _object(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    fields = {**required, **(optional or {})}

    def check(faults: _Faults, path: str, value: Any) -> None:
        if not isinstance(value, dict):
            faults.add(path, f"{_short(value)} is not an object.")
            return
        for name in required:
            if name not in value:
                faults.add(_at(path, name), "is missing.")
        for name, one in value.items():
            known = fields.get(name)
            if known is None:
                faults.add(_at(path, name), "is not a field of the format.")
            else:
                known(faults, _at(path, name), one)

    return check


def _qualifiers(faults: _Faults, path: str, value: Any) -> None:
    if not isinstance(value, dict):
        faults.add(path, f"{_short(value)} is not an object.")
        return
    for name, one in value.items():
        allowed = _QUALIFIER_VALUES.get(name)
        if allowed is not None and (not isinstance(one, str) or one not in allowed):
            faults.add(_at(path, name), f"{_short(one)} is not one of {', '.join(allowed)}.")
        elif one is None and _QUALIFIER.match(name):
            faults.add(_at(path, name), "null is no value of a qualifier.")


_QUALIFIER_VALUES = {
    "placement": ("NPU", "NX", "CPU", "GPU", "DSP", "Unknown"),
    "phase": ("before", "after"),
}
_NUMERIC = _object(
    {"name": _text, "value": _number, "unit": _text},
    {"aggregation": _text, "samples": _integer(), "qualifiers": _qualifiers},
)
_UNAVAILABLE = _object(
    {"name": _text, "unit": _text, "availability": _one_of("unavailable"), "reason": _some},
    {"qualifiers": _qualifiers},
)


def _metric(faults: _Faults, path: str, value: Any) -> None:
    shape = _UNAVAILABLE if isinstance(value, dict) and "value" not in value and "reason" in value else _NUMERIC
    shape(faults, path, value)


def _component(faults: _Faults, path: str, value: Any) -> None:
    _COMPONENT(faults, path, value)


_COMPONENT = _object(
    {"type": _one_of("cpu", "npu", "gpu", "dsp", "specification", "soc"), "family": _text},
    {"model": _text, "variant": _text, "name": _text, "components": _list(_component)},
)
_BREAKDOWN = _object({"entity_id": _text, "metrics": _list(_metric)}, {"id": _text, "qualifiers": _qualifiers})
_CHECK = _object(
    {"id": _text, "status": _one_of("pass", "fail", "partial")}, {"entity_id": _text_or_null, "details": _open}
)
_KIND = _object(
    {"id": _filled}, {"parent_kinds": _list(_filled, unique=True), "child_kinds": _list(_filled, unique=True)}
)
_ENTITY = _object(
    {"id": _text, "kind": _filled, "name": _text},
    {
        "placement": _text_or_null,
        "parent_ids": _list(_text),
        "child_ids": _list(_text),
        "attributes": _open,
        "stack_trace": _text,
    },
)
_ADVICE = _object(
    {
        "id": _text,
        "category": _one_of("compatibility", "performance", "optimization"),
        "severity": _one_of("info", "warning", "error"),
        "message": _text,
    },
    {"affected_entity_ids": _list(_text), "details": _open},
)
_RESULT = _object(
    {
        "kind": _one_of("compatibility", "performance"),
        "status": _one_of("ok", "partial", "incompatible", "failed", "skipped"),
        "producer": _text,
    },
    {
        "mode": _one_of("measured", "simulated", "predicted"),
        "warnings": _list(_text),
        "errors": _list(_text),
        "metrics": _list(_metric),
        "breakdowns": _list(_BREAKDOWN),
        "checks": _list(_CHECK),
        "entities": _list(_ENTITY),
        "entity_kinds": _list(_KIND),
        "advice": _list(_ADVICE),
    },
)
_DOCUMENT = _object(
    {
        "schema_version": _one_of(SCHEMA_VERSION),
        "run_id": _matches(_UUID, "a UUID"),
        "timestamp": _matches(_TIME, "an ISO 8601 time"),
        "tool": _object({"name": _text, "version": _text}),
        "target": _object(
            {
                "profile_name": _text,
                "target_type": _text,
                "components": _list(_component, least=1),
                "configuration": _open,
            },
            {"description": _text, "host_platform": _text},
        ),
        "model": _object(
            {"name": _text, "format": _text, "hash": _matches(_SHA256, "a SHA-256 in hexadecimal digits")},
            {"size_bytes": _integer(0)},
        ),
        "context": _object(
            {},
            {
                "runtime_configuration": _open,
                "git": _object({}, {"mlia_commit": _text}),
                "notes": _text,
                "cli_arguments": _list(_text),
            },
        ),
        "backends": _list(
            _object({"id": _text, "name": _text, "version": _text, "configuration": _open}, {"impl": _open}), least=1
        ),
        "results": _list(_RESULT),
    },
    {"extensions": _open},
)


def faults_of(value: Any) -> tuple[Fault, ...]:
    """Everything wrong with a JSON value as a standardized output 1.2.0; empty when it is one."""
    faults = _Faults()
    _DOCUMENT(faults, "", value)
    if not faults:
        for index, result in enumerate(value["results"]):
            _relations(faults, f"results[{index}]", result)
    return tuple(faults)


def declared_edges(kinds: list[dict[str, Any]]) -> frozenset[tuple[str, str]]:
    """(parent kind, child kind) pairs that declarations state from either side."""
    down = {(kind["id"], child) for kind in kinds for child in kind.get("child_kinds", ())}
    up = {(parent, kind["id"]) for kind in kinds for parent in kind.get("parent_kinds", ())}
    return frozenset(down | up)


def _relations(faults: _Faults, path: str, result: dict[str, Any]) -> None:
    """Kinds, references and edges of one result whose objects have the right shape."""
    kinds: list[dict[str, Any]] = result.get("entity_kinds", [])
    known = set(WELL_KNOWN_KINDS)
    for index, kind in enumerate(kinds):
        where = f"{path}.entity_kinds[{index}]"
        if kind["id"] in WELL_KNOWN_KINDS:
            faults.add(where, f"{kind['id']!r} is a well-known kind and must not be declared.")
        elif kind["id"] in known:
            faults.add(where, f"The kind {kind['id']!r} is declared twice.")
        known.add(kind["id"])
    for index, kind in enumerate(kinds):
        for field in ("parent_kinds", "child_kinds"):
            for at, other in enumerate(kind.get(field, ())):
                if other not in known:
                    where = f"{path}.entity_kinds[{index}].{field}[{at}]"
                    faults.add(where, f"{other!r} is neither well-known nor declared in this result.")
    entities: list[dict[str, Any]] = result.get("entities", [])
    for index, entity in enumerate(entities):
        if entity["kind"] not in known:
            where = f"{path}.entities[{index}].kind"
            faults.add(where, f"{entity['kind']!r} is neither well-known nor declared in this result.")
    _edges(faults, path, entities, WELL_KNOWN_EDGES | declared_edges(kinds))
    _references(faults, path, result, {entity["id"] for entity in entities})


def _edges(faults: _Faults, path: str, entities: list[dict[str, Any]], allowed: frozenset[tuple[str, str]]) -> None:
    graph, found = build_graph([(e["id"], e.get("parent_ids", ()), e.get("child_ids", ())) for e in entities])
    for fault in found:
        where = f"{path}.entities[{fault.position}]"
        faults.add(_at(where, fault.path) if fault.path else where, fault.text)
    if graph is None:
        return
    for parent, below in enumerate(graph.children):
        for child in below:
            edge = (entities[parent]["kind"], entities[child]["kind"])
            if edge not in allowed:
                where = f"{path}.entities[{child}]"
                text = f"{graph.ids[parent]!r} ({edge[0]}) above {graph.ids[child]!r} ({edge[1]}): no kind declares it."
                faults.add(where, text)


def _references(faults: _Faults, path: str, result: dict[str, Any], ids: set[str]) -> None:
    named = [(f"breakdowns[{i}].entity_id", item["entity_id"]) for i, item in enumerate(result.get("breakdowns", ()))]
    named += [(f"checks[{i}].entity_id", item.get("entity_id")) for i, item in enumerate(result.get("checks", ()))]
    for index, item in enumerate(result.get("advice", ())):
        names = item.get("affected_entity_ids", ())
        named += [(f"advice[{index}].affected_entity_ids[{at}]", name) for at, name in enumerate(names)]
    for where, name in named:
        if name is not None and name not in ids:
            faults.add(f"{path}.{where}", f"No entity of this result has the id {name!r}.")
