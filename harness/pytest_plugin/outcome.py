"""What became of a test in the harness' terms, as plain data that survives the trip from an xdist worker."""

from __future__ import annotations

from datetime import datetime
from traceback import walk_tb
from typing import Any, Literal

import pytest

from harness.core.errors import INFRASTRUCTURE, HarnessError, InconclusiveVerdict, RegressionFailed

HilClass = Literal[
    "passed", "regression", "inconclusive", "outputs", "infrastructure", "blocked", "usage", "failed", "skipped"
]

RECORD = pytest.StashKey[dict[str, Any]]()
"""Per test: board, source, bundle paths, verdicts, target log; filled by fixtures, read by the report hook."""

ASKED = pytest.StashKey[set[tuple[str, int]]]()
"""Per test: file and line of each place that asked whether a verdict holds and was told that it failed."""

STARTED = pytest.StashKey[datetime]()
"""When this session began: bundles made since are its own, and no baseline for it."""

BROKEN = pytest.StashKey[dict[str, str]]()
"""Per session: board type -> why no further test can use it."""


class BlockedError(HarnessError):
    """A test did not run because its board was found broken by an earlier one."""

    code = "bench.blocked"
    exit_code = 6
    fault_class = "bench"


class FlakyRunError(HarnessError):
    """A run needed more than one attempt, and `--hil-fail-on-flaky` was given."""

    code = "bench.flaky"
    exit_code = 6
    fault_class = "bench"


def record_of(item: pytest.Item) -> dict[str, Any]:
    """The record of a test, made on first use."""
    return item.stash.setdefault(RECORD, {"bundles": [], "verdicts": []})


def classify(error: BaseException) -> HilClass:
    """The class of an exception that ended a test."""
    if isinstance(error, BlockedError):
        return "blocked"
    if isinstance(error, RegressionFailed):
        return "regression"
    if isinstance(error, InconclusiveVerdict):
        return "inconclusive"
    if isinstance(error, pytest.UsageError):
        return "usage"
    if isinstance(error, HarnessError):
        return "infrastructure" if error.fault_class in INFRASTRUCTURE else "usage"
    if isinstance(error, pytest.skip.Exception):
        return "skipped"
    return "failed"


def tripped_over_verdict(item: pytest.Item, error: BaseException) -> bool:
    """Whether an assertion failed at a place that had just asked a failed verdict, and not for another reason."""
    asked = item.stash.get(ASKED, set())
    return any((frame.f_code.co_filename, line) in asked for frame, line in walk_tb(error.__traceback__))


def unexpected_fault(item: pytest.Item, error: BaseException) -> bool:
    """Whether an error is none that an `xfail` without `raises` can mean: it expects a regression or an assertion.

    A mistyped setting or a full disk would otherwise pass for the regression that must be caught.
    """
    if not isinstance(error, HarnessError | pytest.UsageError):
        return False
    return not any(mark.kwargs.get("raises") is not None for mark in item.iter_markers("xfail"))


def breaks_board(error: HarnessError) -> bool:
    """Whether the fault says that no further test can use boards of this type."""
    from harness.core.errors import ProbeError, ToolMissingError, WrongBoardError

    return isinstance(error, ProbeError | ToolMissingError | WrongBoardError) and error.fault_class == "bench"
