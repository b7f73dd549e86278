"""Exact rank tests against brute force, their interval, the sequential procedure and its error rates."""

from __future__ import annotations

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.ranks import (
    doubled_midranks,
    hodges_lehmann,
    holm,
    larger_p,
    paired_p,
    shift_bounds,
    smaller_p,
    unpaired_p,
)
from harness.judge.sequential import SequentialPlan, SequentialStatus, candidate_first, decide, look
from tests.judge.many_sessions import CONTINUE, FAIL, INCONCLUSIVE, PASS, judged
from tests.judge.noise_models import HARD, NOISES, session, sessions
from tests.judge.statistics_campaign import tally

few = st.integers(1, 5).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n)] * 2)
)
many = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.floats(-100, 100).map(lambda x: round(x, 2)), min_size=n, max_size=n)] * 2)
)


def brute_unpaired(base: list[float], cand: list[float]) -> float:
    ranks = doubled_midranks(np.array([*base, *cand]))
    observed = ranks[len(base) :].sum()
    sums = [sum(chosen) for chosen in itertools.combinations(ranks.tolist(), len(cand))]
    return sum(value >= observed for value in sums) / len(sums)


def brute_paired(base: list[float], cand: list[float]) -> float:
    difference = np.array(cand) - np.array(base)
    ranks = doubled_midranks(np.abs(difference))
    kept = ranks[difference != 0].tolist()
    observed = int(ranks[difference > 0].sum())
    sums = [
        sum(r for r, s in zip(kept, signs, strict=True) if s) for signs in itertools.product((0, 1), repeat=len(kept))
    ]
    return sum(value >= observed for value in sums) / len(sums)


@given(few)
@settings(max_examples=80, deadline=None)
def test_both_tests_are_exact_with_ties(sides: tuple[list[float], list[float]]) -> None:
    base, cand = sides
    assert unpaired_p(base, cand) == pytest.approx(brute_unpaired(base, cand), rel=1e-12)
    assert paired_p(base, cand) == pytest.approx(brute_paired(base, cand), rel=1e-12)


def test_known_values_without_ties() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.5]
    assert unpaired_p(low, high) == pytest.approx(1 / 70)
    assert unpaired_p(high, low) == pytest.approx(1.0)
    assert paired_p(low, high) == pytest.approx(1 / 16)
    ten = list(map(float, range(10)))
    assert paired_p(ten, [value + 1 + value / 100 for value in ten]) == pytest.approx(1 / 1024)
    assert unpaired_p(ten, [value + 100 for value in ten]) == pytest.approx(1 / 184756)


@given(st.floats(-1e6, 1e6), st.integers(1, 30))
def test_all_equal_is_no_evidence(value: float, pairs: int) -> None:
    assert unpaired_p([value] * pairs, [value] * pairs) == 1.0
    assert paired_p([value] * pairs, [value] * pairs) == 1.0
    assert larger_p([value] * pairs, [value] * pairs) == 1.0


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(-3, 3), st.floats(-3, 3))
@settings(max_examples=100, deadline=None)
def test_a_larger_shift_is_harder_to_reject_as_too_small(seed: int, pairs: int, a: float, b: float) -> None:
    """For values without ties, whose null distribution is the same at every shift."""
    base, cand = np.random.default_rng(seed).normal(size=(2, pairs))
    low, high = min(a, b), max(a, b)
    for test in (unpaired_p, paired_p):
        assert test(base, cand - low) <= test(base, cand - high) + 1e-12
    assert smaller_p(base, cand, low) == larger_p(-base, -cand, -low)


@given(many, st.floats(0.001, 0.2))
@settings(max_examples=40, deadline=None)
def test_bounds_enclose_what_is_not_rejected(sides: tuple[list[float], list[float]], level: float) -> None:
    lower, upper = shift_bounds(*sides, level)
    assert lower <= upper
    span = np.ptp(np.concatenate(sides)) + 1
    if lower > -inf:
        assert larger_p(*sides, lower - span) <= level
    if upper < inf:
        assert smaller_p(*sides, upper + span) <= level
    if -inf < lower < upper < inf:
        middle = (lower + upper) / 2
        assert larger_p(*sides, middle) > level or smaller_p(*sides, middle) > level


def test_too_few_pairs_bound_nothing() -> None:
    assert shift_bounds([1.0, 2.0], [3.0, 4.0], 0.01) == (-inf, inf)


def test_the_interval_covers_the_shift() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(150):
        base, cand = session(rng, NOISES["student t3"][0], 10, 1.7)
        lower, upper = shift_bounds(base, cand, 0.025)
        covered += lower <= 1.7 <= upper
    assert covered >= 136  # 95 % of 150 is 142.5; fewer than 136 has a chance of about 1 %


def test_the_estimate_is_the_shift_under_drift() -> None:
    rng = np.random.default_rng(6)
    found = [hodges_lehmann(*session(rng, NOISES["drift 20 sigma"][0], 10, 5.0)) for _ in range(200)]
    assert np.mean(found) == pytest.approx(5.0, abs=0.15)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05) == (True, False, False, True)
    assert holm([], 0.05) == ()
    assert holm([0.01, 0.02], 0.05) == (True, True)
    assert holm([0.2, 0.001], 0.05) == (False, True)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.2))
