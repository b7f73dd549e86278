"""Judging all metrics of a merge from pairs of runs, without a board."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.own_profile import OwnPolicy, Statistics
from harness.judge.repeats import RepeatedVerdict, Series, benjamini_hochberg, judge_series, repeats_differ
from tests.campaigns.merges import merge

RULES = Statistics.from_dict({"fail_level": 0.01, "margin_pct": 3})


def series(base: Any, cand: Any, *, exact: bool = False, **policy: Any) -> Series:
    given_ = {"direction": "smaller", "unit": "us", **policy}
    sides = (tuple(map(float, side)) for side in (base, cand))
    return Series("m", "us", OwnPolicy.from_dict(given_), exact, *sides)


def judge(*items: Series) -> list[RepeatedVerdict]:
    return list(judge_series(items, RULES))


def noisy(seed: int, shift_pct: float, pairs: int = 30, sd: float = 10, **policy: Any) -> Series:
    rng = np.random.default_rng(seed)
    base, cand = rng.normal(1000, sd, pairs), rng.normal(1000 * (1 + shift_pct / 100), sd, pairs)
    return series(base, cand, **policy)


@pytest.mark.parametrize(
    ("shift", "policy", "status"),
    [
        (0, {}, "pass"),
        (5, {}, "fail"),
        (-5, {}, "improved"),
        (5, {"direction": "larger"}, "improved"),
        (-5, {"direction": "larger"}, "fail"),
        (5, {"direction": "equal"}, "fail"),
        (-5, {"direction": "equal"}, "fail"),
        (0, {"direction": "equal"}, "pass"),
        (5, {"max_regression_pct": 6}, "pass"),
        (5, {"max_regression_abs": 60}, "pass"),
        (5, {"max_regression_pct": 6, "warn_regression_pct": 1}, "warn"),
        (5, {"effect_floor_pct": 8, "margin_pct": 10}, "pass"),
        (1.5, {"sd": 40}, "inconclusive"),
    ],
)
def test_answers(shift: float, policy: dict[str, Any], status: str) -> None:
    (found,) = judge(noisy(3, shift, **policy))
    assert found.status == status
    assert found.shift == pytest.approx(10 * shift, abs=40)
    assert found.interval is not None and found.interval[0] <= found.shift <= found.interval[1]
    assert found.detectable is not None and found.allowed is not None and found.detectable > found.allowed


def test_too_few_pairs_ask_for_more() -> None:
    for pairs in (1, 2, 9):
        (found,) = judge(noisy(1, 5, pairs))
        assert found.status is None and "More" in found.message
    (found,) = judge(noisy(2, 1.5, 10, sd=60))
    assert found.status is None and found.pairs == 10


def test_the_first_failure_ends_the_merge() -> None:
    fail, open_ = judge(noisy(1, 5), noisy(2, 1.5, sd=40))
    assert (fail.status, fail.pairs) == ("fail", 10)
    assert (open_.status, open_.pairs) == ("inconclusive", 10)


def test_exact_metrics_need_no_statistics() -> None:
    equal, worse, better = judge(
        series([5, 5], [5, 5], exact=True), series([5, 5], [6, 6], exact=True), series([5, 5], [4, 4], exact=True)
    )
    assert [item.status for item in (equal, worse, better)] == ["pass", "fail", "improved"]
    assert worse.interval == (1, 1) and worse.exact


def test_repeats_that_differ_are_found_on_either_side() -> None:
    assert repeats_differ(series([5, 5], [6, 6], exact=True)) is None
    assert repeats_differ(series([5, 6], [6, 6], exact=True)) == ("baseline", (5, 6))
    assert repeats_differ(series([5, 5], [6, 7], exact=True)) == ("candidate", (6, 7))
    assert repeats_differ(series([5, 6], [6, 7])) is None


def test_many_metrics_share_the_level() -> None:
    """Ten pairs that one metric alone fails on do not fail it among two hundred."""
    seed = next(seed for seed in range(100) if 1e-4 < (judge(noisy(seed, 1.3, 10))[0].p_fail or 1) < 2e-3)
    assert judge(noisy(seed, 1.3, 10))[0].status == "fail"
    crowd = judge(noisy(seed, 1.3, 10), *(noisy(100 + i, 0, 10) for i in range(199)))
    assert crowd[0].status != "fail"


def test_equal_values_pass_and_zero_baselines_do_not_divide() -> None:
    assert judge(series([7.0] * 10, [7.0] * 10))[0].status == "pass"
    assert judge(series([0.0] * 10, [0.0] * 10))[0].status == "pass"
    assert judge(series([0.0] * 10, [5.0] * 10))[0].status == "fail"


@given(st.integers(0, 2**32), st.floats(0.5, 2))
@settings(max_examples=15, deadline=None)
def test_the_answer_does_not_depend_on_the_unit(seed: int, log_scale: float) -> None:
    plain = noisy(seed % 1000, 2.0)
    scale = 2.0 ** round(10 * log_scale)
    scaled = series([v * scale for v in plain.baseline], [v * scale for v in plain.candidate])
    (one,), (two,) = judge(plain), judge(scaled)
    assert (one.status, one.pairs, one.p_fail) == (two.status, two.pairs, two.p_fail)


def test_benjamini_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.9], 0.05) == (True, True, True, False)
    assert benjamini_hochberg([0.04, 0.04, 0.04, 0.04], 0.05) == (True,) * 4
    assert benjamini_hochberg([0.03, 0.5], 0.05) == (False, False)
    assert benjamini_hochberg([], 0.05) == ()


def test_simulated_merges_in_small() -> None:
    """The campaign `merges` does this in full."""
    rng = np.random.default_rng(2)
    assert sum("fail" in merge(rng) for _ in range(40)) == 0
    assert sum(merge(rng, 0.03)[0] == "fail" for _ in range(20)) >= 17
