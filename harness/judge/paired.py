"""Two images measured in pairs on one board and judged: the merge gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import EvidenceError, NotComparableError
from harness.judge.comparability import ComparabilityAssessment, assess_comparability, not_repeatable, read_dimensions
from harness.judge.compare import layer_rows, usable
from harness.judge.metrics import METRICS, hpx_metrics, repeatability, resolve
from harness.judge.numbers import to_float
from harness.judge.own_profile import Statistics
from harness.judge.profile import ComparisonProfile, MissingMetricPolicy
from harness.judge.repeats import (
    RepeatedVerdict,
    Series,
    benjamini_hochberg,
    judge_series,
    policies_of,
    repeats_differ,
)
from harness.judge.sequential import candidate_first
from harness.judge.status import STATUSES, OutcomeStatus, deciding
from harness.results.reader import RunArtifacts, read_bundle

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease
    from harness.image.record import Build

Pair = tuple[RunArtifacts, RunArtifacts]
EXACT_PAIRS = 2
"""Pairs when nothing is noisy: enough to see that runs repeat."""
_ALONE = {
    MissingMetricPolicy.FAIL: OutcomeStatus.FAIL,
    MissingMetricPolicy.WARN: OutcomeStatus.WARN,
    MissingMetricPolicy.IGNORE: OutcomeStatus.SKIP,
}


class NotRepeatableError(EvidenceError):
    """An exact metric differed between runs of one image: nothing can be said of it."""

    code = "metric.not_repeatable"


@dataclass(frozen=True)
class LayerShift:
    """One layer over all pairs: medians and the median change, in cycles. `moved` is exploratory, at a rate of 5 %."""

    index: int
    op: str
    baseline: float
    candidate: float
    shift: float
    moved: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(vars(self))


@dataclass(frozen=True)
class PairedOutcome:
    """What pairs of runs say. True in a test as `STATUSES` has it; `wants_more` while looks are left."""

    status: OutcomeStatus
    verdicts: tuple[RepeatedVerdict, ...]
    pairs: int
    comparability: ComparabilityAssessment
    layers: tuple[LayerShift, ...] = ()
    seed: int | None = None
    source: str | None = None
    board: str | None = None
    profile: str | None = None
    bundles: tuple[tuple[str, str], ...] = ()
    wants_more: bool = False

    def __bool__(self) -> bool:
        return STATUSES[self.status].true and not self.wants_more

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return STATUSES[self.status].exit_code or 0

    @property
    def changed_layers(self) -> tuple[LayerShift, ...]:
        """Layers that moved, the largest change first."""
        return tuple(sorted((item for item in self.layers if item.moved), key=lambda item: -abs(item.shift)))

    def explain(self) -> str:
        """The outcome as text."""
        from harness.judge.report import paired_text

        return paired_text(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; non-finite numbers become null."""
        from harness.judge.report import paired_to_dict

        return paired_to_dict(self)


def judge_pairs(pairs: Sequence[Pair], profile: ComparisonProfile, *, seed: int | None = None) -> PairedOutcome:
    """Judge pairs of bundles of the same two images, measured in turn on one board.

    Raises:
        NotComparableError: a pair must not be compared.
        NotRepeatableError: an exact metric did not repeat.
    """
    assessments = [assess_comparability(*pair) for pair in pairs]
    for assessment in assessments:
        if not assessment.run_metrics_comparable:
            issues = [item for item in assessment.issues if item.severity == "blocking"]
            raise NotComparableError(
                "The runs are not comparable: " + " ".join(item.message for item in issues),
                todo="Measure valid runs of one model on boards of one kind.",
                context={"comparability": assessment.to_dict()},
            )
    assessment = assessments[0]
    base, cand = pairs[0]
    board = read_dimensions(cand).get("board")
    own = profile.harness
    statistics = own.statistics if own is not None else Statistics()
    series, verdicts = _series(pairs, profile, assessment, board if isinstance(board, str) else None)
    for item in series:
        differing = repeats_differ(item)
        if differing is not None:
            issue = not_repeatable(item.name, *differing)
            raise NotRepeatableError(issue.message, todo="Mend the bench or the firmware.", context=issue.to_dict())
    verdicts += judge_series(series, statistics)
    open_ = any(item.status is None for item in verdicts)
    known = [item.status for item in verdicts if item.status is not None]
    return PairedOutcome(
        status=OutcomeStatus.INCONCLUSIVE if open_ and "fail" not in known else deciding(known),
        verdicts=tuple(verdicts),
        pairs=len(pairs),
        comparability=assessment,
        layers=layer_shifts(pairs) if layer_rows(base, cand, assessment) else (),
        seed=seed,
        source=cand.source,
        board=str(board),
        profile=profile.name,
        bundles=tuple((str(old.path), str(new.path)) for old, new in pairs),
        wants_more=open_ and OutcomeStatus.FAIL not in known,
    )


