"""Projection: figures of measured entities carried to the entities related to them.

Authoritative breakdowns are never touched. `project` answers what the reference would write, and beside it what the
reference leaves out: which origins a figure stands on, which leaves nobody measured, why a target or metric has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.interop.mlia.direct import BUDGET, CONFLICT, NOT_ADDITIVE, Answer, Direct, resolve_frontiers
from harness.interop.mlia.figures import Dropped, Figures, adds_exactly, canonical, combine, extract, metric_fields
from harness.interop.mlia.graph import EntityGraph, build_graph, declared_edges
from harness.interop.mlia.scene import Scene
from harness.interop.mlia.search import BudgetError, Search

SEARCH_STEPS = 1_500_000
LARGE_SCENE, LARGE_STEPS = 2_000, 150_000
"""Steps one connected part may take, and the smaller bound for parts with many entities."""
SHOWN_MISSING = 100


@dataclass(frozen=True)
class Projected:
    """One entity's projected figures: the origins they come from, and the leaves of the entity that none covers."""

    entity_id: str
    figures: Figures
    origins: tuple[str, ...]
    leaves: int
    covered: int
    missing: tuple[str, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def coverage(self) -> float:
        """Share of the entity's leaves that an origin covers, 0 to 1."""
        return self.covered / self.leaves

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form for the extension."""
        return {
            "entity_id": self.entity_id,
            "projected": True,
            "origins": list(self.origins),
            "coverage": self.coverage,
            "missing_count": self.leaves - self.covered,
            "missing": list(self.missing),
            "unavailable": [{"name": d.name, "unit": d.unit, "reason": d.reason} for d in self.dropped],
        }


@dataclass(frozen=True)
class Projection:
    """What projection adds to one result, and which targets get nothing for which reason."""

    authoritative: tuple[Mapping[str, Any], ...]
    projected: tuple[Projected, ...]
    withheld: Mapping[str, str]
    withheld_metrics: Mapping[str, tuple[Dropped, ...]]
    deduplicated: bool

    @property
    def changed(self) -> bool:
        """Whether the result's breakdowns differ from the input's."""
        return bool(self.projected) or self.deduplicated

    def breakdowns(self) -> list[dict[str, Any]]:
        """All breakdowns: authoritative ones in input order, then projected ones by entity id."""
        out = [dict(item) for item in self.authoritative]
        for item in self.projected:
            out += item.figures.breakdowns(item.entity_id)
        return out

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form for the extension."""
        return {
            "projected": [item.to_dict() for item in self.projected],
            "unavailable": [
                {
                    "entity_id": key,
                    "reason": reason,
                    "metrics": [
                        {"name": d.name, "unit": d.unit, "reason": d.reason} for d in self.withheld_metrics.get(key, ())
                    ],
                }
                for key, reason in sorted(self.withheld.items())
            ],
        }


def _deduplicated(breakdowns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    seen: set[str] = set()
    out: list[Mapping[str, Any]] = []
    count = Counter(item["entity_id"] for item in breakdowns)
    for item in breakdowns:
        if count[item["entity_id"]] == 1:
            out.append(item)
            continue
        metrics = sorted(canonical(metric_fields(metric)) for metric in item["metrics"])
        mark = canonical([item["entity_id"], item.get("id"), item.get("qualifiers") or {}, metrics])
        if mark not in seen:
            seen.add(mark)
            out.append(item)
    return out


def project(result: Mapping[str, Any], *, budget: int | None = None) -> Projection:
    """Project one valid result. `budget` bounds the search of each connected part, in steps."""
    breakdowns = result.get("breakdowns", ())
    kept = _deduplicated(breakdowns)
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for item in kept:
        grouped.setdefault(item["entity_id"], []).append(item)
    figures = {key: found for key in sorted(grouped) if (found := extract(grouped[key])) is not None}
    graph, errors = build_graph(result.get("entities", ()))
    if graph is None:
        raise ValueError("; ".join(errors))
    kinds = {entity["id"]: entity["kind"] for entity in result.get("entities", ())}
    edges = declared_edges(result)
    projected: list[Projected] = []
    withheld: dict[str, str] = {}
    metrics: dict[str, tuple[Dropped, ...]] = {}
    for ids in graph.components() if grouped else ():
        present = frozenset(key for key in ids if key in grouped)
        if not present:
            continue
        scene = Scene(graph, ids, kinds, present, {k: figures[k] for k in sorted(present) if k in figures}, edges)
        _project_scene(scene, budget, projected, withheld, metrics)
    projected.sort(key=lambda item: item.entity_id)
    return Projection(tuple(kept), tuple(projected), withheld, metrics, len(kept) != len(breakdowns))


def _project_scene(
    scene: Scene,
    budget: int | None,
    projected: list[Projected],
    withheld: dict[str, str],
    metrics: dict[str, tuple[Dropped, ...]],
) -> None:
    resolve_frontiers(scene)
    direct = Direct(scene)
    hard: dict[str, tuple[str, ...]] = {}
    exact = adds_exactly(list(scene.figures.values()))
    for target in scene.ids:
        if target in scene.authoritative:
            continue
        frontier = scene.frontiers.get(target)
        if frontier is not None:
            answer = Answer(frontier.parents if frontier.figures is not None else (), frontier.reason)
            if frontier.reason == NOT_ADDITIVE:
                metrics[target] = tuple(combine([scene.figures[key] for key in frontier.parents])[1])
        else:
            answer = direct.answer(target)
        if answer.hard:
            hard[target] = ()
        elif not (frontier or exact or len(answer.origins) < 2) and not _exact(scene, answer.origins):
            # The reference's sum depends on the order it adds in, and it may see a conflict between orders.
            hard[target] = answer.origins
        elif answer.origins:
            _emit(scene, target, answer.origins, projected, withheld, metrics)
        else:
            withheld[target] = answer.reason
    if hard:
        _search(scene, hard, budget, projected, withheld, metrics)


def _exact(scene: Scene, origins: Sequence[str]) -> bool:
    parts = [scene.figures[key] for key in origins]
    return adds_exactly(parts) or combine(parts)[0] is None


def _emit(
    scene: Scene,
    target: str,
    origins: Sequence[str],
    projected: list[Projected],
    withheld: dict[str, str],
    metrics: dict[str, tuple[Dropped, ...]],
) -> None:
    total, dropped = combine([scene.figures[key] for key in origins])
    if total is None:
        withheld[target] = NOT_ADDITIVE
        metrics[target] = tuple(dropped)
        return
    projected.append(_projected(scene, target, total, origins, tuple(dropped)))


def _projected(
    scene: Scene, target: str, figures: Figures, origins: Sequence[str], dropped: tuple[Dropped, ...]
) -> Projected:
    own = scene.leaves[target]
    span = 0
    for origin in origins:
        span |= scene.leaves[origin]
    missing = own & ~span
    shown = scene.names(missing)[:SHOWN_MISSING] if missing else []
    return Projected(
        target, figures, tuple(sorted(origins)), own.bit_count(), (own & span).bit_count(), tuple(shown), dropped
    )


def _search(
    scene: Scene,
    hard: Mapping[str, tuple[str, ...]],
    budget: int | None,
    projected: list[Projected],
    withheld: dict[str, str],
    metrics: dict[str, tuple[Dropped, ...]],
) -> None:
    """Search for each target of `hard`; its value are origins whose sum stands when the search would take too long."""
    steps = budget if budget is not None else LARGE_STEPS if len(scene.ids) > LARGE_SCENE else SEARCH_STEPS
    try:
        found = Search(scene, steps).run()
    except BudgetError:
        for target, origins in hard.items():
            if origins:
                _emit(scene, target, origins, projected, withheld, metrics)
            else:
                withheld[target] = BUDGET
        return
    for target in hard:
        answer = found[target]
        if answer.record is None:
            withheld[target] = answer.reason or CONFLICT
            continue
        names = sorted(answer.record.origins)
        dropped = tuple(combine([scene.figures[key] for key in names])[1])
        projected.append(_projected(scene, target, answer.record.figures, names, dropped))


__all__ = ["EntityGraph", "Projected", "Projection", "project"]
