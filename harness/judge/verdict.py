"""From metric differences and a profile to a verdict. Pure: the same pair and profile always give the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.judge.metrics import MetricDiff
from harness.judge.numbers import to_float
from harness.judge.own_profile import OwnPolicy
from harness.judge.profile import (
    PROFILE_SCHEMA,
    PROFILE_VERSION,
    ComparisonProfile,
    MetricDirection,
    MetricPolicy,
    MissingMetricPolicy,
)
from harness.judge.status import VerdictStatus, worst


@dataclass(frozen=True)
class MetricVerdict:
    """Verdict on one metric with both values, how much worse it got, and how much worse it might."""

    metric: str
    status: VerdictStatus
    message: str
    baseline: float | None = None
    candidate: float | None = None
    regression: float | None = None
    allowed_regression: float | None = None
    unit: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**vars(self), "status": self.status.value}


@dataclass(frozen=True)
class ComparisonVerdict:
    """Verdict of one profile on one pair of bundles."""

    status: VerdictStatus
    metrics: tuple[MetricVerdict, ...]
    dimension_mismatches: tuple[str, ...] = ()
    profile_name: str | None = None
    profile_schema: str = PROFILE_SCHEMA
    profile_schema_version: int = PROFILE_VERSION
    profile_sha256: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, with hpx's field names."""
        return {
            "status": self.status.value,
            "profile_name": self.profile_name,
            "profile_schema": self.profile_schema,
            "profile_schema_version": self.profile_schema_version,
            "profile_sha256": self.profile_sha256,
            "dimension_mismatches": list(self.dimension_mismatches),
            "metrics": [item.to_dict() for item in self.metrics],
        }


@dataclass(frozen=True)
class ConfigDiffRow:
    """One fact of both runs, as required dimensions look at it."""

    field: str
    baseline: Any
    candidate: Any
    status: str
    key: str = ""


class Comparison(Protocol):
    """What a profile is evaluated on: the metric rows and the configuration rows of one pair."""

    @property
    def metrics(self) -> Sequence[MetricDiff]:
        """Metric rows."""

    @property
    def config_rows(self) -> Sequence[ConfigDiffRow]:
        """Configuration rows."""


_MISSING = {
    MissingMetricPolicy.FAIL: VerdictStatus.FAIL,
    MissingMetricPolicy.WARN: VerdictStatus.WARN,
    MissingMetricPolicy.IGNORE: VerdictStatus.SKIP,
}


def evaluate_comparison_profile(result: Comparison, profile: ComparisonProfile) -> ComparisonVerdict:
    """Judge the `metrics` map and the required dimensions of a profile."""
    rows = {row.name: row for row in result.metrics}
    verdicts = tuple(
        judge_metric(name, rows.get(name), policy, policy.missing or profile.missing or MissingMetricPolicy.FAIL)
        for name, policy in profile.metrics.items()
    )
    known = {row.key: row for row in result.config_rows}
    mismatches = tuple(name for name in profile.required_dimensions if not _agrees(known.get(name)))
    return ComparisonVerdict(
        status=VerdictStatus.FAIL if mismatches else worst(item.status for item in verdicts),
        metrics=verdicts,
        dimension_mismatches=mismatches,
        profile_name=profile.name,
        profile_sha256=profile.sha256,
    )


def _agrees(row: ConfigDiffRow | None) -> bool:
    return (
        row is not None and row.baseline not in (None, "") and row.candidate not in (None, "") and row.status == "same"
    )


def judge_metric(
    name: str, row: MetricDiff | None, policy: MetricPolicy, missing: MissingMetricPolicy
) -> MetricVerdict:
    """Judge one metric: absent, of another unit, not a number, or better or worse than the policy allows."""
    if row is None or row.baseline is None or row.candidate is None:
        return MetricVerdict(name, _MISSING[missing], "Metric is unavailable.")
    if row.unit != policy.unit:
        text = f"Metric unit is {row.unit!r}, expected {policy.unit!r}."
        return MetricVerdict(name, VerdictStatus.FAIL, text, unit=row.unit)
    old, new = to_float(row.baseline, finite=True), to_float(row.candidate, finite=True)
    if old is None or new is None:
        return MetricVerdict(name, VerdictStatus.FAIL, "Metric values are not numeric.")
    worse = regression(old, new, policy.direction)
    allowed = allowed_regression(old, policy)
    status, message = VerdictStatus.PASS, "Within regression tolerance."
    if not worse <= allowed:
        status, message = VerdictStatus.FAIL, "Regression exceeds tolerance."
    elif isinstance(policy, OwnPolicy) and policy.warns(old, worse):
        status, message = VerdictStatus.WARN, "Within tolerance, but over the warn bound."
    return MetricVerdict(
        metric=name,
        status=status,
        message=message,
        baseline=old,
        candidate=new,
        regression=worse,
        allowed_regression=allowed,
        unit=row.unit,
    )


def regression(baseline: float, candidate: float, direction: MetricDirection) -> float:
    """How much worse the candidate is, in the metric's unit; 0.0 when it is not."""
    delta = candidate - baseline
    if direction is MetricDirection.SMALLER:
        return max(0.0, delta)
    if direction is MetricDirection.LARGER:
        return max(0.0, -delta)
    return abs(delta)


def allowed_regression(baseline: float, policy: MetricPolicy) -> float:
    """The larger of the absolute bound and the percentage of the baseline's magnitude."""
    return max(
        float(policy.max_regression_abs or 0.0),
        abs(baseline) * float(policy.max_regression_pct or 0.0) / 100.0,
    )


def judge_parts(
    rows: Mapping[str, Sequence[MetricDiff]], policies: Mapping[str, MetricPolicy], missing: MissingMetricPolicy
) -> tuple[MetricVerdict, ...]:
    """Judge our own metrics: `rows` maps each name of the profile to the rows it stands for, none when unavailable."""
    verdicts: list[MetricVerdict] = []
    for name, policy in policies.items():
        effective = policy.missing or missing
        found = rows.get(name, ())
        if not found:
            verdicts.append(judge_metric(name, None, policy, effective))
        verdicts += [judge_metric(row.name, row, policy, effective) for row in found]
    return tuple(verdicts)


__all__ = [
    "ComparisonVerdict",
    "ConfigDiffRow",
    "MetricVerdict",
    "VerdictStatus",
    "allowed_regression",
    "evaluate_comparison_profile",
    "judge_metric",
    "judge_parts",
    "regression",
    "worst",
]
