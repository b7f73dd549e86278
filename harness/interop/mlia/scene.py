"""What projection looks at: one connected part of an entity graph with its origins, as bit sets over its leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.interop.mlia.figures import Figures
from harness.interop.mlia.graph import EntityGraph, KindEdges


def bits(mask: int) -> Iterator[int]:
    """Positions of the bits that are set, lowest first."""
    if mask.bit_count() > 32:
        text = bin(mask)[:1:-1]
        at = text.find("1")
        while at >= 0:
            yield at
            at = text.find("1", at + 1)
        return
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True)
class Frontier:
    """The direct authoritative parents of a target: combined, or blocked with the reason."""

    parents: tuple[str, ...]
    figures: Figures | None
    reason: str = ""


@dataclass
class Scene:
    """One connected part. Leaf sets are integers; bit i stands for `leaf_ids[i]`."""

    graph: EntityGraph
    ids: Sequence[str]
    kinds: Mapping[str, str]
    authoritative: frozenset[str]
    figures: Mapping[str, Figures]
    edges: KindEdges
    leaves: Mapping[str, int] = field(default_factory=dict)
    leaf_ids: tuple[str, ...] = ()
    shadowed: frozenset[str] = frozenset()
    required: int = 0
    several: int = 0
    frontiers: dict[str, Frontier] = field(default_factory=dict)
    _kind_mask: dict[str, int] = field(default_factory=dict)
    _root_mask: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._index_leaves()
        self.shadowed = frozenset(
            parent
            for parent in self.ids
            if parent in self.authoritative
            and any(
                child in self.authoritative and (self.kinds[parent], self.kinds[child]) in self.edges
                for child in self.graph.children[parent]
            )
        )
        for origin in self.ids:
            if origin in self.authoritative and origin not in self.shadowed:
                self.several |= self.required & self.leaves[origin]
                self.required |= self.leaves[origin]

    def _index_leaves(self) -> None:
        self.leaf_ids = tuple(sorted(key for key in self.ids if not self.graph.children[key]))
        position = {key: index for index, key in enumerate(self.leaf_ids)}
        leaves: dict[str, int] = {}
        for key in reversed(self.ids):
            mask = 1 << position[key] if key in position else 0
            for child in self.graph.children[key]:
                mask |= leaves[child]
            leaves[key] = mask
            kind = self.kinds[key]
            self._kind_mask[kind] = self._kind_mask.get(kind, 0) | mask
        self.leaves = leaves
        for key in self.ids:
            near = self.graph.parents[key]
            mask = 0 if near else leaves[key]
            for parent in near:
                mask |= self._root_mask[parent]
            self._root_mask[key] = mask

    def contested(self, target: str) -> int:
        """Leaves outside the target that a competitor reaches: one of its kind, or one under a common ancestor."""
        return self._kind_mask[self.kinds[target]] | self._root_mask[target]

    def is_origin(self, key: str) -> bool:
        """Whether an entity's own figures count: authoritative, not shadowed."""
        return key in self.authoritative and key not in self.shadowed

    @property
    def is_forest(self) -> bool:
        """Whether no entity has two parents."""
        return all(len(self.graph.parents[key]) <= 1 for key in self.ids)

    def names(self, mask: int) -> list[str]:
        """Ids of the leaves in a set."""
        return [self.leaf_ids[index] for index in bits(mask)]
