"""Power and energy of a bundle as metrics of the standardized output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from harness.interop.mlia.build import numeric, unavailable

UNITS: Mapping[str, str] = MappingProxyType(
    {
        "avg_current_a": "A",
        "peak_current_a": "A",
        "idle_current_a": "A",
        "avg_power_w": "W",
        "median_power_w": "W",
        "p95_power_w": "W",
        "p99_power_w": "W",
        "peak_power_w": "W",
        "energy_j": "J",
        "charge_c": "C",
        "capture_duration_s": "s",
        "energy_per_inference_j": "J",
        "energy_per_inference_u95_j": "J",
        "charge_per_inference_c": "C",
        "duration_per_inference_s": "s",
        "inferences_per_joule": "inferences/J",
    }
)
"""Figures of the summary's `power` section and their units; as metrics they are called `power.<name>`."""
_PER_INFERENCE = ("energy_per_inference_j", "inferences_per_joule")


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def power_metrics(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Metrics of the `power` section; none without one. Scope, integrity and monitor are qualifiers of each."""
    power = summary.get("power")
    if not isinstance(power, Mapping):
        return []
    stated = {name: power.get(name) for name in ("measurement_scope", "integrity", "monitor")}
    qualifiers = {name: value for name, value in stated.items() if isinstance(value, str) and value}
    out = [
        numeric(f"power.{name}", power[name], unit, qualifiers=qualifiers)
        for name, unit in UNITS.items()
        if _finite(power.get(name))
    ]
    omitted = power.get("per_inference_metrics_omitted")
    why = f"Not derived: {omitted}." if omitted else "The power run gave no figure for one inference."
    out += [unavailable(f"power.{name}", UNITS[name], why) for name in _PER_INFERENCE if not _finite(power.get(name))]
    return out


def layer_energies(summary: Mapping[str, Any]) -> dict[int, float]:
    """Joules of each row of the layer table that had windows of its own."""
    power = summary.get("power")
    lines = power.get("layers") if isinstance(power, Mapping) else None
    out: dict[int, float] = {}
    for line in lines if isinstance(lines, list | tuple) else ():
        label = line.get("label") if isinstance(line, Mapping) else None
        row = label.removeprefix("layer ") if isinstance(label, str) else ""
        if row != label and row.isdecimal() and _finite(line.get("energy_j")):
            out[int(row)] = line["energy_j"]
    return out
