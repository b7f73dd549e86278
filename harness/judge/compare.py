"""Comparing two bundles: `compare(base, cand, profile)` gives an outcome that explains itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.errors import HarnessError, NotComparableError, ProfileError
from harness.core.frozen import thaw
from harness.core.strict_json import canonical
from harness.judge.comparability import ComparabilityAssessment, assess_comparability, read_dimensions
from harness.judge.metrics import METRICS, MODELLED, Group, Metric, MetricDiff, diff, hpx_metrics, make_diff, resolve
from harness.judge.numbers import to_float
from harness.judge.own_profile import HarnessPart
from harness.judge.profile import ComparisonProfile, MissingMetricPolicy
from harness.judge.status import STATUSES, OutcomeStatus
from harness.judge.verdict import (
    ComparisonVerdict,
    ConfigDiffRow,
    MetricVerdict,
    VerdictStatus,
    evaluate_comparison_profile,
    judge_parts,
    worst,
)
from harness.results.dimensions import CONFIG_TABLE, nested
from harness.results.layers import NOT_COUNTERS
from harness.results.reader import RunArtifacts, read_bundle


@dataclass(frozen=True)
class LayerDiff:
    """One layer of both runs, aligned by execution order. `counters` holds every counter that both measured."""

    index: int
    id: Any
    op: str
    baseline_cycles: float | None
    candidate_cycles: float | None
    counters: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def delta_cycles(self) -> float | None:
        """Candidate minus baseline; None where a side has no cycles."""
        if self.baseline_cycles is None or self.candidate_cycles is None:
            return None
        return self.candidate_cycles - self.baseline_cycles

    @property
    def delta_pct(self) -> float | None:
        """Change in percent of the baseline; None where that is zero or unknown."""
        delta = self.delta_cycles
        return delta / self.baseline_cycles * 100 if delta is not None and self.baseline_cycles else None

    @property
    def changed(self) -> bool:
        """Whether cycles or any counter differ."""
        return bool(self.delta_cycles) or any(old != new for old, new in self.counters.values())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "index": self.index,
            "id": self.id,
            "op": self.op,
            "baseline_cycles": self.baseline_cycles,
            "candidate_cycles": self.candidate_cycles,
            "delta_cycles": self.delta_cycles,
            "delta_pct": self.delta_pct,
            "changed": self.changed,
            "counters": {
                name: {"baseline": old, "candidate": new, "delta": new - old}
                for name, (old, new) in self.counters.items()
            },
        }


@dataclass(frozen=True)
class CompareOutcome:
    """Everything a comparison found. True in a test only when something was judged and nothing failed."""

    status: OutcomeStatus
    code: str = ""
    baseline: RunArtifacts | None = None
    candidate: RunArtifacts | None = None
    comparability: ComparabilityAssessment = field(default_factory=ComparabilityAssessment)
    config_rows: tuple[ConfigDiffRow, ...] = ()
    metrics: tuple[MetricDiff, ...] = ()
    layers: tuple[LayerDiff, ...] = ()
    verdict: ComparisonVerdict | None = None
    harness_status: VerdictStatus | None = None
    harness_metrics: tuple[MetricVerdict, ...] = ()
    error: HarnessError | None = None

    def __bool__(self) -> bool:
        return STATUSES[self.status].true

    @property
    def exit_code(self) -> int:
        """What `harness compare` ends with."""
        return self.error.exit_code if self.error is not None else STATUSES[self.status].exit_code or 0

    @property
    def failed_metrics(self) -> tuple[MetricVerdict, ...]:
        """Verdicts that failed, of both parts."""
        own = self.verdict.metrics if self.verdict is not None else ()
        return tuple(item for item in (*own, *self.harness_metrics) if item.status is VerdictStatus.FAIL)

    @property
    def changed_layers(self) -> tuple[LayerDiff, ...]:
        """Layers whose cycles or counters differ, in execution order."""
        return tuple(layer for layer in self.layers if layer.changed)

    @property
    def source(self) -> str | None:
        """Where both sides' numbers come from."""
        return self.candidate.source if self.candidate is not None else None

    def explain(self) -> str:
        """The verdict as text: a table of metrics, the changed layers, what was not comparable."""
        from harness.judge.explain import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; non-finite numbers become null."""
        from harness.judge.explain import outcome_to_dict

        return outcome_to_dict(self)


def compare(
    base: str | Path | RunArtifacts,
    cand: str | Path | RunArtifacts,
    profile: str | Path | ComparisonProfile | None = None,
    *,
    strict: bool = True,
) -> CompareOutcome:
    """Compare two bundles and judge them by a profile.

    Args:
        base: the baseline's directory, or its records as read.
        cand: the candidate's.
        profile: a profile or its file. None compares without a verdict; the status is then `none`.
        strict: read the bundles strictly; without it, as leniently as hpx does.

    Raises:
        ProfileError: the profile cannot be used.
        EvidenceError: a bundle is tampered with, incomplete or unreadable.
        NotComparableError: the two must not be compared; `context` holds the assessment.
    """
    if profile is not None and not isinstance(profile, ComparisonProfile):
        profile = ComparisonProfile.load(profile)
    baseline = base if isinstance(base, RunArtifacts) else read_bundle(base, strict=strict)
    candidate = cand if isinstance(cand, RunArtifacts) else read_bundle(cand, strict=strict)
    assessment = assess_comparability(baseline, candidate)
    if not assessment.run_metrics_comparable:
        raise _not_comparable(assessment)
    outcome = CompareOutcome(
        status=OutcomeStatus.NONE,
        baseline=baseline,
        candidate=candidate,
        comparability=assessment,
        config_rows=_config_rows(baseline, candidate),
        metrics=_metric_rows(baseline, candidate, assessment),
        layers=layer_rows(baseline, candidate, assessment),
    )
    return outcome if profile is None else _judged(outcome, profile)


def try_compare(
    base: str | Path | RunArtifacts,
    cand: str | Path | RunArtifacts,
    profile: str | Path | ComparisonProfile | None = None,
    *,
    strict: bool = True,
) -> CompareOutcome:
    """Like `compare`, with errors as an outcome of status `error` that carries the error and its code."""
    try:
        return compare(base, cand, profile, strict=strict)
    except HarnessError as error:
        return CompareOutcome(status=OutcomeStatus.ERROR, code=error.code, error=error)


def _not_comparable(assessment: ComparabilityAssessment) -> NotComparableError:
    blocking = [item for item in assessment.issues if item.severity.value == "blocking"]
    return NotComparableError(
        "The two bundles are not comparable: " + " ".join(item.message for item in blocking),
        why="Codes: " + ", ".join(item.code for item in blocking) + ".",
        todo="Compare valid runs of one model whose numbers come from one source.",
        context={"comparability": assessment.to_dict()},
    )


def _config_rows(base: RunArtifacts, cand: RunArtifacts) -> tuple[ConfigDiffRow, ...]:
    dims = (read_dimensions(base), read_dimensions(cand))
    rows = []
    for key, label, path in CONFIG_TABLE:
        old, new = (
            _stable(side.get(key) if path is None else nested(run.metadata, path))
            for side, run in zip(dims, (base, cand), strict=True)
        )
        rows.append(ConfigDiffRow(label, old, new, "same" if old == new else "diff", key))
    return tuple(rows)


def _stable(value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        try:
            return canonical(thaw(value)).decode()
        except ValueError:
            return repr(value)
    return value


def _metric_rows(base: RunArtifacts, cand: RunArtifacts, assessment: ComparabilityAssessment) -> tuple[MetricDiff, ...]:
    dropped = assessment.dropped_groups
    own = [diff(metric, base, cand) for metric in METRICS.values() if not metric.hpx and usable(metric, assessment)]
    present = [row for row in own if row.baseline is not None or row.candidate is not None]
    return (*hpx_metrics(base, cand, dropped), *present)


def _layers_usable(assessment: ComparabilityAssessment) -> bool:
    return assessment.layers_comparable and Group.COUNTERS not in assessment.dropped_groups


def usable(metric: Metric, assessment: ComparabilityAssessment) -> bool:
    """Whether a metric may be compared."""
    if metric.group == "layers":
        return _layers_usable(assessment)
    if metric.family in MODELLED and Group.COUNTERS in assessment.dropped_groups:
        return False
    return metric.group not in assessment.dropped_groups


def layer_rows(base: RunArtifacts, cand: RunArtifacts, assessment: ComparabilityAssessment) -> tuple[LayerDiff, ...]:
    """Layers aligned by execution order; none where they are not comparable."""
    if not _layers_usable(assessment):
        return ()
    rows = []
    for index, (old, new) in enumerate(zip(base.layers, cand.layers, strict=True)):
        counters: dict[str, tuple[float, float]] = {}
        for name in sorted((old.keys() & new.keys()) - NOT_COUNTERS):
            pair = (to_float(old[name]), to_float(new[name]))
            if pair[0] is not None and pair[1] is not None:
                counters[name] = (pair[0], pair[1])
        rows.append(
            LayerDiff(
                index,
                new.get("id", old.get("id", index)),
                str(new.get("op", "")),
                to_float(old.get("cycles")),
                to_float(new.get("cycles")),
                counters,
            )
        )
    return tuple(rows)


def _judged(outcome: CompareOutcome, profile: ComparisonProfile) -> CompareOutcome:
    hpx_names = {name for name, metric in METRICS.items() if metric.hpx}
    rows = [row for row in outcome.metrics if row.name in hpx_names or row.name.startswith("memory_regions.")]
    verdict = evaluate_comparison_profile(_Rows(rows, outcome.config_rows), profile)
    part = profile.harness
    own = _own_verdicts(outcome, part) if part is not None else ()
    own_status = worst(item.status for item in own) if part is not None else None
    overall = worst([verdict.status] if own_status is None else [verdict.status, own_status])
    return CompareOutcome(
        **{
            **vars(outcome),
            "status": OutcomeStatus(overall.value),
            "verdict": verdict,
            "harness_status": own_status,
            "harness_metrics": own,
        }
    )


@dataclass(frozen=True)
class _Rows:
    metrics: Sequence[MetricDiff]
    config_rows: Sequence[ConfigDiffRow]


def _board(run: RunArtifacts) -> str | None:
    board = read_dimensions(run).get("board")
    return board if isinstance(board, str) else None


def _own_verdicts(outcome: CompareOutcome, part: HarnessPart) -> tuple[MetricVerdict, ...]:
    base, cand = outcome.baseline, outcome.candidate
    assert base is not None and cand is not None
    rows: dict[str, list[MetricDiff]] = {}
    by_name = {row.name: row for row in outcome.metrics}
    policies = part.for_board(_board(cand))
    for name in policies:
        if name in by_name:
            rows[name] = [by_name[name]]
            continue
        metrics = {metric.name: metric for run in (base, cand) for metric in resolve(name, run)}
        rows[name] = [
            make_diff(metric, metric.read(base), metric.read(cand))
            for metric in metrics.values()
            if usable(metric, outcome.comparability)
        ]
    return judge_parts(rows, policies, part.missing or MissingMetricPolicy.FAIL)


__all__ = ["CompareOutcome", "LayerDiff", "OutcomeStatus", "ProfileError", "compare", "try_compare"]
