"""INA228 and similar monitors on the target's own board, which the firmware reads and reports.

The chip adds up charge and energy itself; the firmware reads its accumulators at both edges of the window. The host
computes and checks, it does not sample. Formulas: TI's data sheet of the INA228, where it derives the current step and
reads charge and energy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from harness.power.energy import COVERAGE
from harness.power.errors import MonitorError
from harness.power.issues import PowerIssue, power_issue
from harness.power.monitor import Capabilities

CAPABILITIES = Capabilities(rate_hz=0.0, measures_volts=True, statistics=True, delivers="integral", clock="counter")

MIN_UPDATES = 20
"""The accumulators must have moved so often inside a window for its edges to weigh little."""
ENERGY_LSB_FACTOR = 16 * 3.2
"""Joules of one step of the 40-bit energy register, in units of the current step in amperes."""
ENERGY_BITS = 40
CHARGE_BITS = 40
CURRENT_STEPS = 2**19
AVERAGES = (1, 4, 16, 64, 128, 256, 512, 1024)
CONVERSION_US = (50, 84, 150, 280, 540, 1052, 2074, 4120)


@dataclass(frozen=True)
class Ina228Settings:
    """How the chip is set: full scale in amperes, averages and conversion time as their register fields."""

    full_scale_a: float
    averages: int
    conversion: int
    gain_error: float = 0.003
    """Half-width at 95 % of gain error and shunt tolerance together, relative."""

    @property
    def current_step_a(self) -> float:
        """Amperes of one step of the current register."""
        return self.full_scale_a / CURRENT_STEPS

    @property
    def update_s(self) -> float:
        """Seconds between two updates of the accumulators; current and voltage are converted in turn."""
        return AVERAGES[self.averages] * 2 * CONVERSION_US[self.conversion] * 1e-6


@dataclass(frozen=True)
class Ina228Reading:
    """What the firmware reports: accumulators at both edges, window length by its own clock, overflow flag."""

    energy_start: int
    energy_end: int
    charge_start: int
    charge_end: int
    seconds: float
    overflow: bool = False


@dataclass(frozen=True)
class OnDeviceEnergy:
    """Energy of one window that the target's own monitor measured; `u95_j` is the half-width at 95 %."""

    energy_j: float
    charge_c: float
    u95_j: float
    duration_s: float
    issues: tuple[PowerIssue, ...]
    suppressed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**vars(self), "issues": [issue.to_dict() for issue in self.issues], "suppressed": list(self.suppressed)}


def evaluate(reading: Ina228Reading, settings: Ina228Settings) -> OnDeviceEnergy:
    """Energy of a window from accumulator readings.

    Raises:
        MonitorError: settings or readings that the chip cannot have.
    """
    if not (0 <= settings.averages < len(AVERAGES) and 0 <= settings.conversion < len(CONVERSION_US)):
        raise MonitorError("The INA228's averaging or conversion setting does not exist.", todo="Use 0 to 7.")
    if settings.full_scale_a <= 0 or reading.seconds <= 0:
        raise MonitorError("An INA228 window needs a full scale and a length above zero.")
    energy_steps = (reading.energy_end - reading.energy_start) % (1 << ENERGY_BITS)
    charge_steps = (reading.charge_end - reading.charge_start) % (1 << CHARGE_BITS)
    if charge_steps >= 1 << (CHARGE_BITS - 1):
        charge_steps -= 1 << CHARGE_BITS
    energy = energy_steps * ENERGY_LSB_FACTOR * settings.current_step_a
    charge = charge_steps * settings.current_step_a
    updates = reading.seconds / settings.update_s
    # Each edge lies anywhere between two updates of the accumulator.
    edges = energy / updates / math.sqrt(6) if updates > 0 else energy
    steps = ENERGY_LSB_FACTOR * settings.current_step_a / math.sqrt(6)
    u95 = math.hypot(COVERAGE * math.hypot(edges, steps), settings.gain_error * energy)
    issues = []
    if updates < MIN_UPDATES:
        issues.append(power_issue("power.window_short", f"{updates:.1f} updates of the monitor, {MIN_UPDATES} needed."))
    if reading.overflow:
        issues.append(power_issue("power.saturated", "The monitor's accumulator overflowed."))
    if charge < 0:
        issues.append(power_issue("power.negative_charge", f"{charge:.3e} C."))
    suppressed = tuple(issue.code for issue in issues)
    return OnDeviceEnergy(energy, charge, u95, reading.seconds, tuple(issues), suppressed)
