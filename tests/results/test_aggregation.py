"""From samples to one figure: each method, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.results.aggregate import WRAP_LIMIT, aggregate


def one(values: list[int], method: str = "median", name: str = "ARM_PMU_CPU_CYCLES") -> float:
    samples = np.array(values, dtype=np.uint64).reshape(-1, 1, 1)
    return float(aggregate(samples, (name,), cycles=0, method=method).values[0, 0])


def test_methods() -> None:
    values = [1, 2, 3, 4, 100]
    assert one(values) == 3
    assert one(values, "mean") == 22
    assert one(values, "trimmed") == 3
    assert one([1, 2], "trimmed") == 1.5
    assert one([1, 2, 3, 4]) == 2.5
    with pytest.raises(ValueError, match="unknown"):
        one(values, "mode")


def test_rejections() -> None:
    assert one([5, WRAP_LIMIT, 7]) == 6
    assert one([5, WRAP_LIMIT - 1, 5]) == 5
    assert one([5, 0, 7]) == 6
    assert one([0, 0, 0]) == 0
    assert np.isnan(one([WRAP_LIMIT, WRAP_LIMIT]))
    assert one([WRAP_LIMIT, WRAP_LIMIT + 2], name="emulator.energy_fj") == WRAP_LIMIT + 1


@given(st.lists(st.integers(1, WRAP_LIMIT - 1), min_size=1, max_size=30))
def test_an_aggregate_lies_between_the_extremes(values: list[int]) -> None:
    for method in ("median", "mean", "trimmed"):
        slack = max(values) * 1e-12
        assert min(values) - slack <= one(values, method) <= max(values) + slack


@given(st.lists(st.integers(1, WRAP_LIMIT - 1), min_size=1, max_size=30), st.randoms())
def test_order_does_not_matter_to_the_median(values: list[int], rng) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(values)
    rng.shuffle(shuffled)
    assert one(values) == one(shuffled)
