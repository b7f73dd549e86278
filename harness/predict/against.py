"""Predictions beside measurements, operator by operator. A report: no verdict comes of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.core.errors import NotComparableError
from harness.predict.conditions import CONDITIONS, differences
from harness.predict.estimate import Estimate, OperatorEstimate, Predicted
from harness.predict.training import MeasuredModel


@dataclass(frozen=True)
class Beside:
    """One figure twice. `error` is predicted over measured less one; it and `inside` are None where one is missing."""

    index: int | None
    op: str
    predicted: Predicted
    measured: float | None

    @property
    def error(self) -> float | None:
        """The prediction's relative error."""
        if self.predicted.cycles is None or not self.measured:
            return None
        return self.predicted.cycles / self.measured - 1

    @property
    def inside(self) -> bool | None:
        """Whether the measured cycles lie in the predicted interval."""
        low, high = self.predicted.low, self.predicted.high
        return low <= self.measured <= high if low is not None and high is not None and self.measured else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**asdict(self), "error": self.error, "inside": self.inside}


@dataclass(frozen=True)
class Report:
    """All operators, the total, and how the conditions of the two sides differ."""

    rows: tuple[Beside, ...]
    total: Beside
    measured_source: str
    run_id: str
    notes: tuple[str, ...]

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors of the operators that have both figures."""
        errors = [abs(row.error) for row in self.rows if row.error is not None]
        return statistics.median(errors) if errors else None

    @property
    def inside(self) -> tuple[int, int]:
        """How many operators lie in their interval, of how many that have both figures."""
        known = [row.inside for row in self.rows if row.inside is not None]
        return sum(known), len(known)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        inside, known = self.inside
        return {
            "run_id": self.run_id,
            "measured_source": self.measured_source,
            "operators": [row.to_dict() for row in self.rows],
            "total": self.total.to_dict(),
            "median_error": self.median_error,
            "inside": inside,
            "compared": known,
            "notes": list(self.notes),
        }


def beside(found: Estimate, measured: MeasuredModel) -> Report:
    """Put an estimate beside a bundle of the same model.

    Raises:
        NotComparableError: the bundle is of another model.
    """
    if found.model_sha256 != measured.model_sha256:
        raise NotComparableError(
            "The bundle is of another model than the estimate.",
            why=f"{measured.model_name} {measured.model_sha256[:12]}, {found.model_name} {found.model_sha256[:12]}.",
            todo="Name a bundle of this model.",
        )
    rows = _rows(found.operators, measured)
    unlike = differences(found.conditions, measured.conditions, CONDITIONS)
    return Report(
        rows=rows,
        total=Beside(None, "total", found.total, measured.total),
        measured_source=measured.conditions["source"],
        run_id=measured.run_id,
        notes=tuple(f"predicted / measured: {text}" for text in unlike),
    )


def _rows(operators: Sequence[OperatorEstimate], measured: MeasuredModel) -> tuple[Beside, ...]:
    return tuple(Beside(item.index, item.op, item.predicted, measured.cycles.get(item.index)) for item in operators)
