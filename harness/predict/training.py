"""Measured layers out of bundles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.model.operators import OperatorFacts
from harness.predict.conditions import Conditions, conditions_of
from harness.predict.errors import CostModelError
from harness.results.dimensions import nested
from harness.results.manifest import ResultValidity, RunStatus
from harness.results.operators import NAME, operators_of
from harness.results.reader import RunArtifacts, read_bundle


@dataclass(frozen=True)
class MeasuredModel:
    """One bundle's measured operators: `cycles` by operator index, those without cycles absent."""

    run_id: str
    model_name: str
    model_sha256: str
    conditions: Conditions
    operators: tuple[OperatorFacts, ...]
    cycles: Mapping[int, float]
    total: float | None


def read_measured(path: Path) -> MeasuredModel:
    """The layers of a bundle, verified.

    Raises:
        EvidenceError: the bundle is damaged.
        CostModelError: it failed, is invalid, is a prediction itself, or does not say what its operators are.
    """
    run = read_bundle(path)
    assert run.manifest is not None
    if run.manifest.status is not RunStatus.COMPLETE or run.manifest.validity is ResultValidity.INVALID:
        raise CostModelError(
            f"{path} holds no measurements that count.",
            why=f"It is {run.manifest.status.value} and {run.manifest.validity.value}.",
            todo="Leave it out, or run again.",
        )
    if run.source == "predicted":
        raise CostModelError(
            f"{path} is a prediction.", why="Predictions are fitted to measurements only.", todo="Leave it out."
        )
    operators = operators_of(run)
    if not operators:
        raise CostModelError(
            f"{path} does not say what its operators are.",
            why=f"It has no {NAME}: another tool or an earlier version wrote it.",
            todo="Measure the model again with this version.",
        )
    return MeasuredModel(
        run_id=run.manifest.run_id,
        model_name=str(nested(run.metadata, ("model", "name"))),
        model_sha256=str(nested(run.metadata, ("model", "sha256"))),
        conditions=conditions_of(run),
        operators=operators,
        cycles=_cycles(run, len(operators)),
        total=_number(run.summary.get("total_cycles")),
    )


def _cycles(run: RunArtifacts, count: int) -> dict[int, float]:
    """Cycles of each operator; layers of one operator are added, and none of them may be missing or have wrapped."""
    found: dict[int, list[float | None]] = {}
    for row in run.layers:
        index = row.get("source_index")
        if type(index) is int and 0 <= index < count:
            found.setdefault(index, []).append(None if row.get("overflow") else _number(row.get("cycles")))
    whole = {index: [value for value in values if value is not None] for index, values in found.items()}
    return {
        index: math.fsum(values)
        for index, values in whole.items()
        if len(values) == len(found[index]) and math.fsum(values) > 0
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def averaged(models: Iterable[MeasuredModel]) -> list[tuple[MeasuredModel, dict[int, float]]]:
    """One entry a model: the mean cycles of its operators over all bundles of it, in a fixed order."""
    by_model: dict[str, list[MeasuredModel]] = {}
    for item in models:
        by_model.setdefault(item.model_sha256, []).append(item)
    out = []
    for _, items in sorted(by_model.items()):
        values: dict[int, list[float]] = {}
        for item in sorted(items, key=lambda item: item.run_id):
            for index, cycles in item.cycles.items():
                values.setdefault(index, []).append(cycles)
        out.append((items[0], {index: math.fsum(found) / len(found) for index, found in sorted(values.items())}))
    return out
