"""Comparison profiles: versioned policy over metrics.

Schema `hpx.comparison-profile` version 1, in JSON or YAML. The `metrics` map is hpx's and is judged as hpx judges it;
the top-level field `harness`, which hpx keeps and ignores, holds policies for metrics that hpx does not have:

    harness:
      extends: latency               # profiles whose `harness` field this one builds on
      missing: fail                  # what an absent metric of this part means: fail, warn or ignore
      metrics:
        clean.cycles: {direction: smaller, unit: cycles, max_regression_pct: 0.5}
        "layer[*].cycles": {direction: equal, unit: cycles}

`harness.judge.own_profile` holds that part.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from harness.core.errors import ProfileError
from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.core.hashing import sha256_bytes
from harness.core.strict_json import canonical

if TYPE_CHECKING:
    from harness.judge.own_profile import HarnessPart

PROFILE_SCHEMA = "hpx.comparison-profile"
PROFILE_VERSION = 1
NEAR = 0.85
"""How like a known field an unknown one must be to be taken for a slip, which would drop a policy without a word."""


class MetricDirection(StrEnum):
    """Which way a metric should move."""

    SMALLER = "smaller"
    LARGER = "larger"
    EQUAL = "equal"


class MissingMetricPolicy(StrEnum):
    """What the absence of a selected metric means."""

    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"


def bad(what: str, *key: str) -> ProfileError:
    return ProfileError(
        what,
        todo="Correct the profile; docs/comparison-profiles.md describes every field.",
        context={"key": list(key)},
    )


E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], value: object, *key: str) -> E:
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        allowed = ", ".join(item.value for item in kind)
        raise bad(f"{key[-1]} is {value!r}; it must be one of {allowed}.", *key) from None


def split(data: object, known: tuple[str, ...], *key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(data, Mapping):
        raise bad(f"{key[-1] if key else 'A comparison profile'} must be an object.", *key)
    for name in data:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=NEAR)
        if near and name not in known:
            raise bad(f"{name!r} is unknown; did you mean {near[0]!r}?", *key, str(name))
    own = {name: value for name, value in data.items() if name in known}
    return own, {name: value for name, value in data.items() if name not in known}


@dataclass(frozen=True)
class MetricPolicy:
    """How much worse one metric may get. The larger of the two bounds counts; neither given means not at all."""

    direction: MetricDirection
    unit: str
    max_regression_pct: float | None = None
    max_regression_abs: float | None = None
    missing: MissingMetricPolicy | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", choice(MetricDirection, self.direction, "direction"))
        if self.missing is not None:
            object.__setattr__(self, "missing", choice(MissingMetricPolicy, self.missing, "missing"))
        if not isinstance(self.unit, str):
            raise bad("unit must be a string.", "unit")
        for name in ("max_regression_pct", "max_regression_abs"):
            if not is_bound(getattr(self, name)):
                raise bad(f"{name} is {getattr(self, name)!r}; it must be a finite number, zero or more.", name)
        if not isinstance(self.extra, Mapping):
            raise bad("extra must be an object.", "extra")
        freeze_fields(self, "extra")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *key: str) -> Self:
        """Build from JSON data; unknown fields go to `extra`. `ProfileError` names the key at fault."""
        known, extra = split(data, POLICY_FIELDS, *key)
        for name in ("direction", "unit"):
            if name not in known:
                raise bad(f"{'.'.join(key) or 'A metric policy'} has no {name}.", *key)
        try:
            return cls(**known, extra=extra)
        except ProfileError as error:
            error.context["key"] = [*key, *error.context["key"]]
            raise

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form without absent fields."""
        known = {name: getattr(self, name) for name in POLICY_FIELDS}
        plain = {name: str(value) if isinstance(value, StrEnum) else value for name, value in known.items()}
        return {**thaw(self.extra), **{name: value for name, value in plain.items() if value is not None}}


POLICY_FIELDS = ("direction", "unit", "max_regression_pct", "max_regression_abs", "missing")


