"""The entity graph of one result: edges from either side merged, no cycles, sets of leaves as bit masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EntityGraph:
    """Entities as positions 0..n-1 in the given order; `order` lists parents before their children."""

    ids: tuple[str, ...]
    children: tuple[tuple[int, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class GraphFault:
    """What makes entities no graph: `duplicate`, `unresolved` or `cycle`, the entity it was met at, and the text."""

    kind: str
    position: int
    text: str
    path: str = ""


def build_graph(
    entities: Sequence[tuple[str, Iterable[str], Iterable[str]]],
) -> tuple[EntityGraph | None, tuple[GraphFault, ...]]:
    """Merge the declarations (id, parent ids, child ids) into a graph, or say what is wrong with them."""
    index: dict[str, int] = {}
    faults: list[GraphFault] = []
    for position, (name, _, _) in enumerate(entities):
        if name in index:
            faults.append(GraphFault("duplicate", position, f"The entity id {name!r} is used twice.", "id"))
        else:
            index[name] = position
    children: list[set[int]] = [set() for _ in entities]
    parents: list[set[int]] = [set() for _ in entities]
    for position, (_, above, below) in enumerate(entities):
        for field, names in (("parent_ids", above), ("child_ids", below)):
            for at, other in enumerate(names):
                target = index.get(other)
                if target is None:
                    text = f"No entity of this result has the id {other!r}."
                    faults.append(GraphFault("unresolved", position, text, f"{field}[{at}]"))
                    continue
                parent, child = (target, position) if field == "parent_ids" else (position, target)
                children[parent].add(child)
                parents[child].add(parent)
    if faults:
        return None, tuple(faults)
    order = _topological(children, parents)
    if len(order) < len(entities):
        left = sorted(set(range(len(entities))) - set(order))
        return None, (GraphFault("cycle", left[0], f"{entities[left[0]][0]!r} is on or below a cycle of entities."),)
    return (
        EntityGraph(
            tuple(name for name, _, _ in entities),
            tuple(tuple(sorted(item)) for item in children),
            tuple(tuple(sorted(item)) for item in parents),
            tuple(order),
        ),
        (),
    )


def _topological(children: Sequence[set[int]], parents: Sequence[set[int]]) -> list[int]:
    waiting = [len(item) for item in parents]
    order = [position for position, count in enumerate(waiting) if not count]
    for position in order:
        for child in children[position]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    return order


def roots_of(graph: EntityGraph) -> tuple[int, ...]:
    """Entities without parents."""
    return tuple(position for position in graph.order if not graph.parents[position])


def components(graph: EntityGraph) -> list[list[int]]:
    """Positions by connected component, each list ascending."""
    seen = [False] * len(graph.ids)
    out: list[list[int]] = []
    for start in range(len(graph.ids)):
        if seen[start]:
            continue
        seen[start] = True
        members = [start]
        for position in members:
            for other in (*graph.children[position], *graph.parents[position]):
                if not seen[other]:
                    seen[other] = True
                    members.append(other)
        out.append(sorted(members))
    return out
