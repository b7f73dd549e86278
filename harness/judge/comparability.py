"""Whether the numbers of two bundles may be compared, and which of them.

Codes, severities and order are hpx's; what hpx does not know (source of the numbers, window clock, counter model) is
added after them. Nothing is decided from a value that one side does not state, except where a dimension says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.results.dimensions import DIMENSIONS, HPX_DIMENSIONS, Dimension, Effect, Where, nested
from harness.results.issues import Severity, confined_family
from harness.results.manifest import ResultManifest, ResultValidity, RunStatus
from harness.results.reader import RunArtifacts


class ComparabilitySeverity(StrEnum):
    """What one comparability issue does."""

    BLOCKING = "blocking"
    LAYER_BLOCKING = "layer_blocking"
    METRIC_BLOCKING = "metric_blocking"
    INFORMATIVE = "informative"


@dataclass(frozen=True)
class ComparabilityIssue:
    """One decision, with both sides' facts in `context`."""

    code: str
    severity: ComparabilitySeverity
    message: str
    context: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        freeze_fields(self, "context")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "context": thaw(self.context),
        }


@dataclass(frozen=True)
class ComparabilityAssessment:
    """All decisions about one pair of bundles."""

    issues: tuple[ComparabilityIssue, ...] = ()

    @property
    def run_metrics_comparable(self) -> bool:
        """Whether anything may be compared at all."""
        return not any(item.severity is ComparabilitySeverity.BLOCKING for item in self.issues)

    @property
    def layers_comparable(self) -> bool:
        """Whether layers may be compared one by one."""
        return self.run_metrics_comparable and not any(
            item.severity is ComparabilitySeverity.LAYER_BLOCKING for item in self.issues
        )

    def metric_group_comparable(self, group: str) -> bool:
        """Whether the metrics of one group (power, memory, window, counters) may be compared."""
        return self.run_metrics_comparable and group not in self.dropped_groups

    @property
    def dropped_groups(self) -> frozenset[str]:
        """Metric groups that some issue drops."""
        return frozenset(
            str(item.context.get("metric_group"))
            for item in self.issues
            if item.severity is ComparabilitySeverity.METRIC_BLOCKING
        )

    @property
    def power_metrics_comparable(self) -> bool:
        """Whether power metrics may be compared."""
        return self.metric_group_comparable("power")

    @property
    def memory_metrics_comparable(self) -> bool:
        """Whether per-region memory metrics may be compared."""
        return self.metric_group_comparable("memory")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, with the field names that hpx uses."""
        return {
            "run_metrics_comparable": self.run_metrics_comparable,
            "layers_comparable": self.layers_comparable,
            "power_metrics_comparable": self.power_metrics_comparable,
            "memory_metrics_comparable": self.memory_metrics_comparable,
            "issues": [item.to_dict() for item in self.issues],
        }


@dataclass(frozen=True)
class ComparabilityCode:
    """One comparability code: its severity, what it drops, and what it means. `*` stands for a dimension's name."""

    code: str
    severity: ComparabilitySeverity
    text: str
    group: str = ""


_B, _L, _D, _I = (
    ComparabilitySeverity.BLOCKING,
    ComparabilitySeverity.LAYER_BLOCKING,
    ComparabilitySeverity.METRIC_BLOCKING,
    ComparabilitySeverity.INFORMATIVE,
)

