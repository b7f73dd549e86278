"""The `harness` field of a comparison profile: policies for any metric, by board, with statistics.

    harness:
      extends: latency                       # a shipped profile or a file beside this one; or a list
      missing: fail
      statistics: {looks: [10, 20, 30], fail_level: 0.001, margin_pct: 3}
      metrics:
        clean.us: {direction: smaller, unit: us, max_regression_pct: 1, warn_regression_pct: 0.5}
      boards:
        mps2_an386:                          # only what differs
          clean.us: {max_regression_pct: 2}

What a profile extends gives its `harness` field only: `metrics` of version 1 stand in each profile whole, so that hpx
judges them the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from harness.core.errors import ProfileError
from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.judge.looks import SequentialPlan
from harness.judge.metrics import METRICS, SELECTORS, is_selector
from harness.judge.profile import (
    POLICY_FIELDS,
    ComparisonProfile,
    MetricPolicy,
    MissingMetricPolicy,
    bad,
    choice,
    is_bound,
    split,
)

_BOUNDS = ("warn_regression_pct", "warn_regression_abs", "margin_pct", "margin_abs", "effect_floor_pct")
_PART_FIELDS = ("extends", "missing", "metrics", "boards", "statistics")


@dataclass(frozen=True)
class OwnPolicy(MetricPolicy):
    """A policy with more than hpx knows.

    A regression over the larger warn bound, but allowed, is `warn`. `margin_*` is the margin d of repeated runs, how
    far beyond the allowed regression one must be seen for sure; `effect_floor_pct` the least regression beyond the
    allowed one that fails. Percentages are of the baseline's magnitude.
    """

    warn_regression_pct: float | None = None
    warn_regression_abs: float | None = None
    margin_pct: float | None = None
    margin_abs: float | None = None
    effect_floor_pct: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _BOUNDS:
            if not is_bound(getattr(self, name)):
                raise bad(f"{name} is {getattr(self, name)!r}; it must be a finite number, zero or more.", name)
        if self.margin_pct == 0 and not self.margin_abs:
            raise bad("margin_pct is 0; a margin must be larger than zero.", "margin_pct")
        if self.extra:
            name = next(iter(self.extra))
            raise bad(f"a policy has no field {name!r}.", name)
        for kind in ("pct", "abs"):
            warn, most = getattr(self, f"warn_regression_{kind}"), getattr(self, f"max_regression_{kind}")
            if warn is not None and most is not None and warn > most:
                raise bad(f"warn_regression_{kind} is over max_regression_{kind}.", f"warn_regression_{kind}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *key: str) -> Self:
        """Build from JSON data. `ProfileError` names the key at fault, unknown fields included."""
        known, unknown = split(data, (*POLICY_FIELDS, *_BOUNDS), *key)
        for name in ("direction", "unit"):
            if name not in known:
                raise bad(f"{'.'.join(key) or 'A metric policy'} has no {name}.", *key)
        try:
            return cls(**known, extra=unknown)
        except ProfileError as error:
            error.context["key"] = [*key, *error.context["key"]]
            raise

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form without absent fields."""
        own = {name: getattr(self, name) for name in _BOUNDS}
        return {**super().to_dict(), **{name: value for name, value in own.items() if value is not None}}

    def warns(self, baseline: float, worse: float) -> bool:
        """Whether a regression is over the warn bound; never without one."""
        if self.warn_regression_pct is None and self.warn_regression_abs is None:
            return False
        return worse > max(self.warn_regression_abs or 0.0, abs(baseline) * (self.warn_regression_pct or 0.0) / 100.0)


MERGE_PLAN = SequentialPlan(
    fail_level=0.001, pass_level=0.05, fail_shares=(0.34, 0.33, 0.33), pass_shares=(0.6, 0.2, 0.2)
)
"""Looks and levels of a merge: one merge without a change in a thousand may fail."""


