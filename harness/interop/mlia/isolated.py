"""Targets whose origins share no leaf with any other origin: resolved directly, in time linear in the graph.

Where every leaf of a target is measured by at most one origin and these origins reach nowhere else, each way to cover
the target uses the same origins, so there is one answer however the sums are grouped. Other targets need a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from harness.interop.mlia.figures import Figures, add, adds_exactly
from harness.interop.mlia.scope import Record, Scope, bits


class Outcome(Enum):
    """How a target was resolved. The value is the reason shown where there is no figure."""

    DIRECT = "the direct parents along declared kind relations"
    COPY = "a copy of the one record that covers it"
    SUM = "the sum of the records that cover it"
    UNMEASURED = "nothing that it covers was measured"
    BLOCKED = "the figures of a direct parent also cover other entities of the same level, and are not split"
    CONTESTED = "what measured a part of it also covers entities that others reach, and is not split"
    INVALID = "the figures of what measured it contradict each other"
    INCOMPATIBLE = "no metric of its parts can be added"
    CONFLICT = "equally good ways to cover it give different figures"
    NO_COVER = "no records cover all of it that was measured"
    BUDGET = "projection.search_budget: covering it takes a longer search than is allowed"


@dataclass(frozen=True)
class Resolution:
    """What projection found for one entity without figures of its own."""

    outcome: Outcome
    record: Record | None = None


@dataclass
class Demands:
    """By member: what blocked frontiers within a target demand of it."""

    reach: list[int]
    """Leaves of all blocked entities that share a leaf with the member."""
    origins: list[int]
    """Origins that must be accounted for by whoever contains the blocked entities."""
    plural: frozenset[int]
    """Leaf masks of blocked entities with several direct parents."""

    def met_by(self, scope: Scope, target: int) -> bool:
        """Whether a target contains every blocked entity it touches."""
        leaves = scope.leaves[target]
        return not self.reach[target] & ~leaves and leaves not in self.plural


def demands_of(scope: Scope) -> Demands:
    """Collect the demands of blocked frontiers bottom-up."""
    reach = [0] * len(scope.ids)
    origins = [0] * len(scope.ids)
    leaf_reach = [0] * len(scope.leaf_ids)
    leaf_origins = [0] * len(scope.leaf_ids)
    blocked = [(index, item) for index, item in scope.frontiers.items() if item.record is None]
    for index, item in blocked:
        for leaf in bits(scope.leaves[index]):
            leaf_reach[leaf] |= scope.leaves[index]
            leaf_origins[leaf] |= item.required
    for index in reversed(scope.order):
        if not scope.children[index]:
            leaf = scope.leaves[index].bit_length() - 1
            reach[index], origins[index] = leaf_reach[leaf], leaf_origins[leaf]
        for child in scope.children[index]:
            reach[index] |= reach[child]
            origins[index] |= origins[child]
    plural = frozenset(scope.leaves[index] for index, item in blocked if item.required.bit_count() > 1)
    return Demands(reach, origins, plural)


@dataclass
class Coverage:
    """By member: unshadowed origins that share a leaf with it, and the leaves of those that are isolated."""

    origins: list[int]
    isolated_leaves: list[int]
    isolated: int
    invalid: int


def coverage_of(scope: Scope) -> Coverage:
    """Which unshadowed origins measure which member."""
    above = [0] * len(scope.ids)
    at_leaf = [0] * len(scope.leaf_ids)
    for index in scope.order:
        bit = scope.origin_of.get(index)
        if bit is not None and not scope.shadowed >> bit & 1:
            above[index] |= 1 << bit
        for parent in scope.parents[index]:
            above[index] |= above[parent]
        if not scope.children[index]:
            at_leaf[scope.leaves[index].bit_length() - 1] = above[index]
    shared = sum(1 << leaf for leaf, mask in enumerate(at_leaf) if mask & (mask - 1)) if at_leaf else 0
    isolated = 0
    for bit, leaves in enumerate(scope.origin_leaves):
        if not scope.shadowed >> bit & 1 and not leaves & shared:
            isolated |= 1 << bit
    origins = [0] * len(scope.ids)
    spans = [0] * len(scope.ids)
    for index in reversed(scope.order):
        if not scope.children[index]:
            origins[index] = at_leaf[scope.leaves[index].bit_length() - 1]
            alone = origins[index] & isolated
            spans[index] = scope.origin_leaves[alone.bit_length() - 1] if alone else 0
        for child in scope.children[index]:
            origins[index] |= origins[child]
            spans[index] |= spans[child]
    invalid = sum(1 << bit for bit, figures in enumerate(scope.figures) if figures is None)
    return Coverage(origins, spans, isolated, invalid)


class Sums:
    """Sums over sets of isolated origins, each made once; a set that the children of an entity split is added by
    its parts."""

    def __init__(self, scope: Scope, coverage: Coverage) -> None:
        self._scope = scope
        self._coverage = coverage
        self._made: dict[int, Figures | None] = {}
        usable = [figures for figures in scope.figures if figures is not None]
        self.exact = adds_exactly(usable)

    def of(self, target: int) -> Figures | None:
        """The sum over everything that measures a target; None when nothing of it can be added."""
        pending = [target]
        while pending:
            index = pending[-1]
            mask = self._coverage.origins[index]
            if mask in self._made:
                pending.pop()
                continue
            parts = self._parts(index, mask)
            missing = [child for child, part in parts if part not in self._made]
            if missing:
                pending.extend(missing)
                continue
            self._made[mask] = self._total([self._made[part] for _, part in parts] if parts else self._single(mask))
            pending.pop()
        return self._made[self._coverage.origins[target]]

    def _parts(self, index: int, mask: int) -> list[tuple[int, int]]:
        """Descendants among which the origins are divided; empty when adding them one by one is as good."""
        if mask.bit_count() <= 8:
            return []
        while True:
            below = [(child, self._coverage.origins[child]) for child in self._scope.children[index]]
            below = [(child, part) for child, part in below if part]
            whole = next((child for child, part in below if part == mask), None)
            if whole is None:
                divided = len(below) > 1 and sum(part.bit_count() for _, part in below) == mask.bit_count()
                return below if divided else []
            index = whole

    def _single(self, mask: int) -> list[Figures | None]:
        return [self._scope.figures[bit] for bit in bits(mask)]

    @staticmethod
    def _total(parts: Sequence[Figures | None]) -> Figures | None:
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return known[0] if len(known) == 1 else add(known)


def resolve_isolated(scope: Scope, coverage: Coverage, demands: Demands, sums: Sums, target: int) -> Resolution | None:
    """The answer for a target, or None when it takes a search."""
    leaves = scope.leaves[target]
    if not leaves & scope.measured_leaves:
        return Resolution(Outcome.UNMEASURED)
    if not demands.met_by(scope, target):
        return Resolution(Outcome.BLOCKED)
    origins = coverage.origins[target]
    spans = coverage.isolated_leaves[target]
    if not scope.uncontested(target, spans):
        return Resolution(Outcome.CONTESTED)
    if origins & coverage.isolated & coverage.invalid:
        return Resolution(Outcome.INVALID)
    if origins & ~coverage.isolated:
        return None
    if origins & (origins - 1) == 0:
        figures = scope.figures[origins.bit_length() - 1]
        assert figures is not None
        return Resolution(Outcome.COPY, Record(figures, origins))
    if spans & ~leaves or not sums.exact:
        return None
    total = sums.of(target)
    return Resolution(Outcome.SUM, Record(total, origins)) if total is not None else Resolution(Outcome.INCOMPATIBLE)
