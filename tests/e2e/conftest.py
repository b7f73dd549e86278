"""Whole flows on emulated boards: models, cached builds, and runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.runner.run import RunOutcome, run

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.tflite"
BOARDS = ("mps2_an386", "mps3_an547")
QUICK: dict[str, Any] = {"iterations": 3, "warmup": 1, "window_mode": "fixed"}
"""Settings under which a run takes a second or two."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Build]:
    """`built(model, board, **settings)`: a build, made once a session."""
    made: dict[tuple[object, ...], Build] = {}

    def make(model: Path, board: str, **settings: Any) -> Build:
        key = (model, board, *sorted((name, repr(value)) for name, value in settings.items()))
        if key not in made:
            plan = freeze(model, board=board, **{**QUICK, **settings})
            made[key] = build(plan, tmp_path_factory.mktemp("build") / "out")
        return made[key]

    return make


@pytest.fixture
def measured(built: Callable[..., Build], tmp_path: Path) -> Callable[..., RunOutcome]:
    """`measured(model, board, inputs=..., inspect=..., **settings)`: one run with a bundle of its own."""
    count = 0

    def measure(model: Path, board: str, *, inputs: Any = (), inspect: int = 1, **settings: Any) -> RunOutcome:
        nonlocal count
        count += 1
        return run(built(model, board, **settings), out=tmp_path / f"bundle-{count}", inputs=inputs, inspect=inspect)

    return measure
