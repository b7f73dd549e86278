"""From a stored waveform to the numbers that are published, and the reasons why some are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.power.energy import COVERAGE, Integration, WindowEnergy, integrate
from harness.power.errors import WaveformError
from harness.power.gating import GatePlan, find_gates, whole_capture
from harness.power.integrity import check
from harness.power.issues import POWER_ISSUES, PowerIssue, power_issue
from harness.power.waveform import Header, Waveform

FAULT_FACTOR = 2.0
"""Intervals beside a fault are so much wider: their parts were found for complete captures."""


@dataclass(frozen=True)
class PerInference:
    """Energy of one inference: mean over the windows of a label; `u95_j` is the half-width of its 95 % interval."""

    label: str
    windows: int
    inferences: int
    energy_j: float
    u95_j: float
    charge_c: float
    duration_s: float
    inferences_per_j: float


@dataclass(frozen=True)
class PowerReport:
    """All of one power capture.

    `per_inference` is empty when `suppressed` gives reasons. `idle_a` is the floor outside of the windows: shown
    beside the numbers, never subtracted. `calibrated` tells whether the uncertainty covers the monitor's own errors.
    """

    header: Header
    samples: int
    windows: tuple[WindowEnergy, ...]
    per_inference: tuple[PerInference, ...]
    idle_a: float | None
    issues: tuple[PowerIssue, ...]
    suppressed: tuple[str, ...]
    calibrated: bool
    plan: GatePlan

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form of everything."""
        windows = []
        for window in self.windows:
            values = asdict(window)
            values["uncertainty"] = {**asdict(window.uncertainty), "total_u95": window.energy_u95_j}
            windows.append(values)
        return {
            "monitor": self.header.to_dict(),
            "source": self.header.source,
            "samples": self.samples,
            "plan": asdict(self.plan),
            "windows": windows,
            "per_inference": [asdict(item) for item in self.per_inference],
            "idle_a": self.idle_a,
            "issues": [issue.to_dict() for issue in self.issues],
            "suppressed": list(self.suppressed),
            "uncertainty_covers_calibration": self.calibrated,
        }


def analyse(
    waveform: Waveform,
    plan: GatePlan,
    full_scale_a: float | None = None,
    *,
    known: Sequence[PowerIssue] = (),
    whole: bool = False,
) -> PowerReport:
    """Gates, energies, checks and per-inference numbers of a stored waveform, in one pass over it.

    Args:
        waveform: stored.
        plan: what plan and firmware say of the windows.
        full_scale_a: the monitor's, None when unknown.
        known: issues found elsewhere, in the firmware's terminal record for one.
        whole: take all of the capture for the one window, where no gate is wired.

    Raises:
        WaveformError: the file is damaged, or its list of gate edges is not that of its samples.
    """
    header, footer = waveform.header, waveform.footer
    gates = (
        whole_capture(footer.samples, footer.gaps)
        if whole
        else find_gates(footer.edges, footer.initial, footer.samples, footer.gaps)
    )
    integration = integrate(waveform.blocks(), header, gates, plan)
    if integration.edges != footer.edges or (footer.samples and integration.initial != footer.initial):
        raise WaveformError(
            f"{waveform.path.name} lists other gate edges than its samples have.",
            why=f"Listed {len(footer.edges)}, found {len(integration.edges)}.",
            todo="The file was edited; capture again.",
        )
    issues = (*known, *check(header, footer, gates, plan, integration, full_scale_a))
    if whole:
        issues = (*issues, power_issue("power.not_gated"))
    suppressed = tuple(dict.fromkeys(issue.code for issue in issues if POWER_ISSUES[issue.code].suppresses))
    return PowerReport(
        header=header,
        samples=footer.samples,
        windows=integration.windows,
        per_inference=() if suppressed else per_inference(integration, plan, FAULT_FACTOR if issues else 1.0),
        idle_a=integration.outside.floor_a,
        issues=issues,
        suppressed=suppressed,
        calibrated=header.accuracy.relative is not None,
        plan=plan,
    )


def per_inference(integration: Integration, plan: GatePlan, widening: float = 1.0) -> tuple[PerInference, ...]:
    """One line a label, in order of appearance; the count is the plan's, never one derived from time.

    `widening` multiplies the intervals.
    """
    labels = dict.fromkeys(window.label for window in integration.windows)
    return tuple(
        _line(label, [window for window in integration.windows if window.label == label], plan, widening)
        for label in labels
    )


def _line(label: str, windows: Sequence[WindowEnergy], plan: GatePlan, widening: float) -> PerInference:
    count = len(windows)
    # Windows of one label are repeats: they run the same number of inferences.
    inferences = plan.count(windows[0].number)
    mean = math.fsum(window.energy_j for window in windows) / count
    # Parts that average out between windows, parts that do not, and what the repeats themselves say.
    independent = [(w.uncertainty.edges, w.uncertainty.quantisation, w.uncertainty.range_changes) for w in windows]
    averaged = math.hypot(*(value for parts in independent for value in parts)) / count
    calibration = math.fsum(w.uncertainty.calibration or 0.0 for w in windows) / count
    limits = math.fsum(w.uncertainty.time_base + w.uncertainty.gaps for w in windows) / count
    spread = 0.0
    if count > 1:
        variance = math.fsum((w.energy_j - mean) ** 2 for w in windows) / (count - 1)
        spread = math.sqrt(variance / count)
    # The spread contains the averaged parts already; the larger of both is not counted twice.
    standard = math.hypot(max(spread, averaged), calibration)
    u95 = math.hypot(_factor(count if spread > averaged else 1) * standard, limits)
    return PerInference(
        label=label,
        windows=count,
        inferences=inferences,
        energy_j=mean / inferences,
        u95_j=widening * u95 / inferences,
        charge_c=math.fsum(w.charge_c for w in windows) / count / inferences,
        duration_s=math.fsum(w.duration_s for w in windows) / count / inferences,
        inferences_per_j=inferences / mean if mean > 0 else 0.0,
    )


def _factor(count: int) -> float:
    """Coverage factor at 95 %: Student's t for the spread of few repeats."""
    if count < 2:
        return COVERAGE
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975))
