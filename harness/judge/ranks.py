"""Exact rank tests for a shift between two sides, ties included, and the interval that they leave.

Both tests are one-sided and exact for the values at hand: mid-ranks are permuted as they are, never replaced by a table
for data without ties. Values that are all equal give p = 1.

* unpaired: the permutation test of the rank sum. Strong where runs scatter independently.
* paired: the signed-rank test of the differences. Holds under any drift, because the order inside each pair is random.

A combined p-value is twice the smaller of the two: each test at half the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LIMIT = 200


def _checked(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    base, cand = np.asarray(baseline, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if base.ndim != 1 or base.shape != cand.shape or not 1 <= base.size <= _LIMIT:
        raise ValueError(f"need 1 to {_LIMIT} pairs, one value a side")
    if not (np.isfinite(base).all() and np.isfinite(cand).all()):
        raise ValueError("values must be finite")
    return base, cand


def doubled_midranks(values: Floats) -> NDArray[np.int64]:
    """Twice the mid-rank of each value: integers, so that sums are exact. Equal values share a rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[inverse], dtype=np.int64)


@lru_cache(maxsize=4096)
def _rank_sum_tail(ranks: tuple[int, ...], chosen: int) -> tuple[float, ...]:
    """P(sum of `chosen` of the ranks, drawn without replacement, >= s) for every s from 0 to the sum of all."""
    top = sum(ranks)
    counts = np.zeros((chosen + 1, top + 1))
    counts[0, 0] = 1.0
    for rank in ranks:
        counts[1:, rank:] += counts[:-1, : top + 1 - rank]
    tail = np.cumsum(counts[chosen, ::-1])[::-1] / float(comb(len(ranks), chosen))
    return tuple(np.minimum(tail, 1.0).tolist())


@lru_cache(maxsize=4096)
def _sign_tail(ranks: tuple[int, ...]) -> tuple[float, ...]:
    """P(sum of the ranks that a fair coin each selects >= s) for every s from 0 to the sum of all."""
    top = sum(ranks)
    chance = np.zeros(top + 1)
    chance[0] = 1.0
    for rank in ranks:
        moved = np.zeros(top + 1)
        moved[rank:] = chance[: top + 1 - rank]
        chance = (chance + moved) / 2
    return tuple(np.minimum(np.cumsum(chance[::-1])[::-1], 1.0).tolist())


def unpaired_p(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats) -> float:
    """P-value against "the candidate is not larger": exact permutation of mid-ranks over all assignments."""
    base, cand = _checked(baseline, candidate)
    ranks = doubled_midranks(np.concatenate([base, cand]))
    observed = int(ranks[base.size :].sum())
    return _rank_sum_tail(tuple(sorted(int(rank) for rank in ranks)), cand.size)[observed]


def paired_p(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats) -> float:
    """P-value against "the candidate is not larger": exact signed-rank test of the differences.

    Differences of zero are ranked and then left out (Pratt 1959), so they weaken nothing that is not theirs.
    """
    base, cand = _checked(baseline, candidate)
    difference = cand - base
    ranks = doubled_midranks(np.abs(difference))
    observed = int(ranks[difference > 0].sum())
    return _sign_tail(tuple(sorted(int(rank) for rank in ranks[difference != 0])))[observed]


def larger_p(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats, shift: float = 0.0) -> float:
    """Combined p-value against "the candidate is larger by at most `shift`"."""
    base, cand = _checked(baseline, candidate)
    moved = cand - shift
    return min(1.0, 2.0 * min(unpaired_p(base, moved), paired_p(base, moved)))


def smaller_p(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats, shift: float = 0.0) -> float:
    """Combined p-value against "the candidate is larger by at least `shift`"."""
    base, cand = _checked(baseline, candidate)
    return larger_p(-base, -cand, -shift)


def hodges_lehmann(baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats) -> float:
    """Estimate of the shift: the median of the pairwise means of the differences (Hodges and Lehmann 1963).

    Of the paired form, so that drift over a session cancels.
    """
    base, cand = _checked(baseline, candidate)
    difference = cand - base
    first, second = np.triu_indices(difference.size)
    return float(np.median((difference[first] + difference[second]) / 2))


def shift_bounds(
    baseline: Sequence[float] | Floats, candidate: Sequence[float] | Floats, level: float
) -> tuple[float, float]:
    """One-sided bounds of the shift, each at `level`, by inverting the combined test.

    Every shift below the lower bound is rejected as too small, every shift above the upper one as too large. A bound is
    infinite where there are too few pairs to reject anything at that level.
    """
    base, cand = _checked(baseline, candidate)
    lower = _lower(base, cand, lambda shift: larger_p(base, cand, shift) <= level)
    upper = -_lower(-base, -cand, lambda shift: larger_p(-base, -cand, shift) <= level)
    return lower, upper


def _lower(base: Floats, cand: Floats, rejected: Callable[[float], bool]) -> float:
    """The largest shift that is rejected as too small. Tests change only where a difference crosses the shift."""
    difference = cand - base
    first, second = np.triu_indices(difference.size)
    points = np.unique(
        np.concatenate([(cand[:, None] - base[None, :]).ravel(), (difference[first] + difference[second]) / 2])
    )
    gaps = (points[1:] + points[:-1]) / 2
    probes = np.concatenate([[points[0] - 1.0], gaps, [points[-1] + 1.0]])
    low, high = 0, len(probes)
    if not rejected(float(probes[0])):
        return -inf
    while high - low > 1:
        middle = (low + high) // 2
        if rejected(float(probes[middle])):
            low = middle
        else:
            high = middle
    return float(points[low]) if low < len(points) else inf


def holm(p_values: Sequence[float], level: float) -> tuple[bool, ...]:
    """Which of several hypotheses to reject so that any false rejection has a chance of at most `level` (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = [False] * len(p_values)
    for step, index in enumerate(order):
        if p_values[index] > level / (len(order) - step):
            break
        rejected[index] = True
    return tuple(rejected)
