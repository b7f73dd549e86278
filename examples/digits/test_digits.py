"""The main job: a digits classifier measured on two boards and judged against a second boot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import harness

HERE = Path(__file__).parent
BOARDS = ["mps2_an386", "mps3_an547"]
HELD_OUT = np.load(HERE / "held_out.npz")


@pytest.fixture
def hil_inputs() -> np.ndarray:
    """Every held-out image, quantised: shape (N, 8, 8, 1), int8."""
    return HELD_OUT["images"]


@pytest.mark.hil(model="digits.tflite", boards=BOARDS, inspect=20, power="any", power_target_ms=300)
def test_fast_and_right(run, power, verdict):
    """Outputs equal the host reference, the accuracy holds, and nothing got slower or hungrier since the baseline."""
    assert run.outputs.match, run.outputs.explain()
    scores = run.output_array(0).reshape(len(HELD_OUT["labels"]), -1)
    accuracy = np.mean(scores.argmax(axis=1) == HELD_OUT["labels"])
    assert accuracy >= 0.95
    assert power.inference is not None, power.suppressed
    assert verdict(profile="latency.yml")
    assert verdict(profile="energy.yml")


@pytest.mark.hil(
    model="digits.tflite",
    boards=BOARDS,
    inspect=20,
    engine_config={"kernels": "naive"},
    baseline={"engine_config": {"kernels": "portable"}},
)
@pytest.mark.xfail(strict=True, raises=harness.RegressionFailed, reason="the naive kernels are slower on purpose")
def test_slower_kernels_are_caught(run, verdict):
    """Slower kernels give the same outputs and a regression that names exactly the layers that changed."""
    assert run.outputs.match, run.outputs.explain()
    judged = verdict(profile="latency.yml")
    assert {layer.op for layer in judged.changed_layers} == {"CONV_2D"}
    judged.check()
