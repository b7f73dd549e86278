"""Judging all metrics of a merge from pairs of runs: exact ones as they are, noisy ones look by look.

Pure: the same pairs always give the same answer, for looks that have been are judged again from the same numbers. At
each look Holm's procedure shares the level of `fail` among the noisy metrics, and a `fail` also needs an estimated
shift of at least L plus the metric's effect floor. What passed at one look is not looked at again; the first `fail`
ends the merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from harness.judge.metrics import MetricDiff
from harness.judge.own_profile import OwnPolicy, Statistics
from harness.judge.profile import MetricDirection, MetricPolicy, MissingMetricPolicy
from harness.judge.ranks import hodges_lehmann, larger_p, shift_bounds, smaller_p
from harness.judge.sequential import INTERVAL_LEVEL
from harness.judge.status import OutcomeStatus
from harness.judge.verdict import judge_metric

Floats = NDArray[np.float64]
FLOOR_OF_MARGIN = 0.25


@dataclass(frozen=True)
class Series:
    """One metric over the pairs so far: a value a side and pair, in the order of pairs, in the metric's unit."""

    name: str
    unit: str
    policy: MetricPolicy
    exact: bool
    baseline: tuple[float, ...]
    candidate: tuple[float, ...]


@dataclass(frozen=True)
class RepeatedVerdict:
    """What the pairs say of one metric.

    `shift` estimates candidate less baseline, `interval` holds it with 95 % confidence. `detectable` is the regression
    that a session like this one would have failed 95 times in 100. `status` is None while more pairs are wanted.
    """

    metric: str
    status: OutcomeStatus | None
    message: str
    unit: str = ""
    exact: bool = False
    pairs: int = 0
    baseline: float | None = None
    candidate: float | None = None
    shift: float | None = None
    interval: tuple[float, float] | None = None
    allowed: float | None = None
    margin: float | None = None
    detectable: float | None = None
    p_fail: float | None = None
    p_pass: float | None = None

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        status = self.status.value if self.status is not None else "continue"
        return {**vars(self), "status": status, "interval": list(self.interval) if self.interval else None}


@dataclass(frozen=True)
class _Bounds:
    """One noisy metric turned so that larger is worse; `both` when a change either way is."""

    base: Floats
    cand: Floats
    allowed: float
    margin: float
    floor: float
    both: bool

    @classmethod
    def of(cls, item: Series, statistics: Statistics) -> _Bounds:
        policy = item.policy
        sign = -1.0 if policy.direction is MetricDirection.LARGER else 1.0
        base, cand = (sign * np.asarray(side, dtype=np.float64) for side in (item.baseline, item.candidate))
        size = abs(float(np.median(base)))
        allowed = max(policy.max_regression_abs or 0.0, size * (policy.max_regression_pct or 0.0) / 100.0)
        margin_pct, margin_abs, floor_pct = statistics.margin_pct, 0.0, statistics.effect_floor_pct
        if isinstance(policy, OwnPolicy):
            if policy.margin_pct is not None or policy.margin_abs is not None:
                margin_pct, margin_abs = policy.margin_pct or 0.0, policy.margin_abs or 0.0
            floor_pct = policy.effect_floor_pct if policy.effect_floor_pct is not None else floor_pct
        margin = max(margin_abs, size * margin_pct / 100.0) or 1.0
        floor = FLOOR_OF_MARGIN * margin if floor_pct is None else size * floor_pct / 100.0
        return cls(base, cand, allowed, margin, floor, policy.direction is MetricDirection.EQUAL)

    def p_fail(self, pairs: int) -> float:
        base, cand = self.base[:pairs], self.cand[:pairs]
        p = larger_p(base, cand, self.allowed)
        return min(1.0, 2 * min(p, larger_p(-base, -cand, self.allowed))) if self.both else p

    def p_pass(self, pairs: int) -> float:
        base, cand = self.base[:pairs], self.cand[:pairs]
        p = smaller_p(base, cand, self.allowed + self.margin)
        return max(p, smaller_p(-base, -cand, self.allowed + self.margin)) if self.both else p

    def over_floor(self, pairs: int) -> bool:
        shift = hodges_lehmann(self.base[:pairs], self.cand[:pairs])
        return (abs(shift) if self.both else shift) >= self.allowed + self.floor

    def better(self, pairs: int) -> bool:
        return not self.both and smaller_p(self.base[:pairs], self.cand[:pairs], 0.0) <= INTERVAL_LEVEL


@dataclass(frozen=True)
class Settled:
    """Where the judgement of one noisy metric ended: after how many pairs, how, and with which p-values."""

    status: OutcomeStatus | None
    pairs: int
    p_fail: float
    p_pass: float
    fail_level: float


