"""Targets that need no search: frontiers of direct parents, disjoint origins, and trees.

Where origins are disjoint, each leaf names the one origin that covers it, so the set that explains a target is forced.
In a tree the same holds except where a subtree can be explained both by an origin above and by ones below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.interop.mlia.figures import combine
from harness.interop.mlia.scene import Frontier, Scene, bits

PARTIAL, NOTHING, BLOCKED = "partial", "nothing_measured", "blocked_frontier"
CONTESTED, UNUSABLE, CONFLICT = "contested_extra", "unusable_origin", "conflict"
NOT_ADDITIVE, BUDGET, NO_COVER = "not_additive", "projection.search_budget", "no_cover"


@dataclass(frozen=True)
class Answer:
    """How a target is explained: by these origins, or by none for a reason. `hard`: only a search can tell."""

    origins: tuple[str, ...] = ()
    reason: str = ""
    hard: bool = False


def resolve_frontiers(scene: Scene) -> None:
    """Combine the direct authoritative parents of every target that has such, or block it."""
    for target in scene.ids:
        if target in scene.authoritative:
            continue
        parents = tuple(
            parent
            for parent in scene.graph.parents[target]
            if scene.is_origin(parent) and (scene.kinds[parent], scene.kinds[target]) in scene.edges
        )
        if not parents:
            continue
        own = scene.leaves[target]
        outside = 0
        for parent in parents:
            outside |= scene.leaves[parent] & ~own
        if any(parent not in scene.figures for parent in parents):
            scene.frontiers[target] = Frontier(parents, None, UNUSABLE)
        elif outside & scene.contested(target):
            scene.frontiers[target] = Frontier(parents, None, CONTESTED)
        else:
            figures, _ = combine([scene.figures[parent] for parent in parents])
            scene.frontiers[target] = Frontier(parents, figures, "" if figures is not None else NOT_ADDITIVE)


class Direct:
    """Answers for one scene without search."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        count = len(scene.leaf_ids)
        self.owners: list[list[str]] = [[] for _ in range(count)]
        for origin in scene.ids:
            if scene.is_origin(origin):
                for index in bits(scene.leaves[origin]):
                    self.owners[index].append(origin)
        self.blocked_any = 0
        self.blocked_at: dict[int, int] = {}
        seen: set[int] = set()
        for target, frontier in scene.frontiers.items():
            mask = scene.leaves[target]
            if frontier.figures is None and mask not in seen:
                seen.add(mask)
                self.blocked_any |= mask
                for index in bits(mask):
                    self.blocked_at[index] = self.blocked_at.get(index, 0) | mask
        self.tree = _Tree(scene) if scene.is_forest else None

    def answer(self, target: str) -> Answer:
        """Explain one target that is neither authoritative nor has a frontier."""
        scene = self.scene
        own = scene.leaves[target]
        needed = own & scene.required
        if not needed:
            return Answer(reason=NOTHING)
        if self._straddles_blocked(own):
            return Answer(reason=BLOCKED)
        if needed & scene.several:
            return self._of_tree(target)
        touching = self._touching(needed)
        union = 0
        for origin in touching:
            union |= scene.leaves[origin]
        if union & scene.several:
            return self._of_tree(target)
        if any(origin not in scene.figures for origin in touching):
            return Answer(reason=UNUSABLE)
        extras = union & ~own
        if extras & scene.contested(target):
            return Answer(reason=CONTESTED)
        if extras and len(touching) > 1:
            # A wider figure that was put together elsewhere, if there is one, goes before a sum made here.
            return Answer(tuple(touching), hard=True)
        return Answer(tuple(touching))

    def _of_tree(self, target: str) -> Answer:
        return self.tree.answer(target) if self.tree is not None else Answer(hard=True)

    def _straddles_blocked(self, own: int) -> bool:
        return any(self.blocked_at[index] & ~own for index in bits(own & self.blocked_any))

    def _touching(self, needed: int) -> list[str]:
        owners = self.owners
        return list(dict.fromkeys(origin for index in bits(needed) for origin in owners[index]))


@dataclass(frozen=True)
class _Below:
    """What the origins at and below a node of a tree explain."""

    need: int = 0
    covered: int = 0
    chosen: frozenset[str] = frozenset()
    forced: bool = False
    several: bool = False
    dead: bool = False


class _Tree:
    """Answers inside a forest, bottom up and top down once each."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.below: dict[str, _Below] = {}
        at: dict[str, _Below] = {}
        for key in reversed(scene.ids):
            below = self._join([at[child] for child in scene.graph.children[key]])
            self.below[key] = below
            at[key] = self._with_own(key, below) if scene.is_origin(key) else below
        self.above: dict[str, tuple[bool, bool, bool]] = {}
        for key in scene.ids:
            near = scene.graph.parents[key]
            if not near:
                self.above[key] = (False, False, False)
                continue
            parent = near[0]
            blocked, wider, equal = self.above[parent]
            same = scene.leaves[parent] == scene.leaves[key]
            frontier = scene.frontiers.get(parent)
            blocked |= frontier is not None and frontier.figures is None
            here = scene.is_origin(parent)
            wider |= (equal and not same) or (here and not same)
            self.above[key] = (blocked, wider, same and (equal or here))

    @staticmethod
    def _join(parts: list[_Below]) -> _Below:
        if len(parts) == 1:
            return parts[0]
        need = covered = 0
        chosen: set[str] = set()
        for part in parts:
            need |= part.need
            covered |= part.covered
            chosen |= part.chosen
        return _Below(
            need,
            covered,
            frozenset(chosen),
            any(part.forced for part in parts),
            any(part.several for part in parts),
            any(part.dead for part in parts),
        )

    def _with_own(self, key: str, below: _Below) -> _Below:
        scene = self.scene
        own = scene.leaves[key]
        usable = key in scene.figures
        children = [scene.frontiers.get(child) for child in scene.graph.children[key]]
        blocks = any(item is not None and item.figures is None and key in item.parents for item in children)
        if not usable:
            return _Below(own, below.covered, below.chosen, below.forced, below.several, below.dead or blocks)
        full = bool(below.chosen) and below.covered == own
        several = below.forced or (full and not blocks)
        return _Below(own, own, frozenset({key}), blocks, several, below.dead)

    def answer(self, target: str) -> Answer:
        """Explain one target of the forest."""
        below = self.below[target]
        blocked, wider, equal = self.above[target]
        if blocked:
            return Answer(reason=BLOCKED)
        if below.dead:
            return Answer(reason=UNUSABLE)
        if equal or below.several:
            return Answer(hard=True)
        need = self.scene.leaves[target] if wider else below.need
        if need & ~below.covered:
            return Answer(reason=NO_COVER)
        order = sorted(below.chosen, key=lambda key: self.scene.leaves[key] & -self.scene.leaves[key])
        return Answer(tuple(order))
