"""What a history says: change points that a permutation test confirms, and boards that are unlike the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEVEL = 0.01
_PERMUTATIONS = 999
_LEAST_SEGMENT = 5
_SMALL_GROUP = 5
_MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class ChangePoint:
    """From run `index` on the level is another: medians before and after, and the permutation test's p-value."""

    index: int
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Outlier:
    """One member of a group with its robust z. `gates` is false in groups too small to say."""

    name: str
    value: float
    z: float
    gates: bool


def change_points(values: Sequence[float], *, cuts: Sequence[int] = (), seed: int = 0) -> tuple[ChangePoint, ...]:
    """Runs from which on the level of a history is another.

    Candidates come from a binary segmentation of the ranks, so single outliers do not count. One is kept only when a
    permutation test of the largest cusum of its segment rejects at 1 %; its halves are then searched on.

    Args:
        values: figures in the order of runs.
        cuts: runs at which a new history begins, as at an approved step; no point is sought across one.
        seed: of the permutations.
    """
    series = np.asarray(values, dtype=np.float64)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(series)}), len(series)]
    rng = np.random.default_rng(seed)
    found: list[ChangePoint] = []
    for start, end in pairwise(edges):
        found += _split(series, start, end, rng)
    return tuple(sorted(found, key=lambda point: point.index))


def _split(series: Floats, start: int, end: int, rng: np.random.Generator) -> list[ChangePoint]:
    size = end - start
    if size < 2 * _LEAST_SEGMENT:
        return []
    ranks = _ranks(series[start:end])
    if not ranks.any():
        return []
    where, statistic = _cusum(ranks)
    shuffled = np.array([_cusum(rng.permutation(ranks))[1] for _ in range(_PERMUTATIONS)])
    p = (1 + int((shuffled >= statistic - 1e-9).sum())) / (_PERMUTATIONS + 1)
    if p > LEVEL:
        return []
    index = start + where
    point = ChangePoint(index, float(np.median(series[start:index])), float(np.median(series[index:end])), p)
    return [*_split(series, start, index, rng), point, *_split(series, index, end, rng)]


def _ranks(values: Floats) -> Floats:
    """Mid-ranks about zero; all zero when all values are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)


def _cusum(ranks: Floats) -> tuple[int, float]:
    """Where the standardised cusum of the ranks is largest, and how large; segments keep a least length."""
    size = len(ranks)
    left = np.arange(1, size)
    score = np.abs(np.cumsum(ranks)[:-1]) / np.sqrt(left * (size - left))
    inner = score[_LEAST_SEGMENT - 1 : size - _LEAST_SEGMENT]
    where = int(np.argmax(inner))
    return where + _LEAST_SEGMENT, float(inner[where])


def outliers(
    values: Mapping[str, float], *, z: float = 4.0, floor_pct: float = 0.1, effect_pct: float = 1.0
) -> tuple[Outlier, ...]:
    """Members that are unlike their group, the farthest first.

    Args:
        values: one figure a member, as the median of each board.
        z: distance from the median in robust standard deviations.
        floor_pct: the median absolute deviation counts as at least this part of the median.
        effect_pct: a member also lies at least this part of the median away.
    """
    if not values:
        return ()
    figures = np.array(list(values.values()))
    centre = float(np.median(figures))
    spread = max(_MAD_TO_SD * float(np.median(np.abs(figures - centre))), abs(centre) * floor_pct / 100)
    gates = len(figures) >= _SMALL_GROUP
    found = []
    for name, value in values.items():
        distance = value - centre
        score = distance / spread if spread else (0.0 if not distance else np.inf * np.sign(distance))
        if abs(score) > z and abs(distance) >= abs(centre) * effect_pct / 100 and distance:
            found.append(Outlier(name, value, float(score), gates))
    return tuple(sorted(found, key=lambda item: -abs(item.z)))
