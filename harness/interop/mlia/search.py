"""The general case: which sets of records explain a target when origins overlap.

Every target may offer what it found (a recipe) to others, until nothing new appears; then each target takes its best
class: one record that covers all without extras, several without extras, one with uncontested extras, several with the
fewest extras. Two different figures in the best class are a conflict. The number of steps is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.interop.mlia.direct import BUDGET, CONFLICT, NO_COVER, NOTHING
from harness.interop.mlia.figures import Figures, combine
from harness.interop.mlia.scene import Scene, bits

COPY, SUM, COPY_EXTRAS, SUM_EXTRAS = range(4)


class BudgetError(Exception):
    """The search needs more steps than it may take."""


@dataclass(frozen=True)
class Record:
    """Figures, the origins they come from, and whether they are a frontier's own (sealed)."""

    figures: Figures
    origins: frozenset[str]
    sealed: bool = False

    @property
    def key(self) -> tuple[str, tuple[str, ...], bool]:
        """Identity and order."""
        return self.figures.key, tuple(sorted(self.origins)), self.sealed


@dataclass(frozen=True)
class Part:
    """A record as a target sees it: which leaves it covers, and which outside the target."""

    owners: frozenset[str]
    record: Record
    covered: int
    extras: int


@dataclass(frozen=True)
class Way:
    """One complete way to explain a target."""

    rank: int
    record: Record
    extras: int


@dataclass(frozen=True)
class Found:
    """What the search says of a target: a record, or a reason."""

    record: Record | None = None
    reason: str = ""


