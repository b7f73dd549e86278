"""Every figure of a bundle derived again from the samples it carries."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from harness.results.aggregate import aggregate
from harness.results.errors import BundleError
from harness.results.measured import CYCLE_COUNTERS
from harness.results.reader import read_bundle
from harness.results.samples import SAMPLES_NAME, PassSamples, read_samples

TABLE = "profile_results.csv"


def check_recomputed(path: str | Path) -> int:
    """Derive the per-layer table and the clean window again and compare them with what the bundle states.

    Returns:
        How many figures were compared; 0 for a bundle without samples.

    Raises:
        EvidenceError: a figure does not follow from the samples; the artifact is named.
    """
    run = read_bundle(path)
    assert run.manifest is not None
    if not any(item.path == SAMPLES_NAME for item in run.manifest.artifacts):
        return 0
    samples = read_samples((run.path / SAMPLES_NAME).read_bytes())
    method = str(run.harness.get("aggregation", "median"))
    seen: set[str] = set()
    compared = 0
    for item in samples.passes:
        compared += _check_pass(item, method, run.layers, seen)
    clean = run.harness.get("clean_window")
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
