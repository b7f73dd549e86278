"""Bundles of networks on emulated boards, with no more than a fit needs."""

from __future__ import annotations

from pathlib import Path

from harness.image.build import build
from harness.plan.freeze import freeze
from harness.runner.run import run

BOARDS = ("mps2_an386", "mps3_an547")
KERNELS = ("portable", "cmsis-nn")
QUICK = {"iterations": 1, "warmup": 0, "window_mode": "fixed", "window_min": 1, "pmu_counters": {"cpu": "default"}}


def measure(model: Path, board: str, kernels: str, directory: Path) -> Path:
    """Build and run a model; the bundle. One that is there already is not measured again."""
    place = directory / f"{model.stem}-{board}-{kernels}"
    if not place.exists():
        made = build(freeze(model, board=board, backend=kernels, **QUICK), directory / f"{place.name}.build")
        run(made, out=place, expect="none", inspect=0)
    return place