@dataclass(frozen=True)
class Statistics:
    """How repeated runs are judged.

    `plan` holds looks and levels, shared by Holm's procedure among the noisy metrics of a merge. `margin_pct` and
    `effect_floor_pct` stand for metrics that set none; without a floor in either place it is a quarter of the margin.
    """

    plan: SequentialPlan = MERGE_PLAN
    margin_pct: float = 3.0
    effect_floor_pct: float | None = None

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Build from JSON data. `ProfileError` names the key at fault."""
        key = ("harness", "statistics")
        plan_fields = ("looks", "fail_level", "pass_level", "fail_shares", "pass_shares")
        known, unknown = split(data, (*plan_fields, "margin_pct", "effect_floor_pct"), *key)
        if unknown:
            name = next(iter(unknown))
            raise bad(f"statistics has the unknown field {name!r}.", *key, name)
        for name in ("looks", "fail_shares", "pass_shares"):
            if name in known and not _is_numbers(known[name]):
                raise bad(f"{name} must be a list of numbers, at least one.", *key, name)
        for name in ("fail_level", "pass_level", "margin_pct", "effect_floor_pct"):
            if name in known and (known[name] is None or not is_bound(known[name])):
                raise bad(f"{name} is {known[name]!r}; it must be a finite number, zero or more.", *key, name)
        if known.get("margin_pct") == 0:
            raise bad("margin_pct must be larger than zero.", *key, "margin_pct")
        looks = known.get("looks", list(MERGE_PLAN.looks))
        if not all(isinstance(look, int) and 1 <= look <= 200 for look in looks):
            raise bad("looks must be whole numbers of pairs from 1 to 200.", *key, "looks")
        if len(looks) != len(MERGE_PLAN.looks):
            even = [1.0 / len(looks)] * len(looks)
            known = {"fail_shares": even, "pass_shares": even, **known}
        given: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in known.items() if name in plan_fields
        }
        try:
            plan = replace(MERGE_PLAN, **given)
        except ValueError as error:
            raise bad(f"statistics: {error}.", *key) from None
        return cls(plan, known.get("margin_pct", 3.0), known.get("effect_floor_pct"))


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(item is not None and is_bound(item) for item in value)


@dataclass(frozen=True)
class HarnessPart:
    """The `harness` field of a profile, with what it extends merged in.

    `boards` holds whole policies, by board and metric, for the metrics that a board overrides.
    """

    metrics: Mapping[str, OwnPolicy]
    missing: MissingMetricPolicy | None = None
    boards: Mapping[str, Mapping[str, OwnPolicy]] = field(default_factory=lambda: EMPTY)
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        freeze_fields(self, "metrics", "boards")

    def for_board(self, board: str | None) -> Mapping[str, OwnPolicy]:
        """The policies that hold on a board."""
        return {**self.metrics, **self.boards.get(board or "", {})}

    @classmethod
    def from_dict(cls, data: object, inherited: Mapping[str, Any] | None = None) -> Self:
        """Build from JSON data over what the profile inherits.

        Raises:
            ProfileError: an unknown field, an unknown metric, a unit that the metric does not have, a bad value.
        """
        known, unknown = split(data, _PART_FIELDS, "harness")
        if unknown:
            name = next(iter(unknown))
            raise bad(f"harness has the unknown field {name!r}; known are {', '.join(_PART_FIELDS)}.", "harness", name)
        if known.get("extends") and not inherited:
            raise bad("harness.extends works in a profile that is read from a file.", "harness", "extends")
        for name in ("metrics", "boards"):
            if name in known and not isinstance(known[name], Mapping):
                raise bad(f"harness.{name} must be an object.", "harness", name)
        whole = merged(inherited or {}, known)
        entries = whole.get("metrics")
        if not isinstance(entries, Mapping) or not entries:
            raise bad("harness.metrics must map names of metrics to policies.", "harness", "metrics")
        metrics = {name: _policy(name, entry, "harness", "metrics", name) for name, entry in entries.items()}
        missing = whole.get("missing")
        return cls(
            metrics,
            None if missing is None else choice(MissingMetricPolicy, missing, "harness", "missing"),
            _boards(whole.get("boards", {}), entries),
            Statistics.from_dict(whole["statistics"]) if "statistics" in whole else Statistics(),
        )


def _policy(name: str, entry: object, *key: str) -> OwnPolicy:
    if name not in METRICS and not is_selector(name) and not str(name).startswith("memory_regions."):
        raise bad(f"There is no metric {name!r}. {_near(name)}", *key)
    policy = OwnPolicy.from_dict(entry, *key)  # type: ignore[arg-type]
    if name in METRICS and METRICS[name].unit != policy.unit:
        raise bad(f"{name} is measured in {METRICS[name].unit!r}, not {policy.unit!r}.", *key, "unit")
    return policy


def _boards(data: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, dict[str, OwnPolicy]]:
    out: dict[str, dict[str, OwnPolicy]] = {}
    for board, overrides in data.items():
        if not isinstance(overrides, Mapping):
            raise bad(f"boards.{board} must map names of metrics to what differs.", "harness", "boards", board)
        out[board] = {}
        for name, entry in overrides.items():
            key = ("harness", "boards", board, name)
            if not isinstance(entry, Mapping):
                raise bad(f"{name} must be an object.", *key)
            out[board][name] = _policy(name, {**metrics.get(name, {}), **entry}, *key)
    return out


@dataclass(frozen=True)
class ComposedProfile(ComparisonProfile):
    """A profile that extends others; `inherited` is the merged `harness` field of those."""

    inherited: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_fields(self, "inherited")

    @property
    def harness(self) -> HarnessPart | None:
        """Policies for our own metrics, its own over the inherited ones."""
        return HarnessPart.from_dict(thaw(self.extra["harness"]), thaw(self.inherited))


def merged(base: Mapping[str, Any], heir: object) -> dict[str, Any]:
    """A `harness` field over another: policies field by field, everything else by name. `extends` is used up."""
    out = dict(thaw(base))
    for name, value in (heir if isinstance(heir, Mapping) else {}).items():
        old = out.get(name)
        if name != "extends":
            out[name] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else thaw(value)
    return out


def _near(name: object) -> str:
    from harness.core.suggest import did_you_mean

    return did_you_mean(str(name), [*METRICS, *(form for form, _, _ in SELECTORS)])
