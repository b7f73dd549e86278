"""Every figure of a bundle derived again from the samples it carries."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from harness.core import strict_json
from harness.results.aggregate import aggregate
from harness.results.errors import BundleError
from harness.results.measured import CYCLE_COUNTERS
from harness.results.power import REPORT_NAME, WAVEFORM_NAME
from harness.results.reader import RunArtifacts, read_bundle
from harness.results.samples import SAMPLES_NAME, PassSamples, read_samples

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
    """Integrate the bundle's waveform again and compare energies with those it states; how many were compared.

    Raises:
        EvidenceError: an energy does not follow from the waveform.
    """
    from harness.power.gating import GatePlan
    from harness.power.report import analyse
    from harness.power.waveform import Waveform

    stored = strict_json.load(run.path / REPORT_NAME)
    stated = run.summary.get("power", {})
    if stored["report"] is None:
        return 0
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored["report"]["plan"].items()
    }
    plan = GatePlan(**fields)
    whole = stated.get("observation_mode") == "free_form"
    report = analyse(Waveform(run.path / WAVEFORM_NAME), plan, whole=whole)
    inference = next((line for line in report.per_inference if not line.label), None)
    windows = [w for w in report.windows if not w.label]
    derived = {
        "energy_j": math.fsum(w.energy_j for w in windows),
        "capture_duration_s": math.fsum(w.duration_s for w in windows),
        "energy_per_inference_j": inference.energy_j if inference is not None else math.nan,
    }
    known = {name: value for name, value in derived.items() if name in stated}
    for name, value in known.items():
        if not _same(stated[name], value):
            raise BundleError(
                "invalid_measurement",
                f"power.{name} is {stated[name]!r}, the waveform gives {value!r}.",
                artifact="summary.json",
            )
    return len(known)


def _check_pass(item: PassSamples, method: str, rows: object, seen: set[str]) -> int:
    assert isinstance(rows, tuple)
    cycles = next((i for i, name in enumerate(item.counters) if name in CYCLE_COUNTERS), None)
    values = aggregate(item.samples, item.counters, cycles=cycles, method=method).values
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
