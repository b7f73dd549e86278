"""Whether passes agree: every pass counts cycles, so the same layer was timed once a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.results.types import LayerResult

BOUND_PCT = 2.0
BOUND_CYCLES = 200.0
"""Passes disagree about a layer when their cycles differ by more than both: by what caches and buses of real boards
vary from one inference to the next, and by what a few interrupts or refreshes take."""


@dataclass(frozen=True)
class Spread:
    """The least and the most cycles that passes found for one layer."""

    layer: int | str
    least: float
    most: float
    least_pass: str
    most_pass: str

    @property
    def agrees(self) -> bool:
        """Whether they differ by no more than the bound."""
        apart = self.most - self.least
        return apart <= BOUND_CYCLES or apart <= self.least * BOUND_PCT / 100

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "layer": self.layer,
            "least": self.least,
            "most": self.most,
            "least_pass": self.least_pass,
            "most_pass": self.most_pass,
        }


def spreads(passes: Mapping[str, Sequence[LayerResult]]) -> tuple[Spread, ...]:
    """One for each layer that two passes or more timed, in the order of the layers."""
    found: dict[int | str, list[tuple[float, str]]] = {}
    for name, layers in passes.items():
        for layer in layers:
            if layer.cycles is not None:
                found.setdefault(layer.id, []).append((layer.cycles, name))
    pairs = ((layer, min(values), max(values)) for layer, values in found.items() if len(values) > 1)
    return tuple(Spread(layer, low, high, first, last) for layer, (low, first), (high, last) in pairs)


def statement(found: Sequence[Spread]) -> dict[str, Any]:
    """What a bundle says of the check: its bound, how many layers were checked, the worst of them."""
    worst = max(found, key=lambda item: item.most - item.least, default=None)
    return {
        "bound_pct": BOUND_PCT,
        "bound_cycles": BOUND_CYCLES,
        "layers": len(found),
        "disagreeing": [item.to_dict() for item in found if not item.agrees],
        "worst": worst.to_dict() if worst is not None else None,
    }
