"""The tests of `harness.judge.ranks` over many sessions at once, for simulations; the tails are those of the code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from harness.judge.looks import SequentialPlan
from harness.judge.ranks import _rank_sum_tail, _sign_tail

Floats = NDArray[np.float64]
Tail = Callable[[tuple[int, ...]], tuple[float, ...]]
CONTINUE, PASS, FAIL, INCONCLUSIVE = range(4)


def doubled_midranks(values: Floats) -> NDArray[np.int64]:
    """Twice the mid-rank of each value within its row."""
    order = np.sort(values, axis=-1)
    out = np.empty(values.shape, dtype=np.int64)
    for row in range(len(values)):
        out[row] = np.searchsorted(order[row], values[row], "left")
        out[row] += np.searchsorted(order[row], values[row], "right")
    return out + 1


def _tails(ranks: NDArray[np.int64], observed: NDArray[np.int64], tail: Tail) -> Floats:
    """The tail's value at each row's observed sum; rows with the same ranks share a tail. Ranks of zero are none."""
    patterns, which = np.unique(np.sort(ranks, axis=-1), axis=0, return_inverse=True)
    out = np.empty(len(ranks))
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        pattern = patterns[which[rows[0]]]
        table = np.asarray(tail(tuple(pattern[pattern > 0].tolist())))
        out[rows] = table[observed[rows]]
    return out


def larger_p(base: Floats, cand: Floats, shift: float) -> Floats:
    """As `ranks.larger_p`, for arrays of shape (sessions, pairs)."""
    moved = cand - shift
    pairs = base.shape[1]
    ranks = doubled_midranks(np.concatenate([base, moved], axis=1))
    unpaired = _tails(ranks, ranks[:, pairs:].sum(axis=1), lambda pattern: _rank_sum_tail.__wrapped__(pattern, pairs))
    difference = moved - base
    signed = doubled_midranks(np.abs(difference))
    paired = _tails(
        np.where(difference == 0, 0, signed), np.where(difference > 0, signed, 0).sum(axis=1), _sign_tail.__wrapped__
    )
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(unpaired, paired)))


def judged(
    base: Floats, cand: Floats, plan: SequentialPlan, allowed: float, margin: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(answers of the first look, answers at the end) of many sessions, as `sequential.decide` gives them."""
    last = np.full(len(base), CONTINUE)
    first = last
    for index, pairs in enumerate(plan.looks):
        rows = np.flatnonzero(last == CONTINUE)
        if not rows.size:
            break
        old, new = base[rows, :pairs], cand[rows, :pairs]
        failed = larger_p(old, new, allowed) <= plan.fail_level * plan.fail_shares[index]
        passed = larger_p(-old, -new, -(allowed + margin)) <= plan.pass_level * plan.pass_shares[index]
        open_ = INCONCLUSIVE if pairs == plan.budget else CONTINUE
        last[rows] = np.where(failed, FAIL, np.where(passed, PASS, open_))
        if index == 0:
            first = last.copy()
    return first, last
