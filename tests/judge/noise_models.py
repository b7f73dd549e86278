"""Noise as boards and bench make it, scaled so that one run about the slow drift has a standard deviation of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = tuple[int, ...]
Noise = Callable[[np.random.Generator, Shape], Floats]
"""Draws an array of the given shape; the last axis is the runs of one session in time."""


def normal(rng: np.random.Generator, runs: Shape) -> Floats:
    """Independent normal runs."""
    return rng.normal(size=runs)


def student3(rng: np.random.Generator, runs: Shape) -> Floats:
    """Heavy tails: Student's t with three degrees of freedom."""
    return rng.standard_t(3, size=runs) / np.sqrt(3)


def outliers(rng: np.random.Generator, runs: Shape) -> Floats:
    """One run in ten scatters ten times as much."""
    scale = np.where(rng.random(runs) < 0.1, 10.0, 1.0)
    return rng.normal(size=runs) * scale / np.sqrt(0.9 + 0.1 * 100)


def modes(share: float) -> Noise:
    """Two modes, the upper one with the given share."""

    def noise(rng: np.random.Generator, runs: Shape) -> Floats:
        core = 0.1
        values = (rng.random(runs) < share).astype(float) + core * rng.normal(size=runs)
        return (values - share) / np.sqrt(share * (1 - share) + core**2)

    return noise


def drift(total: float) -> Noise:
    """Linear drift by `total` standard deviations over ten pairs, going on as long as the session does."""
    return lambda rng, runs: rng.normal(size=runs) + total * np.arange(runs[-1]) / 20


def walk(rng: np.random.Generator, runs: Shape) -> Floats:
    """A random walk with steps of half a standard deviation under independent noise."""
    return rng.normal(size=runs) + np.cumsum(0.5 * rng.normal(size=runs), axis=-1)


def cauchy(rng: np.random.Generator, runs: Shape) -> Floats:
    """Tails without a variance; the scale is the quartile's."""
    return rng.standard_cauchy(size=runs)


NOISES: Mapping[str, tuple[Noise, float]] = {
    "normal": (normal, 0.0),
    "student t3": (student3, 0.0),
    "90/10 outliers": (outliers, 0.0),
    "bimodal 50/50": (modes(0.5), 0.0),
    "bimodal 80/20": (modes(0.2), 0.0),
    "drift 6 sigma": (drift(6.0), 0.0),
    "drift 20 sigma": (drift(20.0), 0.0),
    "random walk": (walk, 0.0),
    "tick 1 sigma": (normal, 1.0),
    "tick 2 sigma": (normal, 2.0),
}
"""Noise and the tick of the clock, for which both the false alarms and the misses are bounded."""

HARD: Mapping[str, tuple[Noise, float]] = {
    "cauchy": (cauchy, 0.0),
    "drift 60 sigma": (drift(60.0), 0.0),
    "tick 4 sigma": (normal, 4.0),
}
"""Noise for which only the false alarms are bounded."""


def sessions(
    rng: np.random.Generator, noise: Noise, count: int, pairs: int, shift: float, tick: float = 0.0
) -> tuple[Floats, Floats]:
    """Pairs of runs in random order: (baseline, candidate) of shape (count, pairs), the candidate larger by `shift`."""
    runs = noise(rng, (count, 2 * pairs)).reshape(count, pairs, 2)
    first = rng.random((count, pairs)) < 0.5
    base = np.where(first, runs[..., 1], runs[..., 0])
    cand = np.where(first, runs[..., 0], runs[..., 1]) + shift
    if tick:
        phase = rng.random((count, 1)) * tick
        base, cand = (tick * np.round((side + phase) / tick) for side in (base, cand))
    return base, cand


def session(
    rng: np.random.Generator, noise: Noise, pairs: int, shift: float, tick: float = 0.0
) -> tuple[Floats, Floats]:
    """One session: (baseline, candidate) of shape (pairs,)."""
    base, cand = sessions(rng, noise, 1, pairs, shift, tick)
    return base[0], cand[0]
