"""What a run says of its energy: the evidence a power run left, and the sections of a bundle made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.capture.terminal import PowerPlan, Terminal
from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.power.energy import WindowEnergy
from harness.power.report import PerInference, PowerReport
from harness.results.types import PowerResult, PowerSummary

WAVEFORM_NAME = "power/waveform.hwf"
REPORT_NAME = "power.json"
SCOPES: Mapping[str, str] = {"clean-window": "gpio_gated_clean_window", "whole-capture": "free_form_capture"}
"""Setting `power-scope` -> the published name of what the numbers are of."""


@dataclass(frozen=True)
class PowerEvidence:
    """One power run: what the monitor saw, what the firmware said, and under which conditions.

    `report` is None when nothing was captured; `waveform` is the file to publish. `workload` names what a window ran,
    `fingerprint` the code around the engine inside of it, `image` the build of the power image.
    """

    report: PowerReport | None
    plan: PowerPlan
    terminal: Terminal | None
    waveform: Path | None
    monitor: str
    mode: str
    scope: str
    workload: str
    fingerprint: str
    lockstep: bool = False
    debugger: str = "detached"
    supply: str = ""
    image: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        freeze_fields(self, "image")

    @property
    def inference(self) -> PerInference | None:
        """Energy of one whole inference; None when it was suppressed or not measured."""
        lines = self.report.per_inference if self.report is not None else ()
        return next((line for line in lines if not line.label), None)

    @property
    def layers(self) -> tuple[PerInference, ...]:
        """Energy of single layers, in execution order, where they had windows of their own."""
        return tuple(line for line in (self.report.per_inference if self.report is not None else ()) if line.label)

    @property
    def suppressed(self) -> tuple[str, ...]:
        """Codes that suppress the numbers per inference."""
        return self.report.suppressed if self.report is not None else ("power.capture_failed",)

    @property
    def integrity(self) -> str:
        """`valid` or `invalid`, as comparisons look at it."""
        return "invalid" if self.suppressed else "valid"

    @property
    def whole(self) -> tuple[WindowEnergy, ...]:
        """The windows of whole inferences."""
        return tuple(w for w in (self.report.windows if self.report is not None else ()) if not w.label)


def section(evidence: PowerEvidence) -> dict[str, Any]:
    """The summary's `power` section: hpx's names, ours beside them; what is None is left out."""
    report, windows = evidence.report, evidence.whole
    data: dict[str, Any] = {
        "measurement_scope": SCOPES[evidence.scope],
        "observation_mode": "gpio_gated" if evidence.scope == "clean-window" else "free_form",
        "clean_workload": evidence.workload,
        "firmware_code_fingerprint": evidence.fingerprint,
        "integrity": evidence.integrity,
        "power_firmware": "dedicated",
        "gating_method": "logic_input",
        "sync": {"lockstep": evidence.lockstep},
        "power_plan": {
            "windows": len(evidence.plan.windows),
            "requested_count": evidence.plan.requested,
            "inferences_per_window": evidence.plan.windows[0].inferences if evidence.plan.windows else None,
        },
        "terminal": evidence.terminal.to_dict() if evidence.terminal is not None else None,
        "monitor": evidence.monitor,
        "mode": evidence.mode,
        "debugger": evidence.debugger,
    }
    if evidence.suppressed:
        data["per_inference_metrics_omitted"] = ", ".join(evidence.suppressed)
    if report is not None:
        data |= {
            "source": report.header.source,
            "sample_count": report.samples,
            "sample_rate_hz": report.header.rate_hz,
            "gate_rise_observed": bool(report.windows),
            "gate_fall_observed": bool(report.windows),
            "gated_window_count": len(report.windows),
            "idle_current_a": report.idle_a,
            "uncertainty_covers_calibration": report.calibrated,
        }
    if windows:
        data |= totals(windows)
    if evidence.inference is not None:
        data |= inference_figures(evidence.inference)
    if evidence.layers:
        data["layers"] = [asdict(line) for line in evidence.layers]
    return {key: value for key, value in data.items() if value is not None}


def totals(windows: tuple[WindowEnergy, ...]) -> dict[str, Any]:
    """What the section says of all windows of whole inferences together, of which there is at least one."""
    seconds = math.fsum(w.duration_s for w in windows)
    charge, energy = math.fsum(w.charge_c for w in windows), math.fsum(w.energy_j for w in windows)
    volts = energy / charge if charge else 0.0
    mean = {
        name: math.fsum(getattr(w, name) * w.duration_s for w in windows) / seconds
        for name in ("median_a", "p95_a", "p99_a")
    }
    peak = max(w.peak_a for w in windows)
    return {
        "avg_current_a": charge / seconds,
        "avg_power_w": energy / seconds,
        "peak_current_a": peak,
        "energy_j": energy,
        "charge_c": charge,
        "capture_duration_s": seconds,
        "median_current_a": mean["median_a"],
        "p95_current_a": mean["p95_a"],
        "p99_current_a": mean["p99_a"],
        "median_power_w": mean["median_a"] * volts,
        "p95_power_w": mean["p95_a"] * volts,
        "p99_power_w": mean["p99_a"] * volts,
        "peak_power_w": peak * volts,
        "supply_voltage_v": volts or None,
    }


def inference_figures(line: PerInference) -> dict[str, Any]:
    """What the section says of one inference."""
    return {
        "energy_per_inference_j": line.energy_j,
        "energy_per_inference_u95_j": line.u95_j,
        "charge_per_inference_c": line.charge_c,
        "duration_per_inference_s": line.duration_s,
        "inferences_per_joule": line.inferences_per_j,
    }


def document(evidence: PowerEvidence) -> dict[str, Any]:
    """`power.json`: every window with its uncertainty, the plan, the terminal record, the conditions."""
    return {
        "schema": "harness.power",
        "schema_version": 1,
        "scope": SCOPES[evidence.scope],
        "monitor": evidence.monitor,
        "mode": evidence.mode,
        "lockstep": evidence.lockstep,
        "debugger": evidence.debugger,
        "supply": evidence.supply,
        "workload": evidence.workload,
        "fingerprint": evidence.fingerprint,
        "image": thaw(evidence.image),
        "plan": asdict(evidence.plan),
        "terminal": evidence.terminal.to_dict() if evidence.terminal is not None else None,
        "report": evidence.report.to_dict() if evidence.report is not None else None,
        "suppressed": list(evidence.suppressed),
    }


def dimensions(evidence: PowerEvidence | None) -> dict[str, Any]:
    """The dimensions of power that the manifest states; none without power."""
    if evidence is None:
        return {}
    return {
        "power_scope": SCOPES[evidence.scope],
        "power_mode": evidence.mode,
        "power_firmware": "dedicated",
        "power_monitor": evidence.monitor,
        "power_clean_workload": evidence.workload,
        "power_firmware_fingerprint": evidence.fingerprint,
        "power_integrity": evidence.integrity,
        # Where the monitor measures the supply there is none that was stated, and what it measured differs each time.
        "power_supply_volts": evidence.report.header.volts if evidence.report is not None else None,
    }


def typed_result(evidence: PowerEvidence) -> PowerResult | None:
    """The published result type; None when no window was measured."""
    windows = evidence.whole
    if not windows or evidence.report is None:
        return None
    total = totals(windows)
    return PowerResult(
        PowerSummary(
            avg_current_a=total["avg_current_a"],
            avg_power_w=total["avg_power_w"],
            peak_current_a=total["peak_current_a"],
            energy_j=total["energy_j"],
            duration_s=total["capture_duration_s"],
            sample_count=sum(w.samples for w in windows),
            negative_current_diagnostic=total["charge_c"] < 0,
        ),
        gated_windows=evidence.report.windows,
        per_layer={line.label: asdict(line) for line in evidence.layers} or None,
        metadata=section(evidence),
    )