def settle(items: Sequence[Series], statistics: Statistics) -> tuple[Settled, ...]:
    """Judge noisy metrics look by look, as far as their pairs go. A status of None asks for more pairs."""
    plan = statistics.plan
    bounds = [_Bounds.of(item, statistics) for item in items]
    pairs = min((len(item.baseline) for item in items), default=0)
    settled: dict[int, Settled] = {}
    latest: dict[int, Settled] = {}
    for index, look in enumerate(plan.looks):
        if look > pairs or len(settled) == len(items):
            break
        left = [i for i in range(len(items)) if i not in settled]
        p_fail = {i: bounds[i].p_fail(look) for i in left}
        share, holding = plan.fail_level * plan.fail_shares[index], True
        for step, i in enumerate(sorted(left, key=lambda i: p_fail[i])):
            level = share / (len(items) - step)
            holding = holding and p_fail[i] <= level
            p_pass = bounds[i].p_pass(look)
            status = None
            if holding and bounds[i].over_floor(look):
                status = OutcomeStatus.FAIL
            elif p_pass <= plan.pass_level * plan.pass_shares[index]:
                status = OutcomeStatus.IMPROVED if bounds[i].better(look) else OutcomeStatus.PASS
            elif look == plan.budget:
                status = OutcomeStatus.INCONCLUSIVE
            latest[i] = Settled(status, look, p_fail[i], p_pass, level)
            if status is not None:
                settled[i] = latest[i]
        if any(item.status is OutcomeStatus.FAIL for item in settled.values()):
            # The merge has failed; what is still open stays so.
            for i in left:
                settled.setdefault(i, Settled(OutcomeStatus.INCONCLUSIVE, look, p_fail[i], latest[i].p_pass, share))
    unseen = Settled(None, pairs, 1.0, 1.0, 0.0)
    return tuple(settled.get(i, latest.get(i, unseen)) for i in range(len(items)))


def judge_series(items: Sequence[Series], statistics: Statistics) -> tuple[RepeatedVerdict, ...]:
    """Verdicts on all metrics of a merge, in their order."""
    found = iter(settle([item for item in items if not item.exact], statistics))
    return tuple(_exact(item) if item.exact else _noisy(item, next(found), statistics) for item in items)


def repeats_differ(item: Series) -> tuple[str, tuple[float, ...]] | None:
    """The side of an exact metric whose runs gave different numbers, with them; None when all is well."""
    for role, values in (("baseline", item.baseline), ("candidate", item.candidate)):
        if item.exact and len(set(values)) > 1:
            return role, values
    return None


def _exact(item: Series) -> RepeatedVerdict:
    old, new = item.baseline[0], item.candidate[0]
    row = MetricDiff(item.name, old, new, unit=item.unit)
    verdict = judge_metric(item.name, row, item.policy, MissingMetricPolicy.FAIL)
    status = OutcomeStatus(verdict.status.value)
    sign = -1.0 if item.policy.direction is MetricDirection.LARGER else 1.0
    if status is OutcomeStatus.PASS and item.policy.direction is not MetricDirection.EQUAL and sign * (new - old) < 0:
        status = OutcomeStatus.IMPROVED
    shift = new - old
    return RepeatedVerdict(
        item.name, status, f"Exact. {verdict.message}", item.unit, True, len(item.baseline), old, new, shift,
        (shift, shift), verdict.allowed_regression, 0.0, 0.0, None, None,
    )  # fmt: skip


_SAYS = {
    OutcomeStatus.FAIL: "Worse than allowed.",
    OutcomeStatus.PASS: "Not worse than allowed plus margin.",
    OutcomeStatus.IMPROVED: "Better.",
    OutcomeStatus.INCONCLUSIVE: "Neither is sure.",
}


def _noisy(item: Series, found: Settled, statistics: Statistics) -> RepeatedVerdict:
    bounds = _Bounds.of(item, statistics)
    pairs = found.pairs
    base, cand = bounds.base[:pairs], bounds.cand[:pairs]
    shift = hodges_lehmann(base, cand)
    low, high = shift_bounds(base, cand, INTERVAL_LEVEL)
    detectable = inf
    if found.fail_level > 0:
        critical = shift - shift_bounds(base, cand, found.fail_level)[0]
        detectable = max(critical, bounds.floor) + shift_bounds(base, cand, 0.05)[1] - shift + bounds.allowed
    status, message = found.status, _SAYS[found.status] if found.status is not None else "More pairs are wanted."
    warned = isinstance(item.policy, OwnPolicy) and item.policy.warns(float(np.median(base)), shift)
    if status is OutcomeStatus.PASS and warned:
        status, message = OutcomeStatus.WARN, "Not worse than allowed plus margin, but over the warn bound."
    if item.policy.direction is MetricDirection.LARGER:
        shift, low, high = -shift, -high, -low
    return RepeatedVerdict(
        item.name, status, message, item.unit, False, pairs, float(np.median(item.baseline[:pairs])),
        float(np.median(item.candidate[:pairs])), shift, (low, high), bounds.allowed, bounds.margin, detectable,
        found.p_fail, found.p_pass,
    )  # fmt: skip


def benjamini_hochberg(p_values: Sequence[float], level: float) -> tuple[bool, ...]:
    """Which of many hypotheses to call rejected with that false-discovery rate: for tables people explore, no gate."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    last = max((n for n, i in enumerate(order, 1) if p_values[i] <= level * n / len(order)), default=0)
    chosen = set(order[:last])
    return tuple(i in chosen for i in range(len(p_values)))


def policies_of(metrics: Mapping[str, MetricPolicy], own: Mapping[str, OwnPolicy]) -> dict[str, MetricPolicy]:
    """All policies of a profile by metric; those of the `harness` field decide where both name one."""
    return {**metrics, **own}
