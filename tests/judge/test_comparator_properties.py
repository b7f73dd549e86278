"""Properties of the comparator that hold for any numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.judge.metrics import MetricDiff
from harness.judge.profile import MetricDirection, MetricPolicy, MissingMetricPolicy
from harness.judge.verdict import (
    MetricVerdict,
    VerdictStatus,
    allowed_regression,
    judge_metric,
    judge_parts,
    regression,
    worst,
)

finite = st.floats(-1e12, 1e12, allow_nan=False)
bounds = st.none() | st.floats(0, 1e6)
directions = st.sampled_from(list(MetricDirection))
statuses = st.sampled_from(list(VerdictStatus))


def judge(
    old: Any, new: Any, direction: MetricDirection = MetricDirection.SMALLER, unit: str = "u", **bound: Any
) -> MetricVerdict:
    row = MetricDiff("m", old, new, unit="u")
    return judge_metric("m", row, MetricPolicy(direction, unit, **bound), MissingMetricPolicy.FAIL)


def passes(*args: Any, **more: Any) -> bool:
    return judge(*args, **more).status is VerdictStatus.PASS


@given(finite, finite, directions, bounds, bounds)
def test_the_definition(old: float, new: float, direction: MetricDirection, pct: Any, absolute: Any) -> None:
    verdict = judge(old, new, direction, max_regression_pct=pct, max_regression_abs=absolute)
    assert verdict.regression == regression(old, new, direction)
    assert verdict.allowed_regression is not None and verdict.regression is not None
    assert (verdict.status is VerdictStatus.PASS) == (verdict.regression <= verdict.allowed_regression)


@given(finite, directions, bounds, bounds)
def test_no_change_passes(value: float, direction: MetricDirection, pct: Any, absolute: Any) -> None:
    assert passes(value, value, direction, max_regression_pct=pct, max_regression_abs=absolute)


@given(finite, finite, bounds, bounds)
def test_an_improvement_passes_unless_equality_is_asked_for(old: float, new: float, pct: Any, absolute: Any) -> None:
    low, high = min(old, new), max(old, new)
    given_bounds = {"max_regression_pct": pct, "max_regression_abs": absolute}
    assert passes(high, low, MetricDirection.SMALLER, **given_bounds)
    assert passes(low, high, MetricDirection.LARGER, **given_bounds)
    if low < high:
        assert not passes(high, low, MetricDirection.EQUAL)


@given(finite, finite, finite, directions)
def test_monotony_in_the_candidate(old: float, first: float, second: float, direction: MetricDirection) -> None:
    """What is at least as bad as a failure fails too."""
    better, worse = sorted((first, second), key=lambda value: regression(old, value, direction))
    if not passes(old, better, direction, max_regression_abs=5.0):
        assert not passes(old, worse, direction, max_regression_abs=5.0)


@given(finite, finite, directions, st.floats(0, 1e6), st.floats(0, 1e6))
def test_monotony_in_the_bounds(old: float, new: float, direction: MetricDirection, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    for name in ("max_regression_pct", "max_regression_abs"):
        if passes(old, new, direction, **{name: low}):
            assert passes(old, new, direction, **{name: high})


@given(finite, finite, bounds, bounds)
def test_smaller_and_larger_are_mirror_images(old: float, new: float, pct: Any, absolute: Any) -> None:
    given_bounds = {"max_regression_pct": pct, "max_regression_abs": absolute}
    first = judge(old, new, MetricDirection.SMALLER, **given_bounds)
    second = judge(-old, -new, MetricDirection.LARGER, **given_bounds)
    assert (first.status, first.regression, first.allowed_regression) == (
        second.status,
        second.regression,
        second.allowed_regression,
    )


@given(finite, finite, st.floats(0, 1e6))
def test_an_absolute_equality_bound_is_symmetric(old: float, new: float, absolute: float) -> None:
    bound = {"max_regression_abs": absolute}
    assert passes(old, new, MetricDirection.EQUAL, **bound) == passes(new, old, MetricDirection.EQUAL, **bound)


@given(st.integers(1, 10**9), st.integers(0, 100))
def test_just_under_at_and_over_a_percentage(base: int, pct: int) -> None:
    """Of baselines that are multiples of a hundred, percentages are whole numbers and no rounding takes part."""
    old = float(base * 100)
    bound = base * pct
    assert passes(old, old + bound, max_regression_pct=pct)
    assert passes(old, old + bound - 1, max_regression_pct=pct)
    assert not passes(old, old + bound + 1, max_regression_pct=pct)


@given(finite, st.integers(0, 10**6))
def test_just_under_at_and_over_an_absolute_bound(start: float, bound: int) -> None:
    old = float(round(start))
    assert passes(old, old + bound, max_regression_abs=bound)
    assert not passes(old, old + bound + 1, max_regression_abs=bound)
    assert passes(old, old - bound, MetricDirection.LARGER, max_regression_abs=bound)
    assert not passes(old, old - bound - 1, MetricDirection.LARGER, max_regression_abs=bound)


@given(st.floats(1e-6, 1e9), st.floats(0, 1e3), directions)
def test_of_a_zero_baseline_a_percentage_allows_nothing(new: float, pct: float, direction: MetricDirection) -> None:
    assert allowed_regression(0.0, MetricPolicy(direction, "u", max_regression_pct=pct)) == 0.0
    assert not passes(0.0, new, MetricDirection.SMALLER, max_regression_pct=pct)
    assert passes(0.0, new, MetricDirection.SMALLER, max_regression_abs=new)


@given(finite, st.floats(0, 1e3))
def test_the_sign_of_the_baseline_does_not_change_what_is_allowed(old: float, pct: float) -> None:
    policy = MetricPolicy(MetricDirection.SMALLER, "u", max_regression_pct=pct)
    assert allowed_regression(old, policy) == allowed_regression(-old, policy) >= 0


@given(finite, st.sampled_from([math.nan, math.inf, -math.inf, "nan", "inf", "x", True, [], {}, 10**400]), directions)
def test_what_is_no_finite_number_fails_on_either_side(value: float, odd: Any, direction: MetricDirection) -> None:
    for pair in ((value, odd), (odd, value)):
        verdict = judge(*pair, direction, max_regression_abs=1e300)
        assert verdict.status is VerdictStatus.FAIL
        assert verdict.baseline is None and verdict.candidate is None


@given(finite, finite, directions)
def test_another_unit_fails_whatever_the_numbers(old: float, new: float, direction: MetricDirection) -> None:
    assert judge(old, new, direction, unit="v", max_regression_abs=1e300).status is VerdictStatus.FAIL


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (MissingMetricPolicy.FAIL, VerdictStatus.FAIL),
        (MissingMetricPolicy.WARN, VerdictStatus.WARN),
        (MissingMetricPolicy.IGNORE, VerdictStatus.SKIP),
    ],
)
@pytest.mark.parametrize("pair", [(None, 1.0), (1.0, None), (None, None), None])
def test_absence(policy: MissingMetricPolicy, status: VerdictStatus, pair: Any) -> None:
    row = MetricDiff("m", *pair, unit="u") if pair is not None else None
    assert judge_metric("m", row, MetricPolicy(MetricDirection.SMALLER, "u"), policy).status is status


@given(st.lists(statuses))
def test_the_overall_status_does_not_depend_on_order(items: list[VerdictStatus]) -> None:
    assert worst(items) == worst(reversed(items)) == worst(set(items))


@given(st.lists(statuses), statuses)
def test_one_more_verdict_never_hides_a_failure(items: list[VerdictStatus], extra: VerdictStatus) -> None:
    if worst(items) is VerdictStatus.FAIL:
        assert worst([*items, extra]) is VerdictStatus.FAIL
    if extra is VerdictStatus.FAIL:
        assert worst([*items, extra]) is VerdictStatus.FAIL


def test_overall_table() -> None:
    passed, warned, failed, skipped = VerdictStatus.PASS, VerdictStatus.WARN, VerdictStatus.FAIL, VerdictStatus.SKIP
    assert worst([]) is skipped
    assert worst([skipped, skipped]) is skipped
    assert worst([skipped, passed]) is passed
    assert worst([passed, warned, skipped]) is warned
    assert worst([passed, warned, failed]) is failed


@given(st.floats(1, 1e9), st.floats(1.0001, 10))
def test_scaling_both_sides_keeps_a_percentage_verdict(old: float, factor: float) -> None:
    new = old * factor
    pct = (factor - 1) * 100
    assume(abs(pct) > 1e-6)
    for scale in (0.5, 2.0, 1024.0):
        assert passes(old, new, max_regression_pct=pct * 1.001) == passes(
            old * scale, new * scale, max_regression_pct=pct * 1.001
        )


def test_a_name_without_rows_is_missing_and_one_with_many_gives_one_verdict_each() -> None:
    policies = {
        "layer[*].cycles": MetricPolicy(MetricDirection.SMALLER, "u"),
        "gone": MetricPolicy(MetricDirection.SMALLER, "u", missing=MissingMetricPolicy.WARN),
    }
    rows = {"layer[*].cycles": [MetricDiff(f"layer[{i}].cycles", 1.0, 1.0 + i, unit="u") for i in range(2)]}
    found = [(item.metric, item.status.value) for item in judge_parts(rows, policies, MissingMetricPolicy.FAIL)]
    assert found == [("layer[0].cycles", "pass"), ("layer[1].cycles", "fail"), ("gone", "warn")]
