"""Everything that can be wrong with a power measurement, one code each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

PowerSeverity = Literal["error", "warning"]


@dataclass(frozen=True)
class PowerIssueSpec:
    """A code: how severe it is, whether per-inference numbers are suppressed because of it, what it means."""

    code: str
    severity: PowerSeverity
    suppresses: bool
    text: str


@dataclass(frozen=True)
class PowerIssue:
    """One finding: message for people, context for machines."""

    code: str
    severity: PowerSeverity
    message: str
    context: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**vars(self), "context": dict(self.context)}


def _stop(code: str, text: str) -> PowerIssueSpec:
    return PowerIssueSpec(code, "error", True, text)


def _note(code: str, text: str) -> PowerIssueSpec:
    return PowerIssueSpec(code, "warning", False, text)


_SPECS = (
    _stop("power.no_gate_rise", "The gate never rose: the firmware measured nothing, or its pin is not connected."),
    _stop("power.no_gate_fall", "The gate rose and never fell: the window is not complete."),
    _stop("power.gate_high_at_start", "The gate was high when the capture began, so a window's start is unknown."),
    _stop("power.missing_windows", "Fewer windows came than were planned."),
    _stop("power.extra_windows", "More windows came than were planned, so none can be told to be the right one."),
    _note("power.gate_glitch", "The gate line had pulses shorter than any window; they were taken out."),
    _stop("power.window_samples_lost", "Too many samples inside a window are missing."),
    _note("power.samples_lost", "Samples are missing; the gaps are listed."),
    _note("power.alignment_lost", "Bytes were lost; the stream was realigned."),
    _note("power.word_corrupt", "Single sample words were damaged and left out."),
    _note(
        "power.repeated_block", "A block of samples came twice; the copy is not used or lies outside of all windows."
    ),
    _stop("power.window_repeated_block", "A block of samples came twice inside a window."),
    _note(
        "power.rate_deviation", "Samples came slower or faster than the monitor's rate: a loss, or its clock is off."
    ),
    _stop("power.window_unchecked", "Samples against time do not fit, and no firmware clock vouches for the window."),
    _stop("power.window_observer_mismatch", "Monitor and firmware disagree on how long the window was."),
    _stop("power.window_short", "The window is shorter than its minimum."),
    _stop("power.count_mismatch", "The firmware did not complete the planned number of inferences."),
    _stop("power.negative_charge", "The charge of the window is negative: current flowed backwards."),
    _stop("power.saturated", "The monitor's highest range was at its end inside the window."),
    _stop("power.range_implausible", "Currents are beyond what the monitor can measure."),
    _stop("power.window_suspect_jump", "The current jumped between two samples by more than the monitor's slew."),
    _stop("power.terminal_missing", "The firmware left no terminal record, so nothing says what the windows hold."),
    _stop("power.terminal_error", "The power image reported an error."),
    _stop("power.gate_not_lowered", "The firmware does not say that it raised and lowered the gate of each window."),
    _stop("power.window_clock_frozen", "The firmware finished inferences in no time by its own clock."),
    _stop("power.capture_failed", "Energy was asked for and could not be measured."),
    PowerIssueSpec(
        "power.not_gated", "warning", True, "No gate told windows from the rest: the numbers are of the whole capture."
    ),
    _note("power.monitor_gone", "The monitor ended before the capture did."),
    _note("power.load_before_gate", "Before the window more current flowed than in it; it is not part of the energy."),
)

POWER_ISSUES: Mapping[str, PowerIssueSpec] = MappingProxyType({spec.code: spec for spec in _SPECS})
"""All codes, in the order of the documentation."""


def power_issue(code: str, detail: str = "", **context: Any) -> PowerIssue:
    """An issue with the severity its code has; `detail` follows the code's text."""
    spec = POWER_ISSUES[code]
    return PowerIssue(code, spec.severity, f"{spec.text} {detail}".strip(), context)
