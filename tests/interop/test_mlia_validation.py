"""Valid documents pass, each way of breaking one is found; the reference agrees."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.interop.errors import SchemaError
from harness.interop.mlia.validate import check, read_document, validation_errors
from tests.interop.graphs import document, metric, result
from tests.interop.peer import Peer
from tests.interop.shared import cases

OP = {"id": "source_operator/operator/0", "kind": "source_operator", "name": "CONV_2D"}


def good() -> dict[str, Any]:
    return document(
        result(
            [
                {"id": "chain/0", "kind": "chain", "name": "c", "child_ids": [OP["id"]], "placement": "NX/EE"},
                dict(OP),
            ],
            [{"id": "chain", "child_kinds": ["source_operator"]}],
            [{"entity_id": "chain/0", "metrics": [metric("op_cycles", 3), metric("x", None)]}],
            metrics=[metric("total_cycles", 3, aggregation="p90", samples=4)],
            checks=[{"id": "c", "status": "pass", "entity_id": None, "details": {"reasons": []}}],
            advice=[
                {
                    "id": "a",
                    "category": "optimization",
                    "severity": "info",
                    "message": "m",
                    "affected_entity_ids": ["chain/0"],
                }
            ],
        ),
        extensions={"anything": {"goes": [1]}},
    )


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *steps, last, value = path

    def change(doc: dict[str, Any]) -> None:
        at: Any = doc
        for step in steps:
            at = at[step]
        at[last] = value

    return change


R = ("results", 0)
M = (*R, "metrics", 0)
BREAKS = {
    "version": _set("schema_version", "1.1.0"),
    "run id": _set("run_id", "x"),
    "time": _set("timestamp", "yesterday"),
    "extra key": _set("extra", 1),
    "no backend": _set("backends", []),
    "hash": _set("model", "hash", "ab"),
    "size": _set("model", "size_bytes", -1),
    "component": _set("target", "components", 0, "type", "fpga"),
    "kind": _set(*R, "kind", "power"),
    "status": _set(*R, "status", "fine"),
    "mode": _set(*R, "mode", "estimated"),
    "boolean value": _set(*M, "value", True),
    "text value": _set(*M, "value", "3"),
    "both shapes": _set(*M, "availability", "unavailable"),
    "empty reason": _set(*R, "breakdowns", 0, "metrics", 1, "reason", ""),
    "samples": _set(*M, "samples", 1.5),
    "phase": _set(*M, "qualifiers", {"phase": "during"}),
    "null qualifier": _set(*M, "qualifiers", {"a": None}),
    "dangling breakdown": _set(*R, "breakdowns", 0, "entity_id", "nobody"),
    "dangling check": _set(*R, "checks", 0, "entity_id", "nobody"),
    "dangling advice": _set(*R, "advice", 0, "affected_entity_ids", ["nobody"]),
    "dangling child": _set(*R, "entities", 0, "child_ids", ["nobody"]),
    "duplicate entity": _set(*R, "entities", 1, "id", "chain/0"),
    "cycle": _set(*R, "entities", 0, "child_ids", ["chain/0"]),
    "undeclared kind": _set(*R, "entities", 0, "kind", "cascade"),
    "undeclared edge": _set(*R, "entity_kinds", [{"id": "chain"}]),
    "well-known kind": _set(*R, "entity_kinds", [{"id": "model"}]),
    "blank kind": _set(*R, "entity_kinds", [{"id": " "}]),
    "check status": _set(*R, "checks", 0, "status", "ok"),
    "severity": _set(*R, "advice", 0, "severity", "bad"),
}


def test_a_good_document_passes_here_and_there() -> None:
    assert validation_errors(good()) == []
    with Peer() as peer:
        assert peer.ask(good())["errors"] == []


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_is_found(name: str) -> None:
    doc = good()
    BREAKS[name](doc)
    assert validation_errors(doc), name
    with pytest.raises(SchemaError) as caught:
        check(doc, file="f.json")
    assert caught.value.context["errors"]


def test_the_reference_refuses_the_same() -> None:
    with Peer() as peer:
        for name, change in BREAKS.items():
            doc = copy.deepcopy(good())
            change(doc)
            answer = peer.ask(doc)
            assert answer["errors"] or "error" in answer, name


def test_not_json_and_not_there(tmp_path: Path) -> None:
    from harness.core.strict_json import StrictJsonError

    (tmp_path / "a.json").write_text('{"a": 1, "a": 2}')
    (tmp_path / "b.json").write_text("[1]")
    with pytest.raises(StrictJsonError):
        read_document(tmp_path / "a.json")
    with pytest.raises(StrictJsonError):
        read_document(tmp_path / "missing.json")
    with pytest.raises(SchemaError):
        read_document(tmp_path / "b.json")


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"results": [{"entities": [3]}]}])
def test_anything_else_gives_errors_not_exceptions(value: Any) -> None:
    assert validation_errors(value)


@pytest.mark.parametrize("path", cases("mlia", "v*.json"), ids=lambda path: path.stem)
def test_kept_cases(path: Path) -> None:
    answers = json.loads((path.parent / "ANSWERS.json").read_text())
    assert (validation_errors(json.loads(path.read_text())) == []) == answers[path.stem]["valid_full"]
