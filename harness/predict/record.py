"""Cost models on disk: coefficients by conditions and kind, what they were fitted from, and how far they are off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.core import strict_json
from harness.core.errors import EvidenceError
from harness.core.files import atomic_write
from harness.core.hashing import semantic_hash
from harness.core.resources import data_dir
from harness.predict.conditions import CONDITIONS, MUST_MATCH, VERSIONS, Conditions
from harness.predict.errors import CostModelError
from harness.predict.features import VERSION as FEATURES_VERSION
from harness.predict.features import features, kind_of, names_of
from harness.predict.fit import FEWEST, LEVEL, KindFit, Sample, fit_kinds, left_out_errors, quantile
from harness.predict.training import MeasuredModel, averaged

SCHEMA, VERSION = "harness.cost-model", 1


@dataclass(frozen=True)
class FittedModel:
    """A model that layers came from."""

    name: str
    sha256: str
    layers: int


@dataclass(frozen=True)
class Fit:
    """The fit for one set of conditions.

    `quantile` turns a prediction's uncertainty into an interval that holds `level` of layers. `scored` shapes were left
    out and predicted; `median_error` and `p90_error` are of their absolute relative errors.
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    conditions: Mapping[str, str]
    level: float
    quantile: float
    scored: int
    median_error: float
    p90_error: float
    layers: int
    models: tuple[FittedModel, ...]
    kinds: tuple[KindFit, ...]

    def kind(self, name: str) -> KindFit | None:
        """The fit of a kind of operator; None where no layer of it was fitted."""
        return next((kind for kind in self.kinds if kind.kind == name), None)


