"""How far a monitor is off, measured with a resistor whose value is known."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.power.errors import MonitorError
from harness.power.waveform import Waveform

MIN_SAMPLES = 1000


@dataclass(frozen=True)
class Calibrated:
    """Result of one calibration; `accuracy` is what power settings take."""

    expected_a: float
    measured_a: float
    noise_a: float
    samples: int
    accuracy: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def calibrate(waveform: Waveform, *, volts: float, ohms: float, tolerance: float) -> Calibrated:
    """Compare a capture of a resistor at a voltage with Ohm's law.

    The stated relative error is the deviation found plus the reference's own tolerance (resistor and voltage, both at
    95 %) plus the spread of the mean: what a later measurement may be off. It holds near this current only.

    Raises:
        MonitorError: values that cannot be, too few samples, gaps, or a current that is not that of the resistor.
    """
    if not all(map(math.isfinite, (volts, ohms, tolerance))) or volts <= 0 or ohms <= 0 or not 0 <= tolerance < 1:
        raise MonitorError("A calibration needs a voltage, a resistance and a tolerance from 0 to 1.")
    means, squares, count = 0.0, 0.0, 0
    for block in waveform.blocks():
        means += float(block.amperes.sum())
        squares += float(np.square(block.amperes).sum())
        count += len(block.amperes)
    if count < MIN_SAMPLES or waveform.footer.gaps:
        raise MonitorError(
            "The capture is not fit for a calibration.",
            why=f"It has {count} samples and {len(waveform.footer.gaps)} gaps.",
            todo="Check the cable and capture again.",
        )
    expected, measured = volts / ohms, means / count
    noise = math.sqrt(max(squares / count - measured**2, 0.0))
    off = abs(measured / expected - 1.0)
    if off > 0.5:
        raise MonitorError(
            "The monitor does not see the resistor.",
            why=f"Expected {expected:.4g} A, measured {measured:.4g} A.",
            todo="Check the wiring, the voltage and the resistor's value.",
        )
    relative = off + tolerance + 2 * noise / math.sqrt(count) / expected
    accuracy = {
        "relative": round(relative, 6),
        "basis": f"{ohms:g} ohm at {volts:g} V, {expected * 1e3:.4g} mA, reference within {tolerance:.2%}",
    }
    return Calibrated(expected, measured, noise, count, accuracy)
