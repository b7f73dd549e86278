"""An engine of our own, measured and judged like the harness's: `pocket` reads the digits model on the target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

DIGITS = Path(__file__).parents[1] / "digits"
BOARDS = ["mps2_an386", "mps3_an547"]
POCKET = {"engine": "external", "engine_config": {"directory": "pocket"}}
HELD_OUT = np.load(DIGITS / "held_out.npz")
COUNT = 20


@pytest.fixture
def hil_inputs() -> np.ndarray:
    """Some held-out images, quantised: shape (N, 8, 8, 1), int8."""
    return HELD_OUT["images"][:COUNT]


@pytest.mark.hil(model=DIGITS / "digits.tflite", boards=BOARDS, inspect=5, iterations=3, window_mode="fixed", **POCKET)
def test_right_in_every_layer(run):
    """Outputs and every operator's own output equal the host reference, and each operator was counted."""
    assert run.outputs.match, run.outputs.explain()
    assert all(layer.mismatched == 0 for layer in run.outputs.layers)
    assert all(layer.cycles > 0 for layer in run.result.layers)
    scores = run.output_array(0).reshape(COUNT, -1)
    assert np.mean(scores.argmax(axis=1) == HELD_OUT["labels"][:COUNT]) >= 0.9
