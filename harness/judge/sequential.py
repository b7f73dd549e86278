"""Judging a noisy metric from pairs of runs, with looks planned in advance.

Runs of the two sides come in pairs on one board; which side goes first is drawn from a recorded seed, for a fixed
alternation lets drift pass as a shift. After each planned number of pairs the procedure looks once. With L the allowed
regression and d the metric's margin, both in its unit and larger being worse:

* `fail` when "shift <= L" is rejected;
* `pass` when "shift >= L + d" is rejected; `improved` when the shift's interval lies below zero as well;
* otherwise it asks for more pairs, and is `inconclusive` once the last look is spent.

The chance of a false `fail` over all looks is at most `fail_level`, that of a false `pass` at most `pass_level`: each
look spends its share of both (Bonferroni over looks), and the shares add up to one. The first look spends nearly all of
the first: with ten pairs the signed-rank test has few levels below 1 %, and with twenty it has plenty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.judge.looks import SequentialPlan
from harness.judge.ranks import hodges_lehmann, larger_p, shift_bounds, smaller_p

INTERVAL_LEVEL = 0.025
"""Level of each bound of the interval that is shown: 95 % together."""


class SequentialStatus(StrEnum):
    """What a look says. `continue` asks for more pairs; only pass and improved are true in a test."""

    PASS = "pass"
    IMPROVED = "improved"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    CONTINUE = "continue"


@dataclass(frozen=True)
class SequentialVerdict:
    """What one look found. Shift, interval and detectable change are in the metric's unit, larger being worse.

    `interval` holds with 95 % confidence. `detectable` is the shift beyond L that this procedure would have failed in
    about 95 of 100 sessions with noise as seen here; infinite with too few pairs.
    """

    status: SequentialStatus
    pairs: int
    shift: float
    interval: tuple[float, float]
    p_fail: float
    p_pass: float
    detectable: float
    allowed: float
    margin: float
    fail_level: float
    pass_level: float

    def __bool__(self) -> bool:
        return self.status in (SequentialStatus.PASS, SequentialStatus.IMPROVED)


def candidate_first(seed: int, pair: int) -> bool:
    """Whether the candidate runs first in a pair: a fair coin that anyone can throw again from the recorded seed."""
    return bool(hashlib.sha256(f"harness.pair-order/1:{seed}:{pair}".encode()).digest()[0] & 1)


def look(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    allowed: float,
    margin: float,
    plan: SequentialPlan | None = None,
    metrics: int = 1,
    effect_floor: float = 0.0,
) -> SequentialVerdict:
    """Judge the pairs so far. Call it at every planned look, in order, until it does not say `continue`.

    Args:
        baseline: one value a pair, in the order of pairs.
        candidate: the other value of each pair.
        allowed: L, how much larger the candidate may be, in the metric's unit. May be negative.
        margin: d > 0, how far beyond L a regression must be seen for sure.
        plan: looks and levels.
        metrics: how many metrics are judged in one merge; the fail level is shared among them (Bonferroni; `ranks.holm`
            over the p-values of one look is the sharper form).
        effect_floor: a `fail` also needs an estimated shift of at least L plus this.

    Raises:
        ValueError: values that are not finite, sides of different length, a margin that is not positive, or a number of
            pairs at which no look is planned.
    """
    plan = plan or SequentialPlan()
    if not margin > 0 or metrics < 1 or effect_floor < 0:
        raise ValueError("margin and the number of metrics must be positive, the effect floor not negative")
    status, p_fail, p_pass = decide(
        baseline, candidate, allowed=allowed, margin=margin, plan=plan, metrics=metrics, effect_floor=effect_floor
    )
    shift = hodges_lehmann(baseline, candidate)
    fail_level, pass_level = _levels(plan, len(baseline), metrics)
    return SequentialVerdict(
        status=status,
        pairs=len(baseline),
        shift=shift,
        interval=shift_bounds(baseline, candidate, INTERVAL_LEVEL),
        p_fail=p_fail,
        p_pass=p_pass,
        detectable=_detectable(baseline, candidate, shift, fail_level),
        allowed=allowed,
        margin=margin,
        fail_level=fail_level,
        pass_level=pass_level,
    )


def decide(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    allowed: float,
    margin: float,
    plan: SequentialPlan,
    metrics: int = 1,
    effect_floor: float = 0.0,
) -> tuple[SequentialStatus, float, float]:
    """The answer of one look with its two p-values, without the figures that are only shown; see `look`."""
    fail_level, pass_level = _levels(plan, len(baseline), metrics)
    p_fail = larger_p(baseline, candidate, allowed)
    p_pass = smaller_p(baseline, candidate, allowed + margin)
    failed = p_fail <= fail_level
    if failed and effect_floor:
        failed = hodges_lehmann(baseline, candidate) >= allowed + effect_floor
    if failed:
        return SequentialStatus.FAIL, p_fail, p_pass
    if p_pass <= pass_level:
        better = smaller_p(baseline, candidate, 0.0) <= INTERVAL_LEVEL
        return SequentialStatus.IMPROVED if better else SequentialStatus.PASS, p_fail, p_pass
    last = len(baseline) == plan.budget
    return SequentialStatus.INCONCLUSIVE if last else SequentialStatus.CONTINUE, p_fail, p_pass


def _levels(plan: SequentialPlan, pairs: int, metrics: int) -> tuple[float, float]:
    index = plan.look_at(pairs)
    if index is None:
        raise ValueError(f"no look is planned at {pairs} pairs")
    return plan.fail_level * plan.fail_shares[index] / metrics, plan.pass_level * plan.pass_shares[index]


def _detectable(baseline: Sequence[float], candidate: Sequence[float], shift: float, level: float) -> float:
    """How far the estimate must lie above L to be rejected, plus how far it falls short in one session of twenty."""
    critical = shift - shift_bounds(baseline, candidate, level)[0]
    short = shift_bounds(baseline, candidate, 0.05)[1] - shift
    return critical + short