CODES: Mapping[str, ComparabilityCode] = {
    item.code: item
    for item in (
        ComparabilityCode("result.incomplete", _B, "The {role} run is {status}, not complete."),
        ComparabilityCode("result.invalid", _B, "The {role} run is invalid: {codes}."),
        ComparabilityCode("result.degraded", _I, "The {role} run is degraded: {codes}."),
        ComparabilityCode("identity.model_mismatch", _B, "The two runs measured different models."),
        ComparabilityCode("identity.source_mismatch", _B, DIMENSIONS["source"].text),
        ComparabilityCode(
            "metric.power_integrity_invalid", _D, "Power metrics omitted: those of the {role} run are {state}.", "power"
        ),
        ComparabilityCode("metric.power_*_mismatch", _D, "Power metrics omitted because {dimension} differs.", "power"),
        ComparabilityCode(
            "metric.memory_*_mismatch", _D, "Per-region memory metrics omitted because {dimension} differs.", "memory"
        ),
        ComparabilityCode(
            "metric.window_*_mismatch", _D, "Clean-window metrics omitted because {dimension} differs.", "window"
        ),
        ComparabilityCode(
            "metric.counters_*_mismatch", _D, "Counters and times omitted because {dimension} differs.", "counters"
        ),
        ComparabilityCode(
            "topology.layer_count_mismatch", _L, "Layers not compared: {baseline} in the baseline, {candidate} now."
        ),
        ComparabilityCode(
            "topology.operation_sequence_mismatch", _L, "Layers not compared: the operators or their order differ."
        ),
        ComparabilityCode("evidence.partly_read", _I, "The {role}: {note}"),
        ComparabilityCode("metric.not_repeatable", _B, "{metric} of the {role} must repeat exactly and did not."),
        ComparabilityCode("dimension.*_differs", _I, "{dimension} differs."),
    )
}
"""All codes; the documentation table is generated from here."""

_FAMILY = {
    Effect.POWER: "metric.power_*_mismatch",
    Effect.MEMORY: "metric.memory_*_mismatch",
    Effect.WINDOW: "metric.window_*_mismatch",
    Effect.COUNTERS: "metric.counters_*_mismatch",
    Effect.INFORMATIVE: "dimension.*_differs",
}


def _issue(key: str, *, dimension: Dimension | None = None, **context: Any) -> ComparabilityIssue:
    spec = CODES[key]
    code = key.replace("*", dimension.name) if dimension is not None else key
    template = (dimension.text if dimension is not None else "") or spec.text
    words = {**context, "dimension": dimension.name if dimension is not None else ""}
    facts = {"metric_group": spec.group, **context} if spec.group else context
    return ComparabilityIssue(code, spec.severity, template.format(**words), facts)


def assess_comparability(baseline: RunArtifacts, candidate: RunArtifacts) -> ComparabilityAssessment:
    """Compare identity, validity, topology and dimensions of two bundles."""
    sides = (("baseline", baseline), ("candidate", candidate))
    values = (read_dimensions(baseline), read_dimensions(candidate))
    issues: list[ComparabilityIssue] = []
    for role, run in sides:
        if run.manifest is not None:
            issues += _status_issues(role, run.manifest)
    issues += _identity_issues("identity.model_mismatch", "model_sha256", values)
    issues += _effect_issues(Effect.POWER, values)
    issues += _integrity_issues(values)
    if any("memory_regions" in run.summary for _, run in sides):
        issues += _effect_issues(Effect.MEMORY, values)
    issues += _topology_issues(baseline, candidate)
    issues += _effect_issues(Effect.INFORMATIVE, values)
    issues += _source_issues(values)
    issues += _effect_issues(Effect.WINDOW, values)
    issues += _effect_issues(Effect.COUNTERS, values)
    issues += [_issue("evidence.partly_read", role=role, note=note) for role, run in sides for note in run.notes]
    return ComparabilityAssessment(tuple(issues))


def not_repeatable(metric: str, role: str, values: Sequence[float]) -> ComparabilityIssue:
    """The issue of an exact metric whose repeats on one side differ; the values stand in its context."""
    return _issue("metric.not_repeatable", metric=metric, role=role, values=list(values))


