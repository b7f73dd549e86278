"""Simulated merges of 40 correlated metrics: how often one without a change fails, how often a slower layer is caught.

python -m tests.campaigns merges [MERGES [SEED]]
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from harness.judge.own_profile import OwnPolicy, Statistics
from harness.judge.repeats import Series, settle
from tests.campaigns.limits import upper

METRICS = 40
SHARED = 0.5
"""Part of the variance that all metrics of a run share."""
POLICY = OwnPolicy.from_dict({"direction": "smaller", "unit": "cycles", "margin_pct": 3})
RULES = Statistics()


def runs(rng: np.random.Generator, count: int, metrics: int = METRICS) -> np.ndarray:
    """Runs in time: 1 % noise a metric, half of it shared, 5 % outliers of ten sd, a drift of three sd a session."""
    own = rng.normal(size=(count, metrics)) * np.where(rng.random((count, metrics)) < 0.05, 10.0, 1.0)
    shared = rng.normal(size=(count, 1))
    drift = 3.0 * np.arange(count)[:, None] / count
    return 1e5 * (1 + 0.01 * (np.sqrt(1 - SHARED) * own + np.sqrt(SHARED) * shared + drift))


def merge(rng: np.random.Generator, slower: float = 0.0) -> list[str]:
    """Statuses of all metrics of one merge; the first metric of the head is slower by that part."""
    budget = RULES.plan.budget
    values = runs(rng, 2 * budget).reshape(budget, 2, METRICS)
    first = rng.random(budget) < 0.5
    base = np.where(first[:, None], values[:, 1], values[:, 0])
    head = np.where(first[:, None], values[:, 0], values[:, 1])
    head[:, 0] *= 1 + slower
    items = [
        Series(f"m{i}", "cycles", POLICY, False, tuple(base[:, i].tolist()), tuple(head[:, i].tolist()))
        for i in range(METRICS)
    ]
    return [str(item.status) for item in settle(items, RULES)]


def main(arguments: list[str]) -> int:
    """Returns 0 when at most one merge without a change in a thousand fails, and 95 of 100 slower layers are caught."""
    count = int(arguments[0]) if arguments else 20_000
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    rng = np.random.default_rng([seed, 0])
    seen: Counter[str] = Counter()
    for number in range(count):
        statuses = merge(rng)
        seen["fail" if "fail" in statuses else "inconclusive" if "inconclusive" in statuses else "pass"] += 1
        if (number + 1) % 1000 == 0:
            print(f"{number + 1} merges: {dict(seen)}", flush=True)
    limit = upper(seen["fail"], count)
    print(f"no change, seed {seed}: {seen['fail']} of {count} fail ({seen['fail'] / count:.3%}, at most {limit:.3%}), "
          f"{seen['inconclusive']} inconclusive")  # fmt: skip
    rng = np.random.default_rng([seed, 1])
    trials = max(count // 20, 100)
    caught = sum(merge(rng, 0.03)[0] == "fail" for _ in range(trials))
    print(f"one metric 3 % slower: {caught} of {trials} caught and named")
    return 0 if seen["fail"] / count <= 0.001 and caught / trials >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
