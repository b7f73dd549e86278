"""From samples of many iterations to one count per layer and counter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WRAP_LIMIT = 1 << 31
"""Hardware counters are 32 bits wide and read as differences: half the range or more is a wrap, not a count."""
METHODS = ("median", "mean", "trimmed")
EMULATOR_PREFIX = "emulator."


@dataclass(frozen=True)
class Aggregate:
    """Counts of one pass: `values` has shape (layers, counters), NaN where every sample was rejected.

    `rejected` is the number of (iteration, layer) rows left out.
    """

    values: NDArray[np.float64]
    rejected: int


def keep_mask(samples: NDArray[np.uint64], counters: tuple[str, ...], cycles: int | None) -> NDArray[np.bool_]:
    """Which rows of shape (iterations, layers) can be counts.

    A row with a hardware counter at or over `WRAP_LIMIT` is left out. A row that is zero throughout is left out where
    cycles were measured, unless every iteration of that layer is so: then the counter is frozen, which is an issue
    of its own.
    """
    hardware = np.array([not name.startswith(EMULATOR_PREFIX) for name in counters], dtype=bool)
    keep: NDArray[np.bool_] = np.all((samples < WRAP_LIMIT) | ~hardware, axis=2)
    if cycles is not None and samples.shape[2]:
        zero = np.all(samples == 0, axis=2)
        keep &= ~zero | np.all(zero, axis=0)
    return keep


def aggregate(
    samples: NDArray[np.uint64], counters: tuple[str, ...], *, cycles: int | None, method: str = "median"
) -> Aggregate:
    """Aggregate samples of shape (iterations, layers, counters) over the iterations.

    `method` is median, mean, or trimmed (mean without the lowest and highest reading where there are three or more).
    `cycles` is the index of the cycle counter, None when the pass has none.
    """
    if method not in METHODS:
        raise ValueError(f"unknown aggregation {method!r}")
    keep = keep_mask(samples, counters, cycles)
    rejected = int(keep.size - np.count_nonzero(keep))
    if rejected == 0 and samples.shape[0]:
        return Aggregate(_reduce(samples.astype(np.float64), method), 0)
    values = np.full(samples.shape[1:], np.nan)
    for layer in range(samples.shape[1]):
        rows = samples[keep[:, layer], layer, :].astype(np.float64)
        if len(rows):
            values[layer] = _reduce(rows, method)
    return Aggregate(values, rejected)


def without_wrapped(values: NDArray[np.float64], wrapped: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """`values` of shape (layers, counters) with NaN where a counter wrapped in any iteration of that layer."""
    return values if wrapped is None else np.where(np.any(wrapped, axis=0), np.nan, values)


def _reduce(rows: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    if method == "median":
        return np.asarray(np.median(rows, axis=0), dtype=np.float64)
    if method == "trimmed" and rows.shape[0] >= 3:
        rows = np.sort(rows, axis=0)[1:-1]
    return np.asarray(np.mean(rows, axis=0), dtype=np.float64)
