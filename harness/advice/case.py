"""What the rules look at: operators in order, with what was measured or predicted of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.frozen import EMPTY, freeze_fields
from harness.model.operators import OperatorFacts
from harness.results.dimensions import nested
from harness.results.reader import RunArtifacts


@dataclass(frozen=True)
class Layer:
    """One operator: its facts, its cycles and share of all cycles (None where unknown), its counters, where it runs."""

    facts: OperatorFacts
    cycles: float | None = None
    share: float | None = None
    counters: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    placement: str = "CPU"

    def __post_init__(self) -> None:
        freeze_fields(self, "counters")

    @property
    def name(self) -> str:
        """The operator as messages call it."""
        return f"operator {self.facts.index} ({self.facts.op})"


@dataclass(frozen=True)
class Case:
    """A model's operators in execution order, and what ran them. `source` is where the figures come from.

    `memory_rules` is off where the bytes that operators move are not those of the model file, as after compression.
    """

    layers: tuple[Layer, ...]
    source: str
    backend: str = ""
    has_mve: bool = False
    weights_location: str = ""
    memory_rules: bool = True


def case_of(run: RunArtifacts, operators: Sequence[OperatorFacts]) -> Case:
    """The case of a bundle; layers of one operator are added up, and a counter that one of them lacks is left out."""
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for row in run.layers:
        index = row.get("source_index")
        if type(index) is int:
            rows.setdefault(index, []).append(row)
    stated: Mapping[str, Any] = run.manifest.comparability if run.manifest is not None else {}
    cycles = {facts.index: _sum(rows.get(facts.index, []), "cycles") for facts in operators}
    known = [value for value in cycles.values() if value is not None]
    total = math.fsum(known) if len(known) == len(cycles) else 0.0
    layers = []
    for facts in operators:
        found, own = rows.get(facts.index, []), cycles[facts.index]
        names = found[0] if found else {}
        counters = {name: _sum(found, name) for name in names}
        layers.append(
            Layer(
                facts,
                own,
                own / total if own is not None and total else None,
                {name: value for name, value in counters.items() if value is not None},
            )
        )
    return Case(
        layers=tuple(layers),
        source=run.source or "silicon",
        backend=str(stated.get("engine_backend") or ""),
        has_mve=nested(run.metadata, ("platform", "has_mve")) is True,
        weights_location=str(stated.get("weights_location") or ""),
    )


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row.get(name) for row in rows]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)]
    return math.fsum(numbers) if rows and len(numbers) == len(rows) else None
