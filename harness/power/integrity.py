"""Whether a power capture can be trusted: each check yields issues, some of which suppress per-inference numbers.

Detection limits:

* Lost samples: every loss that is not a multiple of 64; multiples of 64 inside a window from 0.3 % of it on (against
  the firmware's clock), elsewhere from `RATE_SAMPLES` plus `RATE_PART` of the capture on (against the
  host's clock, between the first and the last eighth of the capture).
* Repeated blocks: any that break the sample counter within 16,384 samples; multiples of 64 within 0.66 s.
* Clocks apart: 0.3 % and 2 samples of a window of a second or more, 1 % and 2 samples of a shorter one.
* Load before a window: a stretch of 10 ms that takes `LOAD_FACTOR` times the larger of the window's mean and the floor.

Host time is compared with samples only, never with the firmware's time.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.power.energy import PULSE_SAMPLES, SLEW_A, Integration, WindowEnergy
from harness.power.gating import GatePlan, Gates
from harness.power.issues import PowerIssue, power_issue
from harness.power.waveform import Footer, Gap, Header

LOST_PART = 1e-3
"""Part of a window's samples that may be missing; their effect is in the uncertainty."""
OBSERVER_PART = 3e-3
OBSERVER_PART_SHORT = 1e-2
"""For windows below a second, where start and stop of the firmware's clock weigh more."""
OBSERVER_SAMPLES = 2
RATE_SAMPLES = 1000
RATE_PART = 1e-3
LOAD_FACTOR = 1.5


def check(
    header: Header, footer: Footer, gates: Gates, plan: GatePlan, integration: Integration, full_scale_a: float | None
) -> tuple[PowerIssue, ...]:
    """All issues of a capture, in the order of the checks. `full_scale_a` is the monitor's, None when unknown."""
    windows = integration.windows
    issues = [
        *_gate(footer, gates, plan),
        *_stream(footer.gaps, gates, header),
        *_rate(header, footer, plan, len(gates.windows)),
        *_clocks(windows, plan, header),
        *_values(windows, full_scale_a, header),
        *_load(integration),
    ]
    if footer.gone:
        issues.append(power_issue("power.monitor_gone", footer.gone))
    if plan.completed is not None and plan.completed != plan.planned:
        issues.append(
            power_issue(
                "power.count_mismatch",
                f"Planned {plan.planned}, completed {plan.completed}.",
                planned=plan.planned,
                completed=plan.completed,
            )
        )
    return tuple(issues)


def _gate(footer: Footer, gates: Gates, plan: GatePlan) -> list[PowerIssue]:
    found = len(gates.windows)
    issues = []
    if gates.glitches:
        places = list(gates.glitches[:20])
        issues.append(power_issue("power.gate_glitch", f"{len(gates.glitches)} of them.", samples=places))
    if gates.high_at_start:
        issues.append(power_issue("power.gate_high_at_start"))
    if gates.high_at_end:
        issues.append(power_issue("power.no_gate_fall", f"The capture holds {footer.samples} samples."))
    elif found == 0 and not gates.high_at_start:
        issues.append(power_issue("power.no_gate_rise", f"The capture holds {footer.samples} samples."))
    elif found < plan.windows:
        issues.append(power_issue("power.missing_windows", f"Planned {plan.windows}, found {found}."))
    if found > plan.windows:
        issues.append(power_issue("power.extra_windows", f"Planned {plan.windows}, found {found}."))
    return issues


_STREAM_CODES = {
    "lost": "power.samples_lost",
    "realigned": "power.alignment_lost",
    "corrupt": "power.word_corrupt",
    "repeated": "power.repeated_block",
    "repeated-kept": "power.repeated_block",
}