class Search:
    """The search over one scene. `budget` bounds its steps; `BudgetError` when they do not suffice."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene = scene
        self.left = budget
        self.records: dict[str, list[Record]] = {}
        for key, figures in scene.figures.items():
            if key in scene.leaves:
                self.records[key] = [Record(figures, frozenset({key}))]
        self.blocked: list[tuple[int, frozenset[str]]] = []
        self.dynamic: list[str] = []
        for target in sorted(scene.ids):
            if target in scene.authoritative:
                continue
            frontier = scene.frontiers.get(target)
            if frontier is None:
                self.dynamic.append(target)
            elif frontier.figures is None:
                self.blocked.append((scene.leaves[target], frozenset(frontier.parents)))
            else:
                self.records[target] = [Record(frontier.figures, frozenset(frontier.parents), True)]
        self._coverage: dict[frozenset[str], int] = {}

    def run(self) -> dict[str, Found]:
        """Explain every dynamic target of the scene."""
        self._discover(self._sources())
        population = self._population()
        out: dict[str, Found] = {}
        for target in self.dynamic:
            demanded = self._demanded(target)
            needed = self.scene.leaves[target] & self.scene.required
            if demanded is None or not needed:
                out[target] = Found(reason=NO_COVER if needed else NOTHING)
                continue
            out[target] = self._resolve(self._parts(target, population), needed, demanded)
        return out

    def _spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise BudgetError(BUDGET)

    def _span(self, record: Record) -> int:
        span = self._coverage.get(record.origins)
        if span is None:
            span = 0
            for origin in record.origins:
                span |= self.scene.leaves[origin]
            self._coverage[record.origins] = span
        return span

    def _demanded(self, target: str) -> frozenset[str] | None:
        """Origins that blocked frontiers inside the target demand; None when the target itself is blocked by one."""
        own = self.scene.leaves[target]
        demanded: frozenset[str] = frozenset()
        for mask, origins in self.blocked:
            if not own & mask:
                continue
            if mask & ~own or (mask == own and len(origins) > 1):
                return None
            demanded |= origins
        return demanded

    def _population(self) -> dict[tuple[str, tuple[str, ...], bool], tuple[Record, frozenset[str]]]:
        found: dict[tuple[str, tuple[str, ...], bool], tuple[Record, set[str]]] = {}
        order = [*self.scene.figures, *sorted(self.records)]
        for key in dict.fromkeys(order):
            for record in self.records.get(key, ()):
                found.setdefault(record.key, (record, set()))[1].add(key)
        return {key: (record, frozenset(owners)) for key, (record, owners) in found.items()}

    def _parts(
        self, target: str, population: dict[tuple[str, tuple[str, ...], bool], tuple[Record, frozenset[str]]]
    ) -> list[Part]:
        own = self.scene.leaves[target]
        contested = self.scene.contested(target)
        merged: dict[tuple[str, int, int, bool], Part] = {}
        self._spend(len(population))
        for record, exposing in population.values():
            owners = exposing - {target}
            span = self._span(record)
            if not owners or not span & own or record.origins <= self.scene.shadowed:
                continue
            extras = span & ~own
            if extras & contested:
                continue
            slot = (record.figures.key, span & own, extras, record.sealed)
            known = merged.get(slot)
            if known is not None:
                # Equal figures over equal leaves count once, and stand for the origins of both.
                record = Record(known.record.figures, known.record.origins | record.origins, record.sealed)
                owners |= known.owners
            merged[slot] = Part(owners, record, span & own, extras)
        parts = list(merged.values())
        self._spend(len(parts) ** 2 // 16)
        kept = [part for part in parts if not any(self._dominates(other, part) for other in parts)]
        return sorted(kept, key=self._order)

    @staticmethod
    def _dominates(other: Part, part: Part) -> bool:
        return (
            other.record.sealed
            and other.covered == part.covered
            and other.extras == part.extras
            and part.record.origins < other.record.origins
        )

    def _order(self, part: Part) -> tuple[object, ...]:
        names = self.scene.names
        return tuple(sorted(part.owners)), part.record.key, tuple(names(part.covered)), tuple(names(part.extras))

    def _resolve(self, parts: list[Part], needed: int, demanded: frozenset[str]) -> Found:
        classes: tuple[tuple[Iterable[Way], int], ...] = (
            (self._copies(parts, needed, demanded, extras=False), 0),
            (self._sums(parts, needed, demanded, SUM), 0),
            (self._copies(parts, needed, demanded, extras=True), 1),
            (self._sums(parts, needed, demanded, SUM_EXTRAS), 1),
        )
        for ways, least in classes:
            best: Way | None = None
            conflict = False
            for way in ways:
                count = way.extras.bit_count()
                if best is None or count < best.extras.bit_count():
                    best, conflict = way, False
                elif count == best.extras.bit_count() and way.record.figures.key != best.record.figures.key:
                    conflict = True
                if conflict and best.extras.bit_count() == least:
                    break
            if conflict:
                return Found(reason=CONFLICT)
            if best is not None:
                return Found(best.record)
        return Found(reason=NO_COVER)

    def _copies(self, parts: list[Part], needed: int, demanded: frozenset[str], *, extras: bool) -> list[Way]:
        rank = COPY_EXTRAS if extras else COPY
        whole = [part for part in parts if bool(part.extras) is extras and not needed & ~part.covered]
        if demanded:
            whole = [part for part in whole if demanded <= part.record.origins]
        elif any(part.record.sealed for part in whole):
            whole = [part for part in whole if part.record.sealed]
        elif whole:
            fewest = min(len(part.record.origins) for part in whole)
            whole = [part for part in whole if len(part.record.origins) == fewest]
        return [Way(rank, part.record, part.extras) for part in whole]

    def _sums(self, parts: list[Part], needed: int, demanded: frozenset[str], rank: int) -> Iterator[Way]:
        """Irredundant sets of records with disjoint origins that cover all that is needed."""
        usable = [part for part in parts if rank == SUM_EXTRAS or not part.extras]
        units = self._options(usable, needed)
        claims = sorted(
            ((name, [part for part in usable if name in part.record.origins]) for name in demanded),
            key=lambda item: (len(item[1]), item[0]),
        )
        if any(not options for _, options in units) or any(not options for _, options in claims):
            return
        start: tuple[int, frozenset[str], Record | None, int, tuple[Part, ...]] = (0, frozenset(), None, 0, ())
        stack = [start]
        seen: set[object] = set()
        given: set[tuple[object, int]] = set()
        sums: dict[tuple[str, str], Figures | None] = {}
        while stack:
            covered, origins, record, extras, chosen = stack.pop()
            self._spend()
            if not needed & ~covered and demanded <= origins:
                if record is None or bool(extras) is not (rank == SUM_EXTRAS) or _redundant(chosen, needed, demanded):
                    continue
                done = (record.key, extras)
                if done not in given:
                    given.add(done)
                    yield Way(rank, record, extras)
                continue
            if needed & ~covered:
                options = next(found for bit, found in units if not covered & bit)
            else:
                options = next(found for name, found in claims if name not in origins)
            for part in options:
                if origins & part.record.origins:
                    continue
                step = self._add(record, part.record, sums)
                if step is None:
                    continue
                picked = tuple(sorted((*chosen, part), key=lambda item: (item.covered, sorted(item.record.origins))))
                mark = (step.key, covered | part.covered, extras | part.extras, _shape(picked))
                if mark in seen:
                    continue
                seen.add(mark)
                self._spend()
                stack.append(
                    (covered | part.covered, origins | part.record.origins, step, extras | part.extras, picked)
                )

    def _options(self, usable: list[Part], needed: int) -> list[tuple[int, list[Part]]]:
        found = []
        for index in bits(needed):
            bit = 1 << index
            found.append((self.scene.leaf_ids[index], bit, [part for part in usable if part.covered & bit]))
        found.sort(key=lambda item: (len(item[2]), item[0]))
        return [(bit, options) for _, bit, options in found]

    @staticmethod
    def _add(base: Record | None, part: Record, sums: dict[tuple[str, str], Figures | None]) -> Record | None:
        if base is None:
            return part
        pair = (base.figures.key, part.figures.key)
        if pair not in sums:
            sums[pair] = combine([base.figures, part.figures])[0]
        figures = sums[pair]
        return None if figures is None else Record(figures, base.origins | part.origins, base.sealed and part.sealed)

    def _sources(self) -> list[str]:
        """Targets whose recipes can matter to another, and sealed recipes among targets of equal scope."""
        population = self._population()
        leaves = self.scene.leaves
        parts = {target: self._parts(target, population) for target in self.dynamic}
        needs = {target: leaves[target] & self.scene.required for target in self.dynamic}
        peers: dict[int, list[str]] = {}
        sources: list[str] = []
        for target in self.dynamic:
            if not needs[target]:
                continue
            peers.setdefault(needs[target], []).append(target)
            covered = reach = 0
            for part in parts[target]:
                covered |= part.covered
                reach |= part.covered | part.extras
            if needs[target] & ~covered:
                reach = 0
            self._spend(len(self.dynamic))
            if any(
                other != target
                and needs[other] != needs[target]
                and reach & leaves[other]
                and not needs[target] & ~leaves[other] & self.scene.contested(other)
                for other in self.dynamic
            ):
                sources.append(target)
        additions: dict[str, Record] = {}
        for group in peers.values():
            for target in group if len(group) > 1 else ():
                demanded = self._demanded(target)
                sealed = [part for part in parts[target] if part.record.sealed]
                if demanded is None or not sealed or len(sealed) == len(parts[target]):
                    continue
                found = self._resolve(sealed, needs[target], demanded)
                if found.record is not None:
                    additions[target] = found.record
        for target, record in additions.items():
            self.records[target] = [*self.records.get(target, ()), record]
        return sources

    def _discover(self, sources: list[str]) -> None:
        for _ in range(max(1, len(self.dynamic))):
            population = self._population()
            new: dict[str, dict[object, Record]] = {}
            for target in sources:
                demanded = self._demanded(target)
                needed = self.scene.leaves[target] & self.scene.required
                if demanded is None or not needed:
                    continue
                known = {record.key for record in self.records.get(target, ())}
                parts = self._parts(target, population)
                ways = [Way(COPY, part.record, part.extras) for part in parts if not needed & ~part.covered]
                ways += [*self._sums(parts, needed, demanded, SUM), *self._sums(parts, needed, demanded, SUM_EXTRAS)]
                for way in ways:
                    if demanded <= way.record.origins and way.record.key not in known:
                        new.setdefault(target, {})[way.record.key] = way.record
            if not new:
                return
            fresh = any(key not in population for found in new.values() for key in found)
            for target, found in new.items():
                merged = {record.key: record for record in self.records.get(target, ())}
                merged.update({record.key: record for record in found.values()})
                self.records[target] = [merged[key] for key in sorted(merged)]
            if not fresh:
                return


def _shape(chosen: tuple[Part, ...]) -> tuple[object, ...]:
    return tuple((part.covered, part.record.origins) for part in chosen)


def _redundant(chosen: tuple[Part, ...], needed: int, demanded: frozenset[str]) -> bool:
    """Whether a member can go without loss."""
    for skip in range(len(chosen)):
        covered = 0
        origins: frozenset[str] = frozenset()
        for index, part in enumerate(chosen):
            if index != skip:
                covered |= part.covered
                origins |= part.record.origins
        if not needed & ~covered and demanded <= origins:
            return True
    return False
