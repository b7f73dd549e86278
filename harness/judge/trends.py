"""What a history says: change points that a permutation test confirms, and boards that are unlike the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import ToolMissingError

Floats = NDArray[np.float64]
LEVEL = 0.01
_PERMUTATIONS = 999
_BATCH = 111
_LEAST_SEGMENT = 5
_PRICE = 2.5
_REACH = 500
"""Runs on either side of a change that its test looks at, at most."""
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

    Candidates come from the optimal partition of the ranks (`ruptures`, PELT), so single outliers do not count. One is
    kept only when a permutation test of the runs between its neighbours rejects "no change here" at 1 %; the weakest
    goes first, and what it parted is tried again as one.

    Args:
        values: figures in the order of runs.
        cuts: runs at which a new history begins, as at an approved step; no point is sought across one.
        seed: of the permutations.

    Raises:
        ToolMissingError: ruptures is not installed.
    """
    series = np.asarray(values, dtype=np.float64)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(series)}), len(series)]
    rng = np.random.default_rng(seed)
    found: list[ChangePoint] = []
    for start, end in pairwise(edges):
        found += [replace(p, index=start + p.index) for p in _changes(series[start:end], rng)]
    return tuple(found)


def _changes(series: Floats, rng: np.random.Generator) -> list[ChangePoint]:
    inner = _candidates(series)
    while inner:
        edges = [0, *inner, len(series)]
        tried = [_confirmed(series, edges[i - 1], edges[i], edges[i + 1], rng) for i in range(1, len(edges) - 1)]
        weakest = max(range(len(tried)), key=lambda i: tried[i].p)
        if tried[weakest].p <= LEVEL:
            return tried
        del inner[weakest]
    return []


def _candidates(series: Floats) -> list[int]:
    """Where the best partition of the ranks parts them, each point costing `_PRICE` times the logarithm of the runs."""
    size = len(series)
    if size < 2 * _LEAST_SEGMENT:
        return []
    ranks = _ranks(series)
    if not ranks.any():
        return []
    ranks /= ranks.std()
    penalty = _PRICE * float(np.log(size))
    if _is_flat(ranks, penalty):
        return []
    try:
        from ruptures.detection.kernelcpd import KernelCPD
    except ImportError:
        raise ToolMissingError(
            "ruptures is not installed.", why="History is an extra.", todo="pip install harness-hil[sql]"
        ) from None
    detector: Any = KernelCPD
    parts = detector(kernel="linear", min_size=_LEAST_SEGMENT).fit(ranks.reshape(-1, 1)).predict(pen=penalty)
    return [int(end) for end in parts[:-1]]


def _is_flat(ranks: Floats, penalty: float) -> bool:
    """Whether no partition can be worth its penalty; most histories are told here, before anything is imported.

    A segment of sum S and length n gains S^2 / n. Where no segment inside gains more than one penalty, and none at
    either end more than half of it, k points gain at most k penalties.
    """
    sums = np.concatenate([[0.0], np.cumsum(ranks)])
    size = len(ranks)
    for length in range(_LEAST_SEGMENT, size):
        gains = (sums[length:] - sums[:-length]) ** 2 / length
        if gains.max() > penalty or max(gains[0], gains[-1]) > penalty / 2:
            return False
    return True


def _confirmed(series: Floats, start: int, near: int, end: int, rng: np.random.Generator) -> ChangePoint:
    """A change between two others with the permutation test's p-value; permuting ends once it cannot reject."""
    start, end = max(start, near - _REACH), min(end, near + _REACH)
    ranks = _ranks(series[start:end])
    where, largest = _cusum(ranks)
    index = start + where
    before, after = float(np.median(series[start:index])), float(np.median(series[index:end]))
    above, drawn = 0, 0
    while drawn < _PERMUTATIONS and above < LEVEL * (_PERMUTATIONS + 1):
        rows = rng.permuted(np.tile(ranks, (_BATCH, 1)), axis=1)
        above += int((_score(rows).max(axis=1) >= largest - 1e-9).sum())
        drawn += _BATCH
    return ChangePoint(index, before, after, (1 + above) / (drawn + 1))


def _ranks(values: Floats) -> Floats:
    """Mid-ranks about zero; all zero when all values are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)


def _cusum(ranks: Floats) -> tuple[int, float]:
    """Where the standardised cusum of the ranks is largest, and how large; segments keep a least length."""
    inner = _score(ranks[np.newaxis])[0]
    where = int(np.argmax(inner))
    return where + _LEAST_SEGMENT, float(inner[where])


def _score(rows: Floats) -> Floats:
    """Standardised cusums of each row of ranks, at the splits that leave both sides their least length."""
    size = rows.shape[1]
    left = np.arange(_LEAST_SEGMENT, size - _LEAST_SEGMENT + 1)
    sums = np.cumsum(rows, axis=1)[:, _LEAST_SEGMENT - 1 : size - _LEAST_SEGMENT]
    return np.asarray(np.abs(sums) / np.sqrt(left * (size - left)))


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