@dataclass(frozen=True)
class CostModel:
    """Fits by their conditions, no two of the same."""

    fits: tuple[Fit, ...]

    def for_conditions(self, wanted: Conditions, versions: Mapping[str, str] | None = None) -> Fit:
        """The fit for the wanted conditions; of several with other versions, the one that agrees most with `versions`.

        Raises:
            CostModelError: there is none, or several agree equally.
        """
        found = [fit for fit in self.fits if all(fit.conditions[name] == wanted[name] for name in MUST_MATCH)]
        if not found:
            near = min(self.fits, key=lambda fit: sum(fit.conditions[name] != wanted[name] for name in MUST_MATCH))
            unlike = [name for name in MUST_MATCH if near.conditions[name] != wanted[name]]
            raise CostModelError(
                "No fit is for these conditions.",
                why="; ".join(
                    f"{name} is {wanted[name]}, the nearest fit's {near.conditions[name]}" for name in unlike
                ),
                todo="Measure some models under them, and fit with `harness model fit BUNDLE... --out FILE`.",
            )
        known = versions or {}
        agreeing = [sum(fit.conditions[name] == known.get(name) for name in VERSIONS) for fit in found]
        best = [fit for fit, score in zip(found, agreeing, strict=True) if score == max(agreeing)]
        if len(best) > 1:
            raise CostModelError(
                "Several fits are for these conditions.",
                why="They differ in "
                + ", ".join(n for n in VERSIONS if len({f.conditions[n] for f in best}) > 1)
                + ".",
                todo="Use a file with one of them.",
            )
        return best[0]

    def _data(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "features_version": FEATURES_VERSION,
            "fits": [asdict(fit) for fit in self.fits],
        }

    @property
    def identity(self) -> str:
        """The hash of everything in it, `harness.cost-model/1:sha256:<hex>`."""
        return semantic_hash("cost-model", self._data())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, its identity included."""
        return {**self._data(), "record_hash": self.identity}

    def save(self, path: Path) -> None:
        """Write the file in one step."""
        atomic_write(path, strict_json.pretty(self.to_dict()))


def fit_models(models: Iterable[MeasuredModel]) -> CostModel:
    """Fit measured models: one fit for each set of conditions among them.

    Raises:
        CostModelError: under some conditions there are too few differing layers.
    """
    groups: dict[tuple[str, ...], list[MeasuredModel]] = {}
    for item in models:
        groups.setdefault(tuple(item.conditions[name] for name in CONDITIONS), []).append(item)
    if not groups:
        raise CostModelError("There is nothing to fit.", todo="Name bundles.")
    return CostModel(
        tuple(_fit(dict(zip(CONDITIONS, key, strict=True)), group) for key, group in sorted(groups.items()))
    )


def _fit(conditions: dict[str, str], group: Sequence[MeasuredModel]) -> Fit:
    samples: list[Sample] = []
    models = []
    for item, cycles in averaged(group):
        samples += [sample_of(item, index, value) for index, value in cycles.items()]
        models.append(FittedModel(item.model_name, item.model_sha256, len(cycles)))
    return fit_samples(samples, conditions, models)


def sample_of(model: MeasuredModel, index: int, cycles: float) -> Sample:
    """One measured operator as the fit takes it."""
    facts = model.operators[index]
    return Sample(kind_of(facts), features(facts), cycles)


def fit_samples(samples: Sequence[Sample], conditions: Conditions, models: Sequence[FittedModel] = ()) -> Fit:
    """Fit layers that were measured under one set of conditions.

    Raises:
        CostModelError: too few differing layers to say how far predictions are off.
    """
    errors = left_out_errors(samples)
    if len(errors) < FEWEST:
        raise CostModelError(
            f"There are too few layers of {conditions['engine_backend']} on {conditions['board']} to fit.",
            why=f"{len(errors)} shapes can be predicted from the others; at least {FEWEST} say how far that is off.",
            todo="Add bundles of further models.",
        )
    relative = sorted(abs(error) for error, _ in errors)
    return Fit(
        conditions=dict(conditions),
        level=LEVEL,
        quantile=quantile(score for _, score in errors),
        scored=len(errors),
        median_error=relative[len(relative) // 2],
        p90_error=quantile(relative),
        layers=len(samples),
        models=tuple(models),
        kinds=tuple(fit for _, fit in sorted(fit_kinds(samples).items())),
    )


def load_cost_model(path: Path) -> CostModel:
    """Read a saved cost model.

    Raises:
        EvidenceError: unreadable, edited, or of another version.
    """
    from pydantic import TypeAdapter, ValidationError

    value = strict_json.load(path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise _broken(path, f"its schema is not {SCHEMA}")
    if (value.get("schema_version"), value.get("features_version")) != (VERSION, FEATURES_VERSION):
        raise _broken(path, "it is of another version")
    stated = value.pop("record_hash", None)
    if stated != semantic_hash("cost-model", value):
        raise _broken(path, "it was changed after it was written")
    try:
        fits = TypeAdapter(tuple[Fit, ...]).validate_json(strict_json.canonical(value.get("fits")), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise _broken(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for fit in fits:
        if set(fit.conditions) != set(CONDITIONS) or not all(map(_sound, fit.kinds)) or fit.quantile < 0:
            raise _broken(path, "a fit contradicts itself")
    if not fits:
        raise _broken(path, "it holds no fit")
    return CostModel(fits)


def packaged() -> CostModel:
    """The cost model of the emulated boards that comes with the package.

    Raises:
        CostModelError: this package carries none.
    """
    place = data_dir("costs") / "emulated.json"
    if not place.is_file():
        raise CostModelError(
            "This package carries no cost model.", todo="Fit one with `harness model fit BUNDLE... --out FILE`."
        )
    return load_cost_model(place)


def _sound(kind: KindFit) -> bool:
    count = len(kind.names)
    sides = (kind.coefficients, kind.least, kind.most, kind.covariance, *kind.covariance)
    return (
        kind.names == names_of(kind.kind.split("/")[0])
        and all(len(side) == count for side in sides)
        and min(kind.coefficients) >= 0
        and math.isfinite(kind.noise)
    )


def _broken(path: Path, why: str) -> EvidenceError:
    return EvidenceError(
        f"{path} is no cost model.", why=f"{why[:1].upper()}{why[1:]}.", todo="Fit again with `harness model fit`."
    )
