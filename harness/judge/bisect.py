"""Finding the commit that made a metric worse, on a board: binary search over the history between two refs.

Each step judges a commit against the good one as `harness ab` does: exact metrics after two pairs, noisy ones look by
look. A commit that is inconclusive, cannot be built or run, or does not have the metric is skipped, and the answer says
which commits are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import BuildError, NotComparableError, TargetError, UsageError
from harness.judge.paired import NotRepeatableError
from harness.judge.profile import ComparisonProfile
from harness.judge.repeats import RepeatedVerdict
from harness.judge.status import OutcomeStatus
from harness.judge.trees import compare_trees
from harness.runner.trees import git

if TYPE_CHECKING:
    from harness.bench.inventory import Bench

Judge = Callable[[str], bool | None]
"""Whether a commit is bad; None when it cannot be told."""
_STATES = {True: "bad", False: "good", None: "skipped"}


@dataclass(frozen=True)
class BisectOutcome:
    """The suspects, oldest first: one when the search ended, more when commits between could not be judged."""

    suspects: tuple[str, ...]
    tested: tuple[tuple[str, str], ...]

    @property
    def commit(self) -> str | None:
        """The commit that did it; None when several are left."""
        return self.suspects[0] if len(self.suspects) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "commit": self.commit,
            "suspects": list(self.suspects),
            "tested": [{"commit": commit, "state": state} for commit, state in self.tested],
        }


def search(commits: Sequence[str], judge: Judge) -> BisectOutcome:
    """Search commits, oldest first, of which the last is known to be bad and the one before the first to be good."""
    low, high = -1, len(commits) - 1
    known: dict[int, bool | None] = {high: True}
    tested: list[tuple[str, str]] = []
    while True:
        left = [index for index in range(low + 1, high) if index not in known]
        if not left:
            return BisectOutcome(tuple(commits[low + 1 : high + 1]), tuple(tested))
        middle = min(left, key=lambda index: abs(index - (low + high) / 2))
        known[middle] = judge(commits[middle])
        tested.append((commits[middle], _STATES[known[middle]]))
        if known[middle] is True:
            high = middle
        elif known[middle] is False:
            low = middle


def is_worse(verdicts: Sequence[RepeatedVerdict], metric: str) -> bool | None:
    """Whether a metric was measured to be worse; None when that is not sure, or it was not measured on both sides."""
    found = [item for item in verdicts if item.metric == metric]
    if not found or any(not item.pairs or item.status is None for item in found):
        return None
    statuses = {item.status for item in found}
    if OutcomeStatus.FAIL in statuses:
        return True
    return None if OutcomeStatus.INCONCLUSIVE in statuses else False


def metric_profile(metric: str, unit: str, *, larger: bool = False, margin_pct: float = 3.0) -> ComparisonProfile:
    """A profile that fails when one metric gets worse at all, or, when noisy, by the margin for sure."""
    own = {"direction": "larger" if larger else "smaller", "unit": unit, "margin_pct": margin_pct}
    return ComparisonProfile.from_dict(
        {
            "schema": "hpx.comparison-profile",
            "schema_version": 1,
            "name": f"bisect {metric}",
            "metrics": {"layers": {"direction": "equal", "unit": "", "missing": "ignore"}},
            "harness": {"metrics": {metric: own}},
        }
    )


def bisect(
    good: str,
    bad: str,
    profile: ComparisonProfile,
    metric: str,
    *,
    repository: Path,
    model: Path,
    settings: Mapping[str, Any],
    bench: Bench,
    out: Path,
    serial: int | None = None,
    seed: int | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> BisectOutcome:
    """Find the first commit of `good..bad` (first parents) whose metric is worse than `good`'s.

    Raises:
        UsageError: a ref does not exist, `good` is no ancestor of `bad`, or `bad` is not worse.
        BuildError, BenchError, TargetError, CaptureError: good or bad cannot be measured, or the bench failed.
    """
    first = git(repository, "rev-parse", "--verify", "--end-of-options", f"{good}^{{commit}}")
    commits = git(repository, "rev-list", "--reverse", "--first-parent", f"{first}..{bad}").split()
    if not commits:
        raise UsageError(f"There is no commit after {good} up to {bad}.", todo="Name a younger bad commit.")
    if git(repository, "merge-base", first, commits[-1]) != first:
        raise UsageError(f"{good} is no ancestor of {bad}.", todo="Name an older good commit and a younger bad one.")

    def judged(commit: str) -> bool | None:
        outcome = compare_trees(
            first, commit, profile, model=model, settings=settings, bench=bench, out=out / commit[:12],
            repository=repository, serial=serial, seed=seed, expect="none",
        )  # fmt: skip
        worse = is_worse(outcome.verdicts, metric)
        log(f"{commit[:12]}: {_STATES[worse]}")
        return worse

    def tolerant(commit: str) -> bool | None:
        try:
            return judged(commit)
        except (BuildError, TargetError, NotComparableError, NotRepeatableError) as error:
            log(f"{commit[:12]}: skipped, {error.what}")
            return None

    worse = judged(commits[-1])
    if worse is not True:
        told = "is not" if worse is False else "cannot be told to be"
        raise UsageError(
            f"{bad} {told} worse than {good} in {metric}.", todo="Name a metric that differs, or other commits."
        )
    return search(commits, tolerant)
