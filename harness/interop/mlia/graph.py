"""The entity graph of one result: both directions of a relation merged, checked, and indexed for projection.

Leaves are terminal descendants; sets of leaves are integers used as bit sets, which keeps graphs of tens of thousands
of entities cheap.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WELL_KNOWN_KINDS = frozenset({"source_operator", "model", "code_stack", "code_line"})
BUILT_IN_EDGES = frozenset(
    {("code_line", "code_stack"), ("code_stack", "code_stack"), ("code_stack", "source_operator")}
)
KindEdges = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class EntityGraph:
    """A directed acyclic graph of entities, keyed by id."""

    parents: Mapping[str, tuple[str, ...]]
    children: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    """Every id, parents before children; among equals by id."""

    def leaves(self) -> tuple[dict[str, int], tuple[str, ...]]:
        """Leaf sets as bit sets by entity, and the leaf of each bit position (sorted by id)."""
        names = tuple(sorted(key for key in self.order if not self.children[key]))
        bit = {name: 1 << index for index, name in enumerate(names)}
        out: dict[str, int] = {}
        for key in reversed(self.order):
            mask = bit.get(key, 0)
            for child in self.children[key]:
                mask |= out[child]
            out[key] = mask
        return out, names

    def components(self) -> list[list[str]]:
        """Weakly connected components, each in graph order."""
        home: dict[str, int] = {}
        count = 0
        for start in self.order:
            if start in home:
                continue
            stack = [start]
            home[start] = count
            while stack:
                key = stack.pop()
                for near in (*self.parents[key], *self.children[key]):
                    if near not in home:
                        home[near] = count
                        stack.append(near)
            count += 1
        out: list[list[str]] = [[] for _ in range(count)]
        for key in self.order:
            out[home[key]].append(key)
        return out


def declared_edges(result: Mapping[str, Any]) -> KindEdges:
    """Kind edges that the result itself declares, from either side."""
    edges: set[tuple[str, str]] = set()
    for kind in result.get("entity_kinds", ()):
        edges |= {(kind["id"], child) for child in kind.get("child_kinds", ())}
        edges |= {(parent, kind["id"]) for parent in kind.get("parent_kinds", ())}
    return frozenset(edges)


def build_graph(entities: Sequence[Mapping[str, Any]], where: str = "") -> tuple[EntityGraph | None, list[str]]:
    """Merge relations declared from either side.

    Returns:
        The graph, or None and every reason: repeated ids, references to nothing, a cycle.
    """
    errors: list[str] = []
    parents: dict[str, set[str]] = {}
    for entity in entities:
        if entity["id"] in parents:
            errors.append(f"entity id {entity['id']!r} is not unique{where}")
        parents[entity["id"]] = set()
    children: dict[str, set[str]] = {key: set() for key in parents}
    for entity in entities:
        own = entity["id"]
        for field, near in (("parent_ids", entity.get("parent_ids", ())), ("child_ids", entity.get("child_ids", ()))):
            for other in near:
                if other not in parents:
                    errors.append(f"{field} of entity {own!r} names {other!r}, which does not exist{where}")
                    continue
                upper, lower = (other, own) if field == "parent_ids" else (own, other)
                children[upper].add(lower)
                parents[lower].add(upper)
    if errors:
        return None, errors
    order = _topological(parents, children)
    if len(order) != len(parents):
        ring = sorted(set(parents) - set(order))
        return None, [f"entities {', '.join(map(repr, ring[:4]))} form or follow a cycle{where}"]
    return (
        EntityGraph(
            {key: tuple(sorted(value)) for key, value in parents.items()},
            {key: tuple(sorted(value)) for key, value in children.items()},
            tuple(order),
        ),
        [],
    )


def _topological(parents: Mapping[str, set[str]], children: Mapping[str, set[str]]) -> list[str]:
    waiting = {key: len(value) for key, value in parents.items()}
    ready = [key for key, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        key = heapq.heappop(ready)
        order.append(key)
        for child in children[key]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, child)
    return order


def edge_errors(graph: EntityGraph, kinds: Mapping[str, str], allowed: KindEdges, where: str = "") -> list[str]:
    """Relations whose pair of kinds is neither declared nor built in."""
    allowed = allowed | BUILT_IN_EDGES
    return [
        f"relation {parent!r} ({kinds[parent]}) -> {child!r} ({kinds[child]}) has no declared pair of kinds{where}"
        for parent in graph.order
        for child in graph.children[parent]
        if (kinds[parent], kinds[child]) not in allowed
    ]
