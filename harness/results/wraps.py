"""Counters that wrapped, and inside which layer: such a counter of such a layer has no figure; others keep theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.capture.events import SMALL_BITS, SMALL_EVENTS

if TYPE_CHECKING:
    from harness.results.measured import PassAggregate

SMALL_NAMES = frozenset(event.name for event in SMALL_EVENTS)
"""Counters of 8 bits."""
MAY_HAVE_WRAPPED = f"its {SMALL_BITS} bits may have wrapped: the layer took {1 << SMALL_BITS} cycles or more"
WRAPPED = "it wrapped inside the layer"


@dataclass(frozen=True)
class Wrap:
    """A counter without a figure in one layer; `iterations` of the pass wrapped, or may have."""

    layer: int | str
    counter: str
    preset: str
    iterations: int
    reason: str

    @property
    def certain(self) -> bool:
        """Whether it did wrap, and not only may have."""
        return self.counter not in SMALL_NAMES

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def wrapped_counters(item: PassAggregate, layers: Sequence[int | str]) -> tuple[Wrap, ...]:
    """Those of one pass, layer by layer."""
    if item.record.wrapped is None:
        return ()
    counts = np.count_nonzero(item.record.wrapped, axis=0)
    return tuple(
        Wrap(layers[layer], name, item.record.name, int(counts[layer, column]), _reason(name))
        for layer in range(counts.shape[0])
        for column, name in enumerate(item.counters)
        if counts[layer, column]
    )


def _reason(counter: str) -> str:
    return MAY_HAVE_WRAPPED if counter in SMALL_NAMES else WRAPPED
