"""Reading and validating standardized output documents, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core import strict_json
from harness.interop.errors import SchemaError
from harness.interop.mlia.graph import WELL_KNOWN_KINDS, build_graph, declared_edges, edge_errors
from harness.interop.mlia.schema import check_document


def _kinds(result: Mapping[str, Any], where: str) -> tuple[list[str], frozenset[str]]:
    errors: list[str] = []
    declared: set[str] = set()
    for kind in result.get("entity_kinds", ()):
        if kind["id"] in WELL_KNOWN_KINDS:
            errors.append(f"well-known entity kind {kind['id']!r} must not be declared{where}")
        if kind["id"] in declared:
            errors.append(f"entity kind {kind['id']!r} is declared twice{where}")
        declared.add(kind["id"])
    known = frozenset(declared) | WELL_KNOWN_KINDS
    for kind in result.get("entity_kinds", ()):
        for near in (*kind.get("parent_kinds", ()), *kind.get("child_kinds", ())):
            if near not in known:
                errors.append(f"entity kind {kind['id']!r} names kind {near!r}, which is not declared{where}")
    return errors, known


def _relations(result: Mapping[str, Any], where: str) -> list[str]:
    errors, known = _kinds(result, where)
    entities = result.get("entities", ())
    errors += [
        f"entity {entity['id']!r} is of kind {entity['kind']!r}, which is not declared{where}"
        for entity in entities
        if entity["kind"] not in known
    ]
    graph, wrong = build_graph(entities, where)
    errors += wrong
    ids = {entity["id"] for entity in entities}
    if graph is not None:
        errors += edge_errors(
            graph, {entity["id"]: entity["kind"] for entity in entities}, declared_edges(result), where
        )
    references = [(f"breakdowns[{i}]", b["entity_id"]) for i, b in enumerate(result.get("breakdowns", ()))]
    references += [(f"checks[{i}]", c.get("entity_id")) for i, c in enumerate(result.get("checks", ()))]
    for index, advice in enumerate(result.get("advice", ())):
        references += [(f"advice[{index}]", entity) for entity in advice.get("affected_entity_ids", ())]
    errors += [
        f"{field} names entity {entity!r}, which does not exist{where}"
        for field, entity in references
        if entity is not None and entity not in ids
    ]
    return errors


def validation_errors(document: Any) -> list[str]:
    """Every way the document breaks the schema or its entity rules; empty when it is valid."""
    errors = check_document(document)
    if errors:
        return errors
    for index, result in enumerate(document["results"]):
        errors += _relations(result, f" in result {index}")
    return errors


def check(document: Any, *, file: str = "") -> dict[str, Any]:
    """The document itself when it is valid.

    Raises:
        SchemaError: it is not; the context lists every violation.
    """
    errors = validation_errors(document)
    if errors:
        raise SchemaError(errors, file=file)
    assert isinstance(document, dict)
    return document


def read_document(path: Path) -> dict[str, Any]:
    """Read one standardized output file.

    Raises:
        SchemaError: a violation of the schema.
        StrictJsonError: not strict JSON.
    """
    return check(strict_json.load(path), file=str(path))
