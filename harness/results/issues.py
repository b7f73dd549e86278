"""Every validity issue code, declared once. Rules emit from here; the documentation table is generated from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from harness.power.issues import POWER_ISSUES
from harness.results.manifest import ResultIssue


class Severity(StrEnum):
    """An error makes a run invalid; a warning makes it degraded."""

    ERROR = "error"
    WARNING = "warning"


class Blocks(StrEnum):
    """What an issue keeps from being compared."""

    RUN = "everything"
    POWER = "power metrics"
    NOTHING = "nothing"


@dataclass(frozen=True)
class IssueSpec:
    """One code: its severity, the family it speaks of, what it blocks, and what it means."""

    code: str
    severity: Severity
    family: str
    text: str
    blocks: Blocks = Blocks.NOTHING


def _error(code: str, text: str, blocks: Blocks = Blocks.RUN) -> IssueSpec:
    return IssueSpec(code, Severity.ERROR, code.split(".")[0], text, blocks)


def _warning(code: str, text: str) -> IssueSpec:
    return IssueSpec(code, Severity.WARNING, code.split(".")[0], text)


_SPECS = (
    # Codes that hpx has too, with its severities.
    _error("pmu.missing", "No layer was measured."),
    _error("pmu.counter_overflow", "A counter wrapped inside a layer; its count is too small by an unknown amount."),
    _error("firmware.model_mismatch", "The firmware runs another model than the one that was built."),
    _warning("firmware.model_identity_unverifiable", "The firmware did not say which model it runs."),
    _warning("profile.clean_window_frozen", "Inferences finished in zero time: the window clock never moved."),
    _warning("profile.clean_window_stalled", "The window clock stood still during some of the inferences."),
    # Errors of power are confined to its metrics; counters and outputs stay what they are.
    *(
        IssueSpec(
            spec.code, Severity(spec.severity), "power", spec.text, Blocks.POWER if spec.suppresses else Blocks.NOTHING
        )
        for spec in POWER_ISSUES.values()
    ),
    # Ours.
    _error("capture.failed", "The target did not deliver a complete, consistent capture."),
    _warning("run.flaky", "The run succeeded only when it was tried again; the evidence of each attempt is kept."),
    _error("run.failed", "The run ended before anything was captured."),
    _error("counter.self_test_failed", "A counter did not count what the firmware's self-test makes it count."),
    _warning("counter.wrapped", "Counters wrapped inside layers; there they have no figure, all others keep theirs."),
    _error("counter.frozen", "A counter that must move read zero in every layer of every iteration."),
    _warning("counter.cycles_missing_in_layer", "Some layers have cycles and others do not, so no total exists."),
    _error("counter.out_of_range", "Every sample of a layer was rejected, so its counts are unknown."),
    _warning("counter.samples_rejected", "Samples outside a counter's range were left out of aggregation."),
    _warning("counter.passes_disagree", "Passes found other cycles for the same layer, beyond the bound of the check."),
    _error("clean.frozen", "The clean window took no time, so its figures are not measurements."),
    _warning("clean.partial", "Some inferences took less than an eighth of a warm one: the window clock stood still."),
    _warning("clean.clock_rate", "The window clock does not run at the rate of a second clock of the board."),
    _warning("clean.missing", "The plan asks for a clean window and none was captured."),
    _error("metric.not_repeatable", "A metric that must repeat exactly differed between runs of one image."),
    _error("output.mismatch", "Outputs on the target differ from the host reference."),
    _error("source.unknown", "The board's descriptor does not say whether its numbers come from silicon."),
)

ISSUES: Mapping[str, IssueSpec] = MappingProxyType({spec.code: spec for spec in _SPECS})
"""All codes, in the order of the documentation."""


def issue(code: str, message: str = "", **context: Any) -> ResultIssue:
    """An issue with the severity its code has; the registry's text when no message is given."""
    spec = ISSUES[code]
    return ResultIssue(code=code, severity=spec.severity.value, message=message or spec.text, context=context)


def confined_family(code: str) -> str | None:
    """The only family of metrics that an error breaks; None when it breaks the run or the code is unknown."""
    spec = ISSUES.get(code)
    return "power" if spec is not None and spec.blocks is Blocks.POWER else None