def is_bound(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:
        return False


@dataclass(frozen=True)
class ComparisonProfile:
    """One version-1 profile."""

    schema: str
    schema_version: int
    metrics: Mapping[str, MetricPolicy]
    missing: MissingMetricPolicy | None = None
    required_dimensions: tuple[str, ...] = ()
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        if self.schema != PROFILE_SCHEMA:
            raise bad(f"Unsupported comparison profile schema {self.schema!r}.", "schema")
        if isinstance(self.schema_version, bool) or self.schema_version != PROFILE_VERSION:
            raise bad(f"Unsupported comparison profile version {self.schema_version!r}.", "schema_version")
        if not isinstance(self.metrics, Mapping) or not self.metrics:
            raise bad("metrics must map names of metrics to policies, at least one.", "metrics")
        for name, policy in self.metrics.items():
            if not isinstance(name, str) or not name or not isinstance(policy, MetricPolicy):
                raise bad("metrics must map names of metrics to policies.", "metrics")
        if self.missing is not None:
            object.__setattr__(self, "missing", choice(MissingMetricPolicy, self.missing, "missing"))
        dims = self.required_dimensions
        if not isinstance(dims, list | tuple) or not all(isinstance(item, str) and item for item in dims):
            raise bad("required_dimensions must be an array of names.", "required_dimensions")
        if len(set(dims)) != len(dims):
            raise bad("required_dimensions names a dimension twice.", "required_dimensions")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise bad("name must be a non-empty string.", "name")
        if not isinstance(self.extra, Mapping):
            raise bad("extra must be an object.", "extra")
        freeze_fields(self, "metrics", "required_dimensions", "extra")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **more: Any) -> Self:
        """Build from JSON data; unknown fields are kept. `ProfileError` names the key at fault.

        `more` are fields of a subclass.
        """
        known, extra = split(data, _PROFILE_FIELDS)
        for name in ("schema", "schema_version", "metrics"):
            if name not in known:
                raise bad(f"The comparison profile has no {name}.")
        entries = known["metrics"]
        if not isinstance(entries, Mapping):
            raise bad("metrics must map names of metrics to policies.", "metrics")
        known["metrics"] = {name: MetricPolicy.from_dict(item, "metrics", name) for name, item in entries.items()}
        if "missing" in known and known["missing"] is None:
            raise bad("missing is null; it must be one of fail, warn, ignore.", "missing")
        if not isinstance(known.get("required_dimensions", []), list):
            raise bad("required_dimensions must be an array of names.", "required_dimensions")
        profile = cls(**known, extra=extra, **more)
        _check_extra(profile)
        return profile

    @classmethod
    def load(cls, path: str | Path) -> ComparisonProfile:
        """Read a JSON or YAML profile, and the profiles that its `harness.extends` names.

        Raises:
            ProfileError: unreadable or invalid; the message names file, line and key.
        """
        from harness.judge.profile_file import load_profile

        return load_profile(Path(path))

    @property
    def harness(self) -> HarnessPart | None:
        """Policies for our own metrics; None when the profile has no `harness` field."""
        if "harness" not in self.extra:
            return None
        from harness.judge.own_profile import HarnessPart

        return HarnessPart.from_dict(thaw(self.extra["harness"]))

    @property
    def sha256(self) -> str:
        """Bare digest of the profile's content in canonical form, the same for JSON and YAML."""
        return sha256_bytes(canonical(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form without absent fields, unknown fields included."""
        data: dict[str, Any] = {
            "schema": self.schema,
            "schema_version": self.schema_version,
            "metrics": {name: policy.to_dict() for name, policy in self.metrics.items()},
        }
        if self.missing is not None:
            data["missing"] = self.missing.value
        if self.required_dimensions:
            data["required_dimensions"] = list(self.required_dimensions)
        if self.name is not None:
            data["name"] = self.name
        return {**thaw(self.extra), **data}


def _check_extra(profile: ComparisonProfile) -> None:
    """A fault in our part, or a value that has no canonical form, is reported when the profile is read."""
    if profile.harness is not None and not profile.harness.metrics:
        raise bad("harness.metrics is empty.", "harness")
    try:
        canonical(profile.to_dict())
    except (TypeError, ValueError) as error:
        raise bad(f"A field holds what JSON cannot: {error}.") from None


_PROFILE_FIELDS = ("schema", "schema_version", "metrics", "missing", "required_dimensions", "name")
