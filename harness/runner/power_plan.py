"""What a power run is to do: from a plan's settings and a calibration run to windows of known length. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.capture.terminal import MAX_WINDOWS, PowerPlan, Terminal, WindowPlan
from harness.core.errors import UsageError
from harness.power.gating import GatePlan
from harness.power.issues import PowerIssue, power_issue

if TYPE_CHECKING:
    from harness.plan.record import Plan

MINIMUM_S = 1.0
"""Shortest window on silicon: below it, edges and clocks weigh too much."""
MARGIN = 1.02
"""The calibration run may have been a little slower than the windows will be."""
SETTLE_MS, GAP_MS = 300, 50
EMULATED_SETTLE_MS, EMULATED_GAP_MS = 20, 5
GO_TIMEOUT_MS, EMULATED_GO_TIMEOUT_MS = 10_000, 3_000_000
"""An emulated board waits faster than its clock says."""


@dataclass(frozen=True)
class PowerSpec:
    """The power settings of a run. `volts` and `mode` are None where the bench decides."""

    monitor: str
    mode: str | None
    volts: float | None
    scope: str
    windows: int
    target_s: float
    per_layer: bool
    warmup: int

    @classmethod
    def of(cls, plan: Plan, monitor: str | None = None) -> PowerSpec | None:
        """From a plan; `monitor` goes before the plan's. None when no power is asked for."""
        settings = plan.settings
        wanted = monitor if monitor is not None else str(settings["power"])
        if wanted == "none":
            return None
        return cls(
            monitor=wanted,
            mode=settings["power-mode"],
            volts=settings["power-volts"],
            scope=settings["power-scope"],
            windows=settings["power-windows"],
            target_s=settings["power-target-ms"] / 1000,
            per_layer=settings["power-per-layer"],
            warmup=settings["warmup"],
        )


def plan_windows(spec: PowerSpec, inference_s: float, layers_s: Sequence[float | None], *, emulated: bool) -> PowerPlan:
    """The windows of a power run.

    Args:
        spec: settings.
        inference_s: seconds of one inference, from the calibration run.
        layers_s: seconds of each layer, None where unknown; used when layers get windows of their own.
        emulated: on emulated boards windows may be shorter than on silicon.

    Raises:
        UsageError: more windows than one boot can hold.
    """
    target = spec.target_s if emulated else max(spec.target_s, MINIMUM_S) * MARGIN
    windows = [WindowPlan(_count(target, inference_s))] * spec.windows
    if spec.per_layer:
        windows += [
            WindowPlan(_count(target, seconds), index, 1, f"layer {index}")
            for index, seconds in enumerate(layers_s)
            if seconds
        ]
    if len(windows) > MAX_WINDOWS:
        raise UsageError(
            f"{len(windows)} power windows are more than one boot can hold.",
            why=f"At most {MAX_WINDOWS}, of which {spec.windows} are of whole inferences.",
            todo="Set power-per-layer to false for this model.",
        )
    return PowerPlan(
        windows=tuple(windows),
        warmup=spec.warmup,
        settle_ms=EMULATED_SETTLE_MS if emulated else SETTLE_MS,
        gap_ms=EMULATED_GAP_MS if emulated else GAP_MS,
        go_timeout_ms=EMULATED_GO_TIMEOUT_MS if emulated else GO_TIMEOUT_MS,
    )


def _count(target_s: float, one_s: float) -> int:
    return min(max(1, math.ceil(target_s / one_s)), (1 << 32) - 1)


def planned_seconds(plan: PowerPlan, inference_s: float, layers_s: Sequence[float | None]) -> float:
    """How long the windows will take, pauses and warm-ups included."""
    total = (plan.settle_ms + plan.gap_ms * len(plan.windows)) / 1000
    for window in plan.windows:
        one = layers_s[window.first_layer] if window.layers else inference_s
        total += (window.inferences + plan.warmup) * (one or inference_s)
    return total


def gate_plan(plan: PowerPlan, terminal: Terminal | None, *, emulated: bool, whole: bool = False) -> GatePlan:
    """What plan and terminal record say of the windows, for the analysis of the waveform."""
    told = terminal.windows if terminal is not None and not whole else ()
    return GatePlan(
        windows=1 if whole else len(plan.windows),
        inferences=plan.requested if whole else plan.windows[0].inferences,
        firmware_s=tuple(window.gate_s if window.gate_lowered else None for window in told),
        completed=terminal.completed if terminal is not None else None,
        labels=() if whole else tuple(window.label for window in plan.windows),
        minimum_s=0.0 if emulated or whole else MINIMUM_S,
        counts=() if whole else tuple(window.inferences for window in plan.windows),
    )


def terminal_issues(plan: PowerPlan, terminal: Terminal | None, why: str = "") -> tuple[PowerIssue, ...]:
    """What is wrong with a terminal record, or with its absence."""
    if terminal is None or not terminal.ended:
        return (power_issue("power.terminal_missing", why or "It has not ended."),)
    issues = []
    if terminal.why_failed:
        issues.append(power_issue("power.terminal_error", f"{terminal.why_failed}.", error=terminal.error))
    if len(terminal.windows) != len(plan.windows) or not all(w.gate_lowered for w in terminal.windows):
        lowered = sum(w.gate_lowered for w in terminal.windows)
        issues.append(
            power_issue("power.gate_not_lowered", f"{lowered} of {len(plan.windows)} windows.", lowered=lowered)
        )
    if any(w.completed and w.gate_s == 0 for w in terminal.windows):
        issues.append(power_issue("power.window_clock_frozen"))
    return tuple(issues)