def _stream(gaps: Sequence[Gap], gates: Gates, header: Header) -> list[PowerIssue]:
    issues = []
    for code in dict.fromkeys(_STREAM_CODES.values()):
        hits = [gap for gap in gaps if _STREAM_CODES.get(gap.kind, "power.samples_lost") == code]
        if hits:
            lost = sum(gap.lost for gap in hits if gap.lost > 0)
            detail = f"{len(hits)} places" + (f", {lost} samples." if lost else ".")
            issues.append(power_issue(code, detail, places=[gap.index for gap in hits[:20]], lost=lost))
    for window in gates.windows:
        kept = [
            g for g in gaps if g.kind == "repeated-kept" and g.index > window.start and g.index + g.lost < window.end
        ]
        if kept:
            issues.append(power_issue("power.window_repeated_block", window=window.number))
        missing = max(window.lost, 0) + window.edge_lost
        if missing > LOST_PART * window.samples:
            issues.append(
                power_issue(
                    "power.window_samples_lost",
                    f"Window {window.number}: {missing} of {window.samples}.",
                    window=window.number,
                    lost=missing,
                )
            )
    return issues


def _rate(header: Header, footer: Footer, plan: GatePlan, found: int) -> list[PowerIssue]:
    """Samples against host time: the earliest arrivals at the end against those at the start."""
    late = footer.lateness
    if len(late) < 2:
        return []
    part = max(len(late) // 8, 1)
    known = sum(max(gap.lost, 0) for gap in footer.gaps)
    drift = (min(v for _, v in late[-part:]) - min(v for _, v in late[:part])) * header.rate_hz - known
    if abs(drift) <= RATE_SAMPLES + RATE_PART * footer.samples:
        return []
    detail = f"{abs(drift):.0f} samples {'fewer' if drift > 0 else 'more'} than expected of {footer.samples}."
    issues = [power_issue("power.rate_deviation", detail, samples=round(drift))]
    if any(plan.firmware(number) is None for number in range(found)):
        issues.append(power_issue("power.window_unchecked", detail))
    return issues


def _clocks(windows: Sequence[WindowEnergy], plan: GatePlan, header: Header) -> list[PowerIssue]:
    issues = []
    for window in windows:
        if window.duration_s < plan.minimum_s - 2 / header.rate_hz:
            issues.append(
                power_issue("power.window_short", f"{window.duration_s:.4f} s of {plan.minimum_s:g} s at least.")
            )
        firmware = plan.firmware(window.number)
        if firmware is None:
            continue
        part = OBSERVER_PART if window.duration_s >= 1.0 else OBSERVER_PART_SHORT
        apart = abs(window.duration_s - firmware)
        if apart > part * firmware + OBSERVER_SAMPLES / header.rate_hz:
            issues.append(
                power_issue(
                    "power.window_observer_mismatch",
                    f"Window {window.number}: monitor {window.duration_s:.6f} s, firmware {firmware:.6f} s.",
                    window=window.number,
                    monitor_s=window.duration_s,
                    firmware_s=firmware,
                )
            )
    return issues


def _values(windows: Sequence[WindowEnergy], full_scale_a: float | None, header: Header) -> list[PowerIssue]:
    issues = []
    for window in windows:
        if window.charge_c < 0:
            issues.append(power_issue("power.negative_charge", f"Window {window.number}: {window.charge_c:.3e} C."))
        if window.saturated:
            issues.append(power_issue("power.saturated", f"Window {window.number}: {window.saturated} samples."))
        if full_scale_a is not None and window.peak_a > 1.1 * full_scale_a:
            issues.append(power_issue("power.range_implausible", f"Window {window.number}: {window.peak_a:.3g} A."))
        if window.steepest_a > SLEW_A:
            detail = f"Window {window.number}: {window.steepest_a:.3g} A in one sample."
            issues.append(power_issue("power.window_suspect_jump", detail))
    return issues


def _load(integration: Integration) -> list[PowerIssue]:
    before = integration.outside.strongest_before_a
    if before is None or not integration.windows:
        return []
    mean = integration.windows[0].mean_a
    if before <= LOAD_FACTOR * max(mean, integration.outside.floor_a or 0.0):
        return []
    detail = f"{before * 1e3:.3f} mA over {PULSE_SAMPLES} samples, {mean * 1e3:.3f} mA in the window."
    return [power_issue("power.load_before_gate", detail)]