def read_dimensions(run: RunArtifacts) -> dict[str, Any]:
    """Every dimension that a bundle states: from its records, then from its manifest where that is the authority."""
    power = run.summary.get("power")
    sources: dict[Where, Any] = {Where.METADATA: run.metadata, Where.SUMMARY: run.summary, Where.POWER: power}
    values: dict[str, Any] = {}
    for item in DIMENSIONS.values():
        if item.path and isinstance(sources.get(item.where), Mapping):
            values[item.name] = nested(sources[item.where], item.path)
    if isinstance(power, Mapping):
        values["power_monitor"] = "ina228" if power.get("on_device_summary") else "none"
        if not isinstance(values.get("power_clean_workload"), str):
            values["power_clean_workload"] = None
    for name, value in (run.manifest.comparability if run.manifest is not None else {}).items():
        known = DIMENSIONS.get(name)
        if value is not None and (known is None or known.manifest):
            values[name] = value
    return values


def _status_issues(role: str, manifest: ResultManifest) -> Iterator[ComparabilityIssue]:
    facts: dict[str, Any] = {"role": role, "run_id": manifest.run_id}
    codes = ", ".join(dict.fromkeys(item.code for item in manifest.issues)) or "no reason given"
    if manifest.status is not RunStatus.COMPLETE:
        yield _issue("result.incomplete", **facts, status=manifest.status.value)
    if manifest.validity is ResultValidity.DEGRADED:
        yield _issue("result.degraded", **facts, codes=codes)
    if manifest.validity is not ResultValidity.INVALID:
        return
    errors = [item.code for item in manifest.issues if item.severity == Severity.ERROR]
    if errors and all(confined_family(code) == "power" for code in errors):
        yield _issue("metric.power_integrity_invalid", **facts, state="invalid")
    else:
        yield _issue("result.invalid", **facts, codes=codes)


UNSTATED = "silicon (not stated)"
Pair = tuple[dict[str, Any], dict[str, Any]]


def _identity_issues(code: str, name: str, values: Pair) -> Iterator[ComparabilityIssue]:
    old, new = (side.get(name) for side in values)
    if old and new and old != new:
        yield _issue(code, baseline=old, candidate=new)


def _source_issues(values: Pair) -> Iterator[ComparabilityIssue]:
    """A bundle that states no source is taken for silicon, for other producers measure nothing else."""
    old, new = (side.get("source") for side in values)
    if (old or "silicon") != (new or "silicon"):
        yield _issue("identity.source_mismatch", baseline=old or UNSTATED, candidate=new or UNSTATED)


def _effect_issues(effect: Effect, values: Pair) -> Iterator[ComparabilityIssue]:
    for item in DIMENSIONS.values():
        if item.effect is not effect or item.name == "power_integrity":
            continue
        if any(_differs(scope, values) is not False for scope in item.scoped_to):
            continue
        old, new = (side.get(item.name) for side in values)
        if old != new and (item.one_sided or (old is not None and new is not None)):
            yield _issue(_FAMILY[effect], dimension=item, baseline=old, candidate=new)


def _differs(name: str, values: Pair) -> bool | None:
    old, new = (side.get(name) for side in values)
    return None if old is None or new is None else bool(old != new)


def _integrity_issues(values: Pair) -> Iterator[ComparabilityIssue]:
    for role, side in zip(("baseline", "candidate"), values, strict=True):
        state = side.get("power_integrity")
        if state not in (None, "valid"):
            yield _issue("metric.power_integrity_invalid", role=role, state=state)


def _topology_issues(baseline: RunArtifacts, candidate: RunArtifacts) -> Iterator[ComparabilityIssue]:
    old, new = ([row.get("op") for row in run.layers] for run in (baseline, candidate))
    if len(old) != len(new):
        yield _issue("topology.layer_count_mismatch", baseline=len(old), candidate=len(new))
    elif old != new:
        yield _issue("topology.operation_sequence_mismatch")


__all__ = [
    "CODES",
    "HPX_DIMENSIONS",
    "ComparabilityAssessment",
    "ComparabilityCode",
    "ComparabilityIssue",
    "ComparabilitySeverity",
    "assess_comparability",
    "not_repeatable",
    "read_dimensions",
]
