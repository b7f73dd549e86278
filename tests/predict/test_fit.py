"""Fits of layers whose cost is known, and the file they are kept in."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from harness.core.errors import EvidenceError
from harness.core.hashing import semantic_hash
from harness.predict.conditions import CONDITIONS
from harness.predict.errors import CostModelError
from harness.predict.estimate import OperatorEstimate, Predicted, total_of
from harness.predict.features import names_of
from harness.predict.fit import KindFit, Sample, fit_kind, fit_kinds, left_out_errors, quantile
from harness.predict.record import CostModel, Fit, fit_samples, load_cost_model, packaged

KINDS = ("CONV_2D/a", "DEPTHWISE_CONV_2D/b", "FULLY_CONNECTED/c", "MAX_POOL_2D/d", "ADD/e")
COSTS = {"work": 4.0, "windowed": 1.5, "outputs": 30.0, "moved": 6.0, "steps": 20.0, "constant": 500.0}
WHERE = {name: f"some {name}" for name in CONDITIONS}


def samples(count: int, seed: int, spread: float = 0.0) -> list[Sample]:
    """Layers that cost what `COSTS` says, up to a relative deviation."""
    draw = random.Random(seed)
    out = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        names = names_of(kind.split("/")[0])
        values = {name: float(round(10 ** draw.uniform(2, 4))) for name in names}
        values["constant"] = 1.0
        if "windowed" in values:
            values["windowed"] = values["work"] * draw.choice((0, 1))
        cycles = sum(COSTS[name] * value for name, value in values.items())
        out.append(Sample(kind, values, cycles * (1 + draw.uniform(-spread, spread))))
    return out


def test_known_costs_are_found() -> None:
    fits = fit_kinds(samples(400, 1))
    assert set(fits) == set(KINDS)
    for sample in samples(100, 2):
        cycles, unit = fits[sample.kind].predict(sample.features)
        assert cycles == pytest.approx(sample.cycles, rel=0.02)
        assert 0 < unit < 0.1
    assert fits["CONV_2D/a"].costs["work"] == pytest.approx(4, rel=0.05)


def test_a_fit_does_not_depend_on_the_order_of_its_layers() -> None:
    some = samples(60, 3, 0.1)
    other = list(some)
    random.Random(1).shuffle(other)
    assert fit_samples(some, WHERE) == fit_samples(other, WHERE)


@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_nine_of_ten_layers_lie_in_the_interval(spread: float) -> None:
    inside = total = 0
    for seed in range(8):
        fit = fit_samples(samples(60, seed, spread), WHERE)
        for sample in samples(60, 100 + seed, spread):
            kind = fit.kind(sample.kind)
            assert kind is not None
            if kind.outside(sample.features):
                continue
            cycles, unit = kind.predict(sample.features)
            factor = 2.718281828459045 ** (fit.quantile * unit)
            inside += cycles / factor <= sample.cycles <= cycles * factor
            total += 1
    assert total > 400 and 0.8 <= inside / total <= 0.97


def test_a_kind_with_one_layer_takes_after_its_family() -> None:
    known = [sample for sample in samples(200, 4) if sample.kind != "FULLY_CONNECTED/c"]
    single = next(sample for sample in samples(10, 5) if sample.kind == "FULLY_CONNECTED/c")
    fits = fit_kinds([*known, single])
    cycles, unit = fits["FULLY_CONNECTED/c"].predict(single.features)
    assert cycles == pytest.approx(single.cycles, rel=0.1)
    doubled = {**single.features, "work": 2 * single.features["work"]}
    assert fits["FULLY_CONNECTED/c"].predict(doubled)[1] > unit, "farther away is less certain"


def test_far_outside_is_said() -> None:
    kind = fit_kind("ADD/e", [Sample("ADD/e", {"outputs": 100.0, "moved": 200.0, "constant": 1.0}, 900.0)], {})
    assert kind.outside({"outputs": 399.0, "moved": 799.0, "constant": 1.0}) == ""
    assert "outputs is 500" in kind.outside({"outputs": 500.0, "moved": 799.0, "constant": 1.0})
    assert "moved is 10" in kind.outside({"outputs": 100.0, "moved": 10.0, "constant": 1.0})


def test_repeats_of_a_layer_do_not_make_it_look_certain() -> None:
    some = samples(40, 6, 0.3)
    once, thrice = left_out_errors(some), left_out_errors([*some, *some, *some])
    assert len(thrice) == len(once)
    assert max(abs(error) for error, _ in thrice) > 0.3


def test_the_quantile_is_the_conformal_one() -> None:
    assert quantile(range(1, 20)) == 18
    assert quantile([3.0, 1.0, 2.0]) == 3.0


def test_too_few_layers_are_refused() -> None:
    with pytest.raises(CostModelError, match="too few layers"):
        fit_samples(samples(5, 7), WHERE)


def test_totals_add_deviations_within_a_kind_and_squares_across() -> None:
    def item(kind: str, cycles: float | None) -> OperatorEstimate:
        found = Predicted(reason="no") if cycles is None else Predicted(cycles, cycles - 30, cycles + 40)
        return OperatorEstimate(7, "ADD", kind, found)

    total = total_of([item("a", 100), item("a", 200), item("b", 300)])
    assert (total.cycles, total.low, total.high) == (600, 600 - (60**2 + 30**2) ** 0.5, 600 + (80**2 + 40**2) ** 0.5)
    missing = total_of([item("a", 100), item("b", None)])
    assert missing.cycles is None and "operator 7 (ADD)" in missing.reason


@pytest.fixture
def costs() -> CostModel:
    return CostModel((fit_samples(samples(60, 1, 0.1), WHERE),))


def test_a_file_gives_back_what_was_saved(costs: CostModel, tmp_path: Path) -> None:
    costs.save(tmp_path / "costs.json")
    again = load_cost_model(tmp_path / "costs.json")
    assert again == costs and again.identity == costs.identity


def test_a_changed_file_is_refused(costs: CostModel, tmp_path: Path) -> None:
    place = tmp_path / "costs.json"
    costs.save(place)
    data = json.loads(place.read_text())
    data["fits"][0]["quantile"] /= 2
    place.write_text(json.dumps(data))
    with pytest.raises(EvidenceError, match="no cost model") as raised:
        load_cost_model(place)
    assert "changed" in raised.value.why


def _sealed(place: Path, data: dict[str, object]) -> None:
    data.pop("record_hash", None)
    place.write_text(json.dumps({**data, "record_hash": semantic_hash("cost-model", data)}))


@pytest.mark.parametrize("fault", ["version", "width", "field", "negative", "conditions", "empty", "type"])
def test_a_file_that_contradicts_itself_is_refused(costs: CostModel, tmp_path: Path, fault: str) -> None:
    place = tmp_path / "costs.json"
    data = json.loads(json.dumps(costs.to_dict()))
    fit = data["fits"][0]
    if fault == "version":
        data["features_version"] += 1
    elif fault == "width":
        fit["kinds"][0]["coefficients"].pop()
    elif fault == "field":
        fit["more"] = 1
    elif fault == "negative":
        fit["kinds"][0]["coefficients"][0] = -1.0
    elif fault == "conditions":
        del fit["conditions"]["board"]
    elif fault == "empty":
        data["fits"] = []
    else:
        fit["layers"] = "many"
    _sealed(place, data)
    with pytest.raises(EvidenceError, match="no cost model"):
        load_cost_model(place)


def test_a_fit_answers_for_its_conditions_only(costs: CostModel) -> None:
    assert costs.for_conditions(WHERE) is costs.fits[0]
    assert costs.for_conditions({**WHERE, "compiler_version": "another"}) is costs.fits[0]
    with pytest.raises(CostModelError) as raised:
        costs.for_conditions({**WHERE, "optimization": "O3"})
    assert "optimization is O3" in raised.value.why and "model fit" in raised.value.todo


def test_of_several_versions_the_installed_one_answers(costs: CostModel) -> None:
    first = costs.fits[0]
    other = Fit(**{**vars(first), "conditions": {**first.conditions, "kernels_version": "2"}})
    both = CostModel((first, other))
    assert both.for_conditions(WHERE, {"kernels_version": "2"}) is other
    with pytest.raises(CostModelError, match="Several fits"):
        both.for_conditions(WHERE)


def test_the_packaged_file_is_for_both_emulated_boards() -> None:
    costs = packaged()
    keys = {(fit.conditions["board"], fit.conditions["engine_backend"]) for fit in costs.fits}
    assert keys == {(board, kernels) for board in ("mps2_an386", "mps3_an547") for kernels in ("portable", "cmsis-nn")}
    assert all(fit.conditions["source"] == "emulated" and fit.layers > 200 for fit in costs.fits)
    assert all(isinstance(kind, KindFit) for fit in costs.fits for kind in fit.kinds)
