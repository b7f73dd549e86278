"""Coefficients of one kind of operator, and how far predictions with them are off.

Cycles are a sum of features times coefficients that are not negative. With few layers of a kind many coefficients
explain them; those near what kinds of the same family have in common are preferred (a Gaussian prior around the pooled
least-squares fit; Bishop, Pattern Recognition and Machine Learning, 2006, section 3.3). Errors are relative, so each
layer weighs the same. The interval is a conformal one (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random
World, 2005): the quantile of the errors that layers of each shape show when all layers of that shape are left out of
the fit, in units of the fit's own uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.predict.features import family_of, names_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.9
"""Share of layers whose cycles an interval is to hold."""
FEWEST = 5
"""Fewest shapes, left out and predicted, that say how far predictions are off."""
REACH = 4.0
"""A feature may be this many times beyond the layers that were fitted, on either side."""
_PRIOR_SPREAD, _PRIOR_LEAST = 0.5, 0.3
_NOISE, _NOISE_WEIGHT = 0.05, 2.0
_ROUNDS = 3


@dataclass(frozen=True)
class Sample:
    """One measured layer: its kind, its features, its cycles."""

    kind: str
    features: Mapping[str, float]
    cycles: float

    @property
    def shape(self) -> tuple[str, tuple[float, ...]]:
        """What layers that must cost the same have in common."""
        return self.kind, tuple(self.features.values())


@dataclass(frozen=True)
class KindFit:
    """The fit of one kind.

    `coefficients` are cycles for one unit of the feature of the same place in `names`; `covariance` is of the
    coefficients; `noise` the relative error of a layer; `least` and `most` what the fitted layers had of each feature.
    """

    kind: str
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    noise: float
    least: tuple[float, ...]
    most: tuple[float, ...]
    layers: int

    @property
    def costs(self) -> dict[str, float]:
        """Cycles for one unit of each feature."""
        return dict(zip(self.names, self.coefficients, strict=True))

    def outside(self, features: Mapping[str, float]) -> str:
        """Why features are outside of what was fitted; empty when they are inside."""
        for name, least, most in zip(self.names, self.least, self.most, strict=True):
            value = features.get(name, 0.0)
            if not least / REACH <= value <= most * REACH:
                return (
                    f"{name} is {value:,.0f}, more than {REACH:.0f} times beyond the fitted {least:,.0f} to {most:,.0f}"
                )
        return ""

    def predict(self, features: Mapping[str, float]) -> tuple[float, float]:
        """Cycles, and the relative uncertainty of them in units that the fit's quantile multiplies."""
        x = [features.get(name, 0.0) for name in self.names]
        cycles = math.fsum(a * b for a, b in zip(x, self.coefficients, strict=True))
        rows = [math.fsum(c * b for c, b in zip(row, x, strict=True)) for row in self.covariance]
        variance = max(math.fsum(a * b for a, b in zip(x, rows, strict=True)), 0.0)
        return cycles, math.sqrt(self.noise**2 + variance / cycles**2) if cycles > 0 else math.inf


def distinct(samples: Iterable[Sample]) -> list[Sample]:
    """Samples in a fixed order, whatever order they came in."""
    return sorted(samples, key=lambda sample: (sample.shape, sample.cycles))


def _matrix(samples: Sequence[Sample], names: Sequence[str]) -> tuple[Floats, Floats]:
    import numpy as np

    return (
        np.array([[sample.features.get(name, 0.0) for name in names] for sample in samples], dtype=np.float64),
        np.array([sample.cycles for sample in samples], dtype=np.float64),
    )


def common(samples: Sequence[Sample], family: str) -> dict[str, float]:
    """What kinds of one family have in common: coefficients fitted to all of its layers at once."""
    import numpy as np
    from scipy.optimize import nnls  # type: ignore[attr-defined]

    members = [sample for sample in samples if family and family_of(sample.kind) == family]
    if not members:
        return {}
    names = tuple(dict.fromkeys(name for sample in members for name in sample.features if name != "windowed"))
    x, cycles = _matrix(members, names)
    found, _ = nnls(x / cycles[:, None], np.ones(len(members)))
    return dict(zip(names, map(float, found), strict=True))


