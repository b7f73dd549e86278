"""Every figure of a bundle derived again from the samples it carries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core import strict_json
from harness.results.aggregate import aggregate, without_wrapped
from harness.results.errors import BundleError
from harness.results.measured import CYCLE_COUNTERS
from harness.results.power import REPORT_NAME, WAVEFORM_NAME, inference_figures, totals
from harness.results.reader import RunArtifacts, read_bundle
from harness.results.samples import SAMPLES_NAME, PassSamples, read_samples

if TYPE_CHECKING:
    from harness.power.energy import WindowEnergy
    from harness.power.gating import GatePlan

TABLE = "profile_results.csv"


def check_recomputed(path: str | Path) -> int:
    """Derive the per-layer table, the clean window and energies again and compare them with what the bundle states.

    Returns:
        How many figures were compared; 0 for a bundle without samples.

    Raises:
        EvidenceError: a figure does not follow from the samples; the artifact is named.
    """
    run = read_bundle(path)
    assert run.manifest is not None
    names = {item.path for item in run.manifest.artifacts}
    powered = check_power(run) if WAVEFORM_NAME in names else 0
    if SAMPLES_NAME not in names:
        return powered
    samples = read_samples((run.path / SAMPLES_NAME).read_bytes())
    method = str(run.harness.get("aggregation", "median"))
    seen: set[str] = set()
    compared = powered
    for item in samples.passes:
        compared += _check_pass(item, method, run.layers, seen)
    clean = run.harness.get("clean_window") or run.harness.get("window_probe")
    kept = samples.clean
    if clean is not None and len(kept) and len(kept) == clean["count"]:
        if int(kept.sum(dtype=np.uint64)) != clean["ticks"]:
            raise BundleError(
                "invalid_measurement",
                "The clean window's ticks are not the sum of its samples.",
                artifact="result_manifest.json",
            )
        compared += 1
    return compared


def check_power(run: RunArtifacts) -> int:
    """Integrate the bundle's waveform again and compare it with all that is stated of energy; how many were compared.

    Raises:
        EvidenceError: a figure does not follow from the waveform, or power.json is not what a run writes.
    """
    from harness.power.report import FAULT_FACTOR, analyse
    from harness.power.waveform import Waveform

    stored = strict_json.load(run.path / REPORT_NAME)
    stated = run.summary.get("power", {})
    try:
        told = stored["report"]
        if told is None:
            return 0
        plan, faulty = _gate_plan(told["plan"]), bool(told["issues"])
        windows, lines, layers = told["windows"], told["per_inference"], stated.get("layers", [])
    except (TypeError, KeyError, AttributeError) as error:
        raise BundleError("invalid_measurement", f"power.json does not fit: {error}", artifact=REPORT_NAME) from None
    whole = stated.get("observation_mode") == "free_form"
    report = analyse(Waveform(run.path / WAVEFORM_NAME), plan, whole=whole)
    # Some issues come from elsewhere, the firmware's record for one; any of them widens the intervals.
    widening = (FAULT_FACTOR if faulty else 1.0) / (FAULT_FACTOR if report.issues else 1.0)
    derived = [replace(line, u95_j=line.u95_j * max(widening, 1.0)) for line in report.per_inference]
    suppressed = bool(stored.get("suppressed"))
    whole_inference = next((line for line in derived if not line.label), None)
    figures = (
        totals(tuple(w for w in report.windows if not w.label)) if any(not w.label for w in report.windows) else {}
    )
    figures |= (
        inference_figures(whole_inference) if whole_inference is not None else dict.fromkeys(PER_INFERENCE, math.nan)
    )
    compared = _check_figures("power", "summary.json", stated, {n: v for n, v in figures.items() if n in stated})
    kept = [] if suppressed else derived
    for name, artifact, given, rows in (
        ("layer", "summary.json", layers, [asdict(line) for line in kept if line.label]),
        ("inference", REPORT_NAME, lines, [asdict(line) for line in kept]),
        ("window", REPORT_NAME, windows, [_window(window) for window in report.windows]),
    ):
        if not isinstance(given, list) or len(given) != len(rows):
            raise BundleError(
                "invalid_measurement",
                f"The bundle does not state the {len(rows)} {name} figures of power that the waveform gives.",
                artifact=artifact,
            )
        for number, (item, row) in enumerate(zip(given, rows, strict=True)):
            parts = row.pop("uncertainty", None)
            compared += _check_figures(f"power {name} {number}", artifact, item, row)
            if parts is not None:
                _check_figures(f"power {name} {number}.uncertainty", artifact, item.get("uncertainty"), parts)
    return compared


PER_INFERENCE = (
    "energy_per_inference_j",
    "energy_per_inference_u95_j",
    "charge_per_inference_c",
    "duration_per_inference_s",
    "inferences_per_joule",
)
"""What the summary says of one inference, and must not say where the waveform supports none."""


def _gate_plan(stored: Mapping[str, Any]) -> GatePlan:
    from harness.power.gating import GatePlan

    fields: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in stored.items()}
    plan = GatePlan(**fields)
    counts = (plan.windows, plan.inferences, *plan.counts, *([] if plan.completed is None else [plan.completed]))
    if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
        raise TypeError("a count of its plan is none")
    if not plan.inferences or 0 in plan.counts or (plan.counts and len(plan.counts) != plan.windows):
        raise TypeError("its plan has windows without inferences")
    times = (plan.minimum_s, *(seconds for seconds in plan.firmware_s if seconds is not None))
    if not all(isinstance(seconds, int | float) and seconds >= 0 for seconds in times):
        raise TypeError("a time of its plan is none")
    if not all(isinstance(label, str) for label in plan.labels):
        raise TypeError("a label of its plan is no text")
    return plan


def _window(window: WindowEnergy) -> dict[str, Any]:
    values = asdict(window)
    values["uncertainty"]["total_u95"] = window.energy_u95_j
    return values


def _check_figures(where: str, artifact: str, stated: Any, derived: Mapping[str, Any]) -> int:
    for name, value in derived.items():
        given = stated.get(name) if isinstance(stated, Mapping) else None
        same = _same(given, value) if isinstance(value, int | float) else given == value
        if not same:
            raise BundleError(
                "invalid_measurement",
                f"{where}.{name} is {given!r}, the waveform gives {value!r}.",
                artifact=artifact,
            )
    return len(derived)


def _check_pass(item: PassSamples, method: str, rows: object, seen: set[str]) -> int:
    assert isinstance(rows, tuple)
    cycles = next((i for i, name in enumerate(item.counters) if name in CYCLE_COUNTERS), None)
    values = aggregate(item.samples, item.counters, cycles=cycles, method=method).values
    values = without_wrapped(values, item.wrapped)
    compared = 0
    for column, counter in enumerate(item.counters):
        name = _published(counter, rows)
        if name in seen:
            continue
        seen.add(name)
        for layer, row in enumerate(rows):
            expected = float(values[layer, column])
            stated = row.get(name)
            if not _same(stated, expected) or (column == cycles and not _same(row.get("cycles"), expected)):
                raise BundleError(
                    "invalid_measurement",
                    f"{name} of layer {layer} is {stated!r}, its samples give {expected!r}.",
                    artifact=TABLE,
                )
            compared += 1
    return compared


def _published(counter: str, rows: tuple[dict[str, object], ...]) -> str:
    if not rows or counter in rows[0]:
        return counter
    return next((name for name in CYCLE_COUNTERS if name in rows[0]), counter)


def _same(stated: object, expected: float) -> bool:
    if math.isnan(expected):
        return stated in (None, "")
    return isinstance(stated, int | float) and math.isclose(stated, expected, rel_tol=1e-12)
