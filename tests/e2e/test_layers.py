"""Every layer of every model, on both boards, equals the host reference byte for byte; one changed byte is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.runner.run import RunOutcome
from tests.e2e.conftest import BOARDS, DIGITS
from tests.engines.cases import seeded_model
from tests.engines.real_models import shared_models, wake_word_models

INPUTS = 20
STREAMING_INPUTS = 64
FILES = {path.stem: path for path in (*shared_models(), *wake_word_models())}
STREAMING = {path.stem for path in wake_word_models()}


def model_files() -> list[str]:
    return ["digits", "seeded", *FILES]


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    directory = tmp_path_factory.mktemp("models")

    def path(name: str) -> Path:
        if name == "digits":
            return DIGITS
        if name == "seeded":
            file = directory / "seeded.tflite"
            file.write_bytes(seeded_model())
            return file
        return FILES[name]

    return path


def input_cases(size: int, seed: int, count: int = INPUTS) -> list[bytes]:
    """Inputs: zeros, both extremes, a ramp and an alternation, then random ones."""
    ramp = np.arange(size).astype(np.int8)
    fixed = [
        np.zeros(size, np.int8),
        np.full(size, -128, np.int8),
        np.full(size, 127, np.int8),
        ramp,
        np.where(ramp % 2, 127, -128).astype(np.int8),
    ]
    draw = np.random.default_rng(seed)
    rest = [draw.integers(-128, 128, size, dtype=np.int8) for _ in range(count - len(fixed))]
    return [case.tobytes() for case in (*fixed, *rest)]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", model_files())
def test_no_byte_differs(
    measured: Callable[..., RunOutcome],
    built: Callable[..., object],
    model_path: Callable[[str], Path],
    name: str,
    board: str,
) -> None:
    model = model_path(name)
    size = built(model, board).engine.input_tensors[0].nbytes  # type: ignore[attr-defined]
    # Streaming models carry their state from each of these to the next, on the target as in the reference.
    count = STREAMING_INPUTS if name in STREAMING else INPUTS
    outcome = measured(model, board, inputs=[(case,) for case in input_cases(size, 1, count)], inspect=count)
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert outcome.outputs.inferences == outcome.outputs.inspected == count
    assert len(outcome.outputs.layers) == len(outcome.build.engine.layers)
    produced = [sum(layer.output_bytes) for layer in outcome.build.engine.layers]
    for layer, nbytes in zip(outcome.outputs.layers, produced, strict=True):
        assert (layer.elements, layer.mismatched) == (nbytes * count, 0)
    assert outcome.outputs.reference["package"] == "tflite-micro"
    assert outcome.valid, outcome.evaluation.issues


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("layer", range(10))
def test_one_changed_byte_in_any_layer_is_found_and_named(
    measured: Callable[..., RunOutcome], board: str, layer: int
) -> None:
    outcome = measured(DIGITS, board, test_fault=f"corrupt@{layer}", iterations=1)
    assert outcome.outputs.match is False
    first = outcome.outputs.differing_layers[0]
    assert (first.layer, first.op) == (layer, outcome.build.engine.layers[layer].op)
    assert first.mismatched == 1