def test_holm_rejects_at_least_what_bonferroni_does(values: list[float], level: float) -> None:
    for value, rejected in zip(values, holm(values, level), strict=True):
        if value <= level / len(values):
            assert rejected
        if value > level:
            assert not rejected


@pytest.mark.parametrize("values", [[1.0, np.nan], [1.0, np.inf], []])
def test_what_cannot_be_ranked_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError):
        larger_p(values, values)
    with pytest.raises(ValueError):
        larger_p([1.0], [1.0, 2.0])


def test_the_order_of_a_pair_is_a_fair_coin_that_can_be_thrown_again() -> None:
    drawn = [candidate_first(7, pair) for pair in range(2000)]
    assert drawn == [candidate_first(7, pair) for pair in range(2000)]
    assert 900 < sum(drawn) < 1100
    assert drawn != [candidate_first(8, pair) for pair in range(2000)]
    switches = sum(a != b for a, b in itertools.pairwise(drawn))
    assert 900 < switches < 1100


def ten(shift: float, *, spread: float = 0.1) -> tuple[list[float], list[float]]:
    base = [100 + spread * ((7 * i) % 10 - 4.5) for i in range(10)]
    return base, [100 + shift + spread * ((3 * i) % 10 - 4.5) for i in range(10)]


def test_answers_of_the_first_look() -> None:
    def status(shift: float, allowed: float = 1.0, margin: float = 1.0, **more: float) -> SequentialStatus:
        return look(*ten(shift), allowed=allowed, margin=margin, **more).status

    assert status(5.0) is SequentialStatus.FAIL
    assert status(0.0) is SequentialStatus.PASS
    assert status(-5.0) is SequentialStatus.IMPROVED
    assert status(1.5) is SequentialStatus.FAIL
    assert status(1.5, effect_floor=1.0) is SequentialStatus.PASS
    assert status(1.2, effect_floor=5.0, margin=0.2) is SequentialStatus.CONTINUE


def test_the_last_look_ends_it() -> None:
    plan = SequentialPlan(looks=(10,), fail_shares=(1.0,), pass_shares=(1.0,))
    verdict = look(*ten(1.0, spread=5.0), allowed=0.0, margin=0.5, plan=plan)
    assert verdict.status is SequentialStatus.INCONCLUSIVE
    assert not verdict
    assert verdict.interval[0] < verdict.shift < verdict.interval[1]
    assert verdict.detectable > 0


def test_exact_metrics_that_moved_fail_and_that_did_not_pass() -> None:
    assert look([5.0] * 10, [6.0] * 10, allowed=0.0, margin=0.5).status is SequentialStatus.FAIL
    assert look([5.0] * 10, [5.0] * 10, allowed=0.0, margin=0.5).status is SequentialStatus.PASS


def test_plans_and_calls_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="no look"):
        look([1.0] * 5, [1.0] * 5, allowed=0.0, margin=1.0)
    with pytest.raises(ValueError, match="margin"):
        look(*ten(0.0), allowed=0.0, margin=0.0)
    with pytest.raises(ValueError):
        SequentialPlan(looks=(10, 10, 20))
    with pytest.raises(ValueError):
        SequentialPlan(fail_shares=(0.9, 0.2, 0.2))
    with pytest.raises(ValueError):
        SequentialPlan(fail_level=0.7)


@pytest.mark.parametrize("name", ["student t3", "tick 2 sigma", "drift 60 sigma", "tick 4 sigma"])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_the_simulation_answers_as_the_procedure_does(name: str, shift: float) -> None:
    noise, tick = {**NOISES, **HARD}[name]
    plan = SequentialPlan()
    base, cand = sessions(np.random.default_rng(8), noise, 12, plan.budget, shift, tick)
    first, last = judged(base, cand, plan, 0.0, 3.0)
    names = {CONTINUE: "continue", PASS: "pass", FAIL: "fail", INCONCLUSIVE: "inconclusive"}
    for row, (old, new) in enumerate(zip(base, cand, strict=True)):
        answers = []
        for pairs in plan.looks:
            answers.append(decide(old[:pairs], new[:pairs], allowed=0.0, margin=3.0, plan=plan)[0].value)
            if answers[-1] != "continue":
                break
        answers = ["pass" if answer == "improved" else answer for answer in answers]
        assert [names[int(first[row])], names[int(last[row])]] == [answers[0], answers[-1]]


@pytest.mark.parametrize("name", [*NOISES, "cauchy"])
def test_error_rates_of_the_whole_procedure(name: str) -> None:
    """A small simulation with room for chance; the campaign runs the large one."""
    got = tally(name, 150, seed=11)
    assert got.false_alarms <= 6  # 1 % of 150 is 1.5; more than 6 has a chance of 1 in 1000
    if name in NOISES:
        assert got.missed_at_first_look <= 17  # 5 % is 7.5; more than 17 has a chance of 1 in 1000
        assert got.inconclusive <= 17