def fit_kind(kind: str, samples: Sequence[Sample], prior: Mapping[str, float]) -> KindFit:
    """Fit one kind to its layers, of which there is at least one, with `prior` coefficients as `common` gives them."""
    import numpy as np
    from scipy.optimize import nnls  # type: ignore[attr-defined]

    names = names_of(kind.split("/")[0])
    x, cycles = _matrix(samples, names)
    rows = x / cycles[:, None]
    # No coefficient can be larger than the one that explains a whole layer.
    top = np.array([(1 / column[column > 0]).min() if (column > 0).any() else 0.0 for column in rows.T])
    center = np.minimum([prior.get(name, 0.0) for name in names], top)
    spread = np.maximum(_PRIOR_SPREAD * center, _PRIOR_LEAST * top)
    spread[spread == 0] = 1e-9
    noise, ones = _NOISE, np.ones(len(samples))
    found = center
    for _ in range(_ROUNDS):
        left = np.vstack([rows / noise, np.diag(1 / spread)])
        found, _ = nnls(left, np.concatenate([ones / noise, center / spread]))
        residuals = rows @ found - 1
        noise = math.sqrt((_NOISE_WEIGHT * _NOISE**2 + float(residuals @ residuals)) / (_NOISE_WEIGHT + len(samples)))
    covariance = np.linalg.inv(rows.T @ rows / noise**2 + np.diag(1 / spread**2))
    return KindFit(
        kind=kind,
        names=names,
        coefficients=tuple(map(float, found)),
        covariance=tuple(tuple(map(float, row)) for row in covariance),
        noise=noise,
        least=tuple(map(float, x.min(axis=0))),
        most=tuple(map(float, x.max(axis=0))),
        layers=len(samples),
    )


def fit_kinds(samples: Sequence[Sample]) -> dict[str, KindFit]:
    """The fit of every kind that occurs."""
    ordered = distinct(samples)
    priors: dict[str, dict[str, float]] = {}
    by_kind: dict[str, list[Sample]] = {}
    for sample in ordered:
        by_kind.setdefault(sample.kind, []).append(sample)
    out = {}
    for kind, members in by_kind.items():
        family = family_of(kind)
        if family not in priors:
            priors[family] = common(ordered, family)
        out[kind] = fit_kind(kind, members, priors[family])
    return out


def left_out_errors(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Errors of each shape when it is left out: relative ones, and the absolute logarithm in units of uncertainty.

    Shapes that no other layer of their kind comes near are not predicted and give none. Where several layers have one
    shape, the error is of their mean.
    """
    shapes: dict[object, list[Sample]] = {}
    for sample in distinct(samples):
        shapes.setdefault(sample.shape, []).append(sample)
    out: list[tuple[float, float]] = []
    for shape, members in shapes.items():
        rest = [sample for sample in samples if sample.shape != shape]
        kind = members[0].kind
        alike = [sample for sample in distinct(rest) if sample.kind == kind]
        if not alike:
            continue
        found = fit_kind(kind, alike, common(distinct(rest), family_of(kind)))
        if found.outside(members[0].features):
            continue
        cycles, unit = found.predict(members[0].features)
        measured = math.fsum(sample.cycles for sample in members) / len(members)
        if cycles > 0:
            out.append((cycles / measured - 1, abs(math.log(measured / cycles)) / unit))
    return out


def quantile(scores: Iterable[float], level: float = LEVEL) -> float:
    """The conformal quantile: the ceil((n + 1) * level)-th smallest of n scores, the largest where there is none."""
    ordered = sorted(scores)
    return ordered[min(math.ceil((len(ordered) + 1) * level), len(ordered)) - 1]
