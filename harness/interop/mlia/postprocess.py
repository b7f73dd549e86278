"""Post-processing of a document: collapse, source lines, projection, in the order of the reference."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from harness.interop.errors import ForeignFormatError
from harness.interop.mlia.graph import EntityGraph, build_graph, declared_edges, edge_errors
from harness.interop.mlia.project import Projection, project
from harness.interop.mlia.tidy import plain_result
from harness.interop.mlia.validate import check

EXTENSION = "harness"


@dataclass(frozen=True)
class CollapseRule:
    """Entities of `kind` whose text attribute matches one of `globs` (case-sensitive) are removed."""

    kind: str
    attribute: str
    globs: tuple[str, ...]

    def matches(self, entity: Mapping[str, Any]) -> bool:
        """Whether the entity is to be removed."""
        value = entity.get("attributes", {}).get(self.attribute)
        return (
            entity["kind"] == self.kind
            and isinstance(value, str)
            and any(fnmatchcase(value, pattern) for pattern in self.globs)
        )


@dataclass(frozen=True)
class Processed:
    """A processed document, what was projected in each of its results, and warnings."""

    document: dict[str, Any]
    projections: tuple[Projection | None, ...]
    warnings: tuple[str, ...]

    def extended(self) -> dict[str, Any]:
        """The document with the coverage, marks and reasons of every projected figure under `extensions.harness`."""
        out = dict(self.document)
        own = {
            **(out.get("extensions") or {}).get(EXTENSION, {}),
            "projections": [None if item is None else item.to_dict() for item in self.projections],
        }
        out["extensions"] = {**(out.get("extensions") or {}), EXTENSION: own}
        return out


def postprocess(document: Any, rules: Sequence[CollapseRule] = (), *, file: str = "") -> Processed:
    """Process a document exactly as the reference does; `Processed.extended` adds what it leaves out.

    Raises:
        SchemaError: the document is not valid.
        ForeignFormatError: a result defines source lines of its own, or two derived ids collide.
    """
    check(document, file=file)
    results: list[Any] = []
    projections: list[Projection | None] = []
    warnings: list[str] = []
    for index, result in enumerate(document["results"]):
        if not result.get("entities"):
            results.append(result)
            projections.append(None)
            continue
        collapsed, notes = collapse(result, rules)
        warnings += notes
        lined = with_code_lines(collapsed, index, file)
        projection = project(lined)
        changed = lined is not result or projection.changed
        if projection.changed:
            lined = {**lined, "breakdowns": projection.breakdowns()}
        results.append(plain_result(lined) if changed else result)
        projections.append(projection)
    return Processed({**document, "results": results}, tuple(projections), tuple(warnings))


def compat(document: Any, rules: Sequence[CollapseRule] = ()) -> dict[str, Any]:
    """What the reference's post-processing would write, and nothing else."""
    return postprocess(document, rules).document


def _neighbours(start: str, near: Mapping[str, tuple[str, ...]], removed: set[str]) -> list[str]:
    found: dict[str, None] = {}
    seen: set[str] = set()
    queue = deque(near[start])
    while queue:
        key = queue.popleft()
        if key in seen:
            continue
        seen.add(key)
        if key in removed:
            queue.extend(near[key])
        elif key != start:
            found[key] = None
    return list(found)


def _contract(entities: Sequence[Mapping[str, Any]], graph: EntityGraph, removed: set[str]) -> list[dict[str, Any]]:
    return [
        {
            **entity,
            "parent_ids": _neighbours(entity["id"], graph.parents, removed),
            "child_ids": _neighbours(entity["id"], graph.children, removed),
        }
        for entity in entities
        if entity["id"] not in removed
    ]