def _series(
    pairs: Sequence[Pair], profile: ComparisonProfile, assessment: ComparabilityAssessment, board: str | None
) -> tuple[list[Series], list[RepeatedVerdict]]:
    own = profile.harness
    policies = policies_of(profile.metrics, own.for_board(board) if own is not None else {})
    series: list[Series] = []
    missing: list[RepeatedVerdict] = []
    base, cand = pairs[0]
    regions = {row.name: row for row in hpx_metrics(base, cand, assessment.dropped_groups)}
    for name, policy in policies.items():
        default = own.missing if own is not None and name in own.metrics else profile.missing
        alone = _ALONE[policy.missing or default or MissingMetricPolicy.FAIL]
        if name.startswith("memory_regions.") and name in regions:
            row = regions[name]
            sides = [tuple(to_float(v) or 0.0 for _ in pairs) for v in (row.baseline, row.candidate)]
            series.append(Series(name, row.unit, policy, True, sides[0], sides[1]))
            continue
        metrics = {m.name: m for run in (base, cand) for m in resolve(name, run) if usable(m, assessment)}
        if not metrics:
            missing.append(RepeatedVerdict(name, alone, "Metric is unavailable."))
        for metric in metrics.values():
            values = [[to_float(metric.read(run), finite=True) for run in side] for side in zip(*pairs, strict=True)]
            known = [tuple(v for v in side if v is not None) for side in values]
            if min(map(len, known)) < len(pairs):
                missing.append(RepeatedVerdict(metric.name, alone, "Metric is unavailable."))
            elif metric.unit != policy.unit:
                text = f"Metric unit is {metric.unit!r}, expected {policy.unit!r}."
                missing.append(RepeatedVerdict(metric.name, OutcomeStatus.FAIL, text))
            else:
                exact = all(repeatability(run, metric) == "exact" for run in (base, cand))
                series.append(Series(metric.name, metric.unit, policy, exact, known[0], known[1]))
    return series, missing


def layer_shifts(pairs: Sequence[Pair]) -> tuple[LayerShift, ...]:
    """How each layer's cycles changed, whatever the profile asks for."""
    import numpy as np

    from harness.judge.ranks import hodges_lehmann, larger_p, smaller_p

    rows: list[tuple[int, str, Any, Any]] = []
    for index, row in enumerate(pairs[0][1].layers):
        sides = [
            [to_float(run.layers[index].get("cycles"), finite=True) for run in side]
            for side in zip(*pairs, strict=True)
        ]
        if not any(value is None for side in sides for value in side):
            rows.append((index, str(row.get("op", "")), np.asarray(sides[0], float), np.asarray(sides[1], float)))
    exact = repeatability(pairs[0][1], METRICS["total_cycles"]) == "exact"
    moved: Sequence[bool]
    if exact:
        moved = [bool((old != new).all()) for _, _, old, new in rows]
    else:
        moved = benjamini_hochberg(
            [min(1.0, 2 * min(larger_p(old, new), smaller_p(old, new))) for _, _, old, new in rows], 0.05
        )
    return tuple(
        LayerShift(index, op, float(np.median(old)), float(np.median(new)), hodges_lehmann(old, new), flag)
        for (index, op, old, new), flag in zip(rows, moved, strict=True)
    )


def run_paired(
    base: Build,
    head: Build,
    profile: ComparisonProfile,
    *,
    lease: BoardLease,
    seed: int,
    out: Path,
    deadlines: Any = None,
    inputs: Any = (),
    inspect: int = 1,
    expect: str = "reference",
    log: Callable[[str], None] = lambda text: None,
) -> PairedOutcome:
    """Measure two images in pairs on a leased board until they are judged or the looks are spent.

    Which side of a pair runs first is drawn from `seed`. The host reference checks the first run of each side; every
    run has a bundle in `out`.

    Raises:
        NotComparableError, NotRepeatableError: see `judge_pairs`.
        BenchError, TargetError, CaptureError: a run failed.
    """
    from harness.runner.run import run

    own = profile.harness
    plan = (own.statistics if own is not None else Statistics()).plan
    pairs: list[Pair] = []
    while True:
        number = len(pairs)
        done: dict[str, RunArtifacts] = {}
        order = ("head", "base") if candidate_first(seed, number) else ("base", "head")
        for role in order:
            outcome = run(
                base if role == "base" else head,
                lease=lease,
                out=out / f"{number + 1:03}-{role}",
                inputs=inputs if number == 0 else (),
                inspect=inspect if number == 0 else 0,
                expect=expect if number == 0 else "none",
                deadlines=deadlines,
            )
            done[role] = read_bundle(outcome.bundle)
        pairs.append((done["base"], done["head"]))
        log(f"pair {number + 1}: {order[0]} first")
        if len(pairs) == EXACT_PAIRS or len(pairs) in plan.looks:
            judged = judge_pairs(pairs, profile, seed=seed)
            noisy = any(not item.exact and item.pairs for item in judged.verdicts)
            if (len(pairs) >= EXACT_PAIRS and not noisy) or (len(pairs) in plan.looks and not judged.wants_more):
                return judged
            log(f"{len(pairs)} pairs: more are wanted")
