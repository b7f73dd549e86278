"""When repeated runs are looked at, and how much of each error a look may spend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SequentialPlan:
    """When to look, and how much of each error a look may spend."""

    looks: tuple[int, ...] = (10, 20, 30)
    fail_level: float = 0.01
    pass_level: float = 0.05
    fail_shares: tuple[float, ...] = (0.98, 0.01, 0.01)
    pass_shares: tuple[float, ...] = (0.6, 0.2, 0.2)

    def __post_init__(self) -> None:
        if not self.looks or list(self.looks) != sorted(set(self.looks)) or self.looks[0] < 1:
            raise ValueError("looks must be rising numbers of pairs")
        for shares in (self.fail_shares, self.pass_shares):
            if len(shares) != len(self.looks) or min(shares) < 0 or sum(shares) > 1 + 1e-12:
                raise ValueError("a share for each look, together at most one")
        for level in (self.fail_level, self.pass_level):
            if not 0 < level < 0.5:
                raise ValueError("levels must lie between 0 and 0.5")

    @property
    def budget(self) -> int:
        """Pairs after which there is no further look."""
        return self.looks[-1]

    def look_at(self, pairs: int) -> int | None:
        """The index of the look that falls on this number of pairs; None between looks."""
        return self.looks.index(pairs) if pairs in self.looks else None
