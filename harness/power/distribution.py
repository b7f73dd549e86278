"""Sum, extremes and quantiles of the samples of one window, gathered chunk by chunk in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.power.ppk2_wire import CODE_BITS, CODE_MAX, KEY_MASK, RANGES
from harness.power.waveform import Block

FLOAT_SHIFT = 11
"""Low bits of a float32 that the quantiles of float samples ignore: a resolution of 2**-13 relative."""

UNDITHERED_SAMPLES = 64
UNDITHERED_CODES = 3
"""Fewer different codes in so many samples are a converter without noise."""


class Distribution(Protocol):
    """What one window's samples tell; `left_out` samples count in sums, not in quantiles and peak."""

    count: int

    def add(self, block: Block, start: int, end: int, left_out: NDArray[np.int64]) -> None:
        """Add samples [start, end) of a block; `left_out` are indices within the block."""

    def charge(self) -> float:
        """Sum of the currents, in amperes times samples."""

    def power(self) -> float:
        """Sum of current times voltage, in watts times samples."""

    def quantiles(self, at: Sequence[float]) -> tuple[float, ...]:
        """Currents in amperes below which these parts of the samples lie; 1.0 is the peak."""

    def quantisation(self, noise_lsb: float) -> float:
        """Standard uncertainty of `charge` from ADC steps and noise, in amperes times samples."""

    def saturated(self) -> int:
        """Samples at the end of the converter's highest range."""


def new_distribution(block: Block) -> Distribution:
    """The kind of distribution that fits a block's samples."""
    return KeyDistribution(block) if block.table is not None else FloatDistribution()


def _pick(values: NDArray[np.float64], counts: NDArray[np.int64], at: Sequence[float]) -> tuple[float, ...]:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(counts[order])
    if len(below) == 0 or below[-1] == 0:
        return (0.0,) * len(at)
    # The smallest value that at least this part of the samples does not exceed.
    ranks = np.maximum(np.ceil(np.asarray(at) * below[-1]), 1)
    places = np.searchsorted(below, ranks)
    return tuple(float(values[order[i]]) for i in places)


class KeyDistribution:
    """Exact: counts how often each ADC code of each range came."""

    def __init__(self, block: Block) -> None:
        assert block.table is not None
        self._table = block.table
        self._volts = float(np.asarray(block.volts).reshape(-1)[0])
        # Counts of the keys from `_low` on: a window touches few of all possible ones.
        self._low = 0
        self._counts = np.empty(0, np.int64)
        self._left_out: list[int] = []
        self.count = 0

    def add(self, block: Block, start: int, end: int, left_out: NDArray[np.int64]) -> None:
        """See `Distribution`."""
        assert block.words is not None
        keys = block.words[start:end] & np.uint32(KEY_MASK)
        low, high = int(keys.min()), int(keys.max())
        if len(self._counts):
            low, high = min(low, self._low), max(high, self._low + len(self._counts) - 1)
        keys -= np.uint32(low)
        counts = np.bincount(keys, minlength=high - low + 1)
        if len(self._counts):
            at = self._low - low
            counts[at : at + len(self._counts)] += self._counts
        self._low, self._counts = low, counts
        self._left_out += (block.words[left_out] & np.uint32(KEY_MASK)).tolist()
        self.count += end - start

    def charge(self) -> float:
        """See `Distribution`."""
        return float(self._counts @ self._table[self._low : self._low + len(self._counts)])

    def power(self) -> float:
        """See `Distribution`."""
        return self.charge() * self._volts

    def quantiles(self, at: Sequence[float]) -> tuple[float, ...]:
        """See `Distribution`."""
        used = self._counts
        if self._left_out and len(self._left_out) < self.count:
            used = used.copy()
            for key in self._left_out:
                used[key - self._low] -= 1
        present = np.flatnonzero(used)
        return _pick(self._table[self._low + present], used[present], at)

    def quantisation(self, noise_lsb: float) -> float:
        """See `Distribution`. Few different codes in many samples mean no dither: the error does not average out."""
        variance = 0.0
        keys = self._low + np.flatnonzero(self._counts)
        for rng in range(RANGES):
            present = keys[keys >> CODE_BITS == rng]
            if len(present) == 0:
                continue
            # The correction terms make a step's size depend on the current.
            inner = np.minimum(present, (rng << CODE_BITS) + CODE_MAX - 1)
            steps = self._table[inner + 1] - self._table[inner]
            here = self._counts[present - self._low].astype(np.float64)
            if here.sum() >= UNDITHERED_SAMPLES and len(present) < UNDITHERED_CODES:
                variance += float((here * steps).sum()) ** 2 / 12
            else:
                variance += float((here * steps**2).sum()) * (noise_lsb**2 + 1 / 12)
        return float(np.sqrt(variance))

    def saturated(self) -> int:
        """See `Distribution`."""
        at = ((RANGES - 1) << CODE_BITS | CODE_MAX) - self._low
        return int(self._counts[at]) if at < len(self._counts) else 0


class FloatDistribution:
    """For monitors that deliver numbers: exact sums and extremes, quantiles to 1.2e-4 relative."""

    def __init__(self) -> None:
        self._counts = np.zeros(1 << (32 - FLOAT_SHIFT), np.int64)
        self._charge = self._power = 0.0
        self._peak = -np.inf
        self.count = 0

    def add(self, block: Block, start: int, end: int, left_out: NDArray[np.int64]) -> None:
        """See `Distribution`; nothing is left out here."""
        values = block.amperes[start:end]
        if len(values) == 0:
            return
        volts = block.volts[start:end] if isinstance(block.volts, np.ndarray) else block.volts
        self._charge += float(values.sum())
        self._power += float((values * volts).sum())
        self._peak = max(self._peak, float(values.max()))
        bits = values.astype(np.float32).view(np.uint32) >> np.uint32(FLOAT_SHIFT)
        self._counts += np.bincount(bits.astype(np.intp), minlength=len(self._counts))
        self.count += end - start

    def charge(self) -> float:
        """See `Distribution`."""
        return self._charge

    def power(self) -> float:
        """See `Distribution`."""
        return self._power

    def quantiles(self, at: Sequence[float]) -> tuple[float, ...]:
        """See `Distribution`."""
        present = np.flatnonzero(self._counts)
        middle = np.uint32(1 << (FLOAT_SHIFT - 1))
        values = ((present.astype(np.uint32) << np.uint32(FLOAT_SHIFT)) | middle).view(np.float32).astype(np.float64)
        found = _pick(values, self._counts[present], at)
        return tuple(self._peak if part >= 1.0 else value for part, value in zip(at, found, strict=True))

    def quantisation(self, noise_lsb: float) -> float:
        """See `Distribution`: the steps of such monitors are far below their other errors."""
        return 0.0

    def saturated(self) -> int:
        """See `Distribution`: not told by such monitors."""
        return 0
