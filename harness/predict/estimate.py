"""What a model would cost on a board, predicted from its shapes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError
from harness.engines.base import GeneratedEngine, get_engine
from harness.model.operators import OperatorFacts
from harness.plan.freeze import Prepared
from harness.predict.conditions import VERSIONS, Conditions, conditions_wanted
from harness.predict.features import features, kind_of
from harness.predict.record import CostModel, Fit
from harness.results.operators import facts_of


@dataclass(frozen=True)
class Predicted:
    """Predicted cycles with the ends of their interval, or the reason why there are none."""

    cycles: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class OperatorEstimate:
    """One operator: its index in the model, its kind, and what it is predicted to take."""

    index: int
    op: str
    kind: str
    predicted: Predicted


@dataclass(frozen=True)
class Estimate:
    """A model's predicted cost on a board.

    `total` is the sum over the operators, each with the counter reads around it that fitted layers had. `fit` is what
    answered, `conditions` what was asked for. Sizes in bytes, `clock_hz` in hertz.
    """

    model_name: str
    model_sha256: str
    model_size: int
    board: str
    core: str
    clock_hz: int
    arena_bytes: int
    weights_bytes: int | None
    conditions: Conditions
    facts: tuple[OperatorFacts, ...]
    operators: tuple[OperatorEstimate, ...]
    total: Predicted
    fit: Fit
    warnings: tuple[str, ...] = field(default_factory=tuple)

    @property
    def milliseconds(self) -> Predicted:
        """The total as time at the board's clock."""
        factor = 1000 / self.clock_hz
        total = self.total
        if total.cycles is None or total.low is None or total.high is None:
            return total
        return Predicted(total.cycles * factor, total.low * factor, total.high * factor)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "source": "predicted",
            "model": {"name": self.model_name, "sha256": self.model_sha256, "size_bytes": self.model_size},
            "board": self.board,
            "core": self.core,
            "clock_hz": self.clock_hz,
            "arena_bytes": self.arena_bytes,
            "weights_bytes": self.weights_bytes,
            "conditions": dict(self.conditions),
            "operators": [asdict(item) for item in self.operators],
            "total_cycles": asdict(self.total),
            "milliseconds": asdict(self.milliseconds),
            "fit": fit_facts(self.fit),
            "warnings": list(self.warnings),
        }


def fit_facts(fit: Fit) -> dict[str, Any]:
    """What a result says of the fit it came from."""
    return {
        "conditions": dict(fit.conditions),
        "level": fit.level,
        "layers": fit.layers,
        "scored": fit.scored,
        "median_error": fit.median_error,
        "p90_error": fit.p90_error,
        "models": [asdict(model) for model in fit.models],
    }


def estimate(ready: Prepared, costs: CostModel) -> Estimate:
    """Predict a prepared plan.

    Args:
        ready: settings, board type and model, as `harness.plan.freeze.prepare` gives them.
        costs: the fits to choose from.

    Raises:
        CostModelError: no fit is for the board, kernels and settings.
        UnsupportedModelError: the engine does not compile the model.
    """
    engine = get_engine(str(ready.settings["engine"]))
    with tempfile.TemporaryDirectory(prefix="harness-estimate-") as directory:
        made = engine.generate(ready.model, ready.options, Path(directory))
    if not made.layers:
        raise UsageError(
            f"Engine {engine.name!r} does not say which operators it runs.", todo="Estimate with another engine."
        )
    wanted = conditions_wanted(ready)
    installed = {"engine_version": made.engine_version, "kernels_version": made.kernels_version}
    fit = costs.for_conditions(wanted, installed)
    facts = facts_of(ready.model, made.layers)
    operators = predict_operators(facts, fit)
    return Estimate(
        model_name=ready.model.path.name,
        model_sha256=ready.model.sha256,
        model_size=ready.model.size_bytes,
        board=ready.board.name,
        core=ready.board.core.name,
        clock_hz=ready.board.clocks.rates_hz[ready.settings["cpu-clock"]],
        arena_bytes=made.arena_bytes,
        weights_bytes=made.weights_bytes,
        conditions={**wanted, **installed, "compiler_version": fit.conditions["compiler_version"]},
        facts=facts,
        operators=operators,
        total=total_of(operators),
        fit=fit,
        warnings=tuple(_stale(fit, made)),
    )


def _stale(fit: Fit, made: GeneratedEngine) -> Iterable[str]:
    for name in VERSIONS:
        now = getattr(made, name, fit.conditions[name])
        if fit.conditions[name] != now:
            yield f"The fit is of {name} {fit.conditions[name]}; installed is {now}."


def predict_operators(facts: Sequence[OperatorFacts], fit: Fit) -> tuple[OperatorEstimate, ...]:
    """Predict each operator; one of a kind or of shapes that the fit does not know has a reason instead of cycles."""
    return tuple(OperatorEstimate(item.index, item.op, kind_of(item), _predict(item, fit)) for item in facts)


def _predict(facts: OperatorFacts, fit: Fit) -> Predicted:
    kind = fit.kind(kind_of(facts))
    if kind is None:
        return Predicted(reason=f"No layer of kind {kind_of(facts)} was fitted.")
    found = features(facts)
    outside = kind.outside(found)
    if outside:
        return Predicted(reason=f"Outside the fitted range: {outside}.")
    cycles, unit = kind.predict(found)
    if not (cycles > 0 and math.isfinite(unit)):
        return Predicted(reason="The fitted layers of this kind say nothing about this shape.")
    factor = math.exp(min(fit.quantile * unit, 50.0))
    return Predicted(cycles, cycles / factor, cycles * factor)


def total_of(operators: Sequence[OperatorEstimate]) -> Predicted:
    """The sum, unavailable where an operator is.

    Operators of one kind share coefficients, so their deviations add up; those of different kinds are taken as
    independent, and add up as squares.
    """
    missing = [item for item in operators if item.predicted.cycles is None]
    if missing or not operators:
        names = ", ".join(f"{item.index} ({item.op})" for item in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        return Predicted(reason=f"Not predicted: operator {names}{more}." if missing else "The model has no operators.")
    sides: dict[str, list[float]] = {}
    for item in operators:
        cycles, low, high = item.predicted.cycles, item.predicted.low, item.predicted.high
        assert cycles is not None and low is not None and high is not None
        side = sides.setdefault(item.kind, [0.0, 0.0])
        side[0] += cycles - low
        side[1] += high - cycles
    total = math.fsum(item.predicted.cycles or 0.0 for item in operators)
    below, above = (math.sqrt(math.fsum(side[k] ** 2 for side in sides.values())) for k in (0, 1))
    return Predicted(total, max(total - below, 0.0), total + above)