def collapse(result: Mapping[str, Any], rules: Sequence[CollapseRule]) -> tuple[Mapping[str, Any], list[str]]:
    """Remove entities that a rule matches and join what was on both sides.

    A removal that would relate two kinds which the result does not relate is refused, with a warning. Returns the very
    same result when nothing was removed.
    """
    entities = result["entities"]
    wanted = sorted(entity["id"] for entity in entities if any(rule.matches(entity) for rule in rules))
    if not wanted:
        return result, []
    graph, _ = build_graph(entities)
    assert graph is not None
    kinds = {entity["id"]: entity["kind"] for entity in entities}
    edges = declared_edges(result)
    removed: set[str] = set()
    notes: list[str] = []
    for key in wanted:
        trial, _ = build_graph(_contract(entities, graph, removed | {key}))
        if trial is None or edge_errors(trial, kinds, edges):
            notes.append(f"entity {key!r} stays: removing it would relate kinds that are not declared as related")
        else:
            removed.add(key)
    if not removed:
        return result, notes
    lost = sorted({item["entity_id"] for item in result.get("breakdowns", ()) if item["entity_id"] in removed})
    notes += [f"the breakdowns of the collapsed entity {key!r} are discarded" for key in lost]
    out = {**result, "entities": _contract(entities, graph, removed)}
    for field in ("breakdowns", "checks"):
        if field in result:
            out[field] = [item for item in result[field] if item.get("entity_id") not in removed]
    if "advice" in result:
        out["advice"] = _kept_advice(result["advice"], removed)
    return out, notes


def _kept_advice(advice: Sequence[Mapping[str, Any]], removed: set[str]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for item in advice:
        named = item.get("affected_entity_ids", [])
        left = [key for key in named if key not in removed]
        if left or not named:
            out.append({**item, "affected_entity_ids": left})
    return out


def _location(entity: Mapping[str, Any]) -> tuple[str, int] | None:
    attributes = entity.get("attributes", {})
    file, line = attributes.get("file"), attributes.get("line")
    if entity["kind"] != "code_stack" or not isinstance(file, str) or not file or type(line) is not int or line <= 0:
        return None
    return file, line


def line_id(file: str, line: int) -> tuple[str, str]:
    """Id and name of the entity that stands for one source line."""
    base = min(PureWindowsPath(file).name, PurePosixPath(file).name, key=len)
    name = f"{base}:{line}"
    digest = hashlib.sha256(json.dumps([file, line], ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
    safe = re.sub(r"[^A-Za-z0-9_.:-]+", "_", name).strip("_") or "line"
    return f"code_line/{safe}-{digest[:12]}", name


def with_code_lines(result: Mapping[str, Any], index: int = 0, file: str = "") -> Mapping[str, Any]:
    """Add one parent per source line that a code stack names; the very same result when none does."""
    entities = result["entities"]
    own = sorted(entity["id"] for entity in entities if entity["kind"] == "code_line")
    if own:
        raise ForeignFormatError(
            "A result defines source lines, which are derived and never supplied.",
            file=file,
            field=f"results[{index}].entities",
            why=", ".join(own),
        )
    places: dict[tuple[str, int], list[str]] = {}
    for entity in entities:
        place = _location(entity)
        if place is not None:
            places.setdefault(place, []).append(entity["id"])
    if not places:
        return result
    graph, _ = build_graph(entities)
    assert graph is not None
    taken = {entity["id"] for entity in entities}
    line_of: dict[str, str] = {}
    lines: list[dict[str, Any]] = []
    for (source, line), stacks in sorted(places.items()):
        key, name = line_id(source, line)
        if key in taken:
            raise ForeignFormatError(f"Two entities would have the id {key!r}.", file=file, field=f"results[{index}]")
        taken.add(key)
        line_of.update(dict.fromkeys(stacks, key))
        lines.append(
            {
                "id": key,
                "kind": "code_line",
                "name": name,
                "child_ids": sorted(stacks),
                "attributes": {"file": source, "line": line},
            }
        )
    changed = [
        {**entity, "parent_ids": [*graph.parents[entity["id"]], line_of[entity["id"]]]}
        if entity["id"] in line_of
        else entity
        for entity in entities
    ]
    return {**result, "entities": [*changed, *lines]}
