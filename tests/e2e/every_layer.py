"""One model on one board with one kernel set: every layer of many inferences against the host reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.image.record import Build
from harness.runner.run import RunOutcome, run
from tests.engines.cases import KINDS, mixed
from tests.engines.real_models import shared_models, wake_word_models

INPUTS = 20
STREAMING_INPUTS = 64
FILES = {path.stem: path for path in (*shared_models(), *wake_word_models())}
STREAMING = {path.stem for path in wake_word_models()}
KERNELS = ("portable", "cmsis-nn")


@dataclass(frozen=True)
class Checked:
    """What was compared: inferences in a row from a reset state, and again with layers after another reset."""

    layers: int
    inferences: int
    nbytes: int
    mismatched: int
    states: int
    """Layers that give what a state variable holds."""


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


def _floats(size: int, seed: int, count: int) -> list[bytes]:
    draw = np.random.default_rng(seed)
    return [draw.normal(0, 3, size // 4).astype("<f4").tobytes() for _ in range(count)]


def every_operator() -> bytes:
    """A model with one random operator of every kind the engine has."""
    return mixed(sorted(KINDS), 5, 1)


def run_inputs(build: Build, out: Path, count: int) -> RunOutcome:
    """Run inputs for outputs in a row, then, from a reset state, again with every layer sent to the host."""
    columns = [
        _floats(tensor.nbytes, 1 + number, count)
        if tensor.dtype == "float32"
        else input_cases(tensor.nbytes, 1 + number, count)
        for number, tensor in enumerate(build.engine.input_tensors)
    ]
    return run(build, out=out, inputs=list(zip(*columns, strict=True)), inspect=count)


def checked(outcome: RunOutcome) -> Checked:
    """What a run compared; the state that a streaming model carries is part of its layers.

    A variable's content is what READ_VARIABLE gives in the next inference; in the last one it is what the layer before
    ASSIGN_VARIABLE computed.
    """
    layers = outcome.outputs.layers
    return Checked(
        layers=len(layers),
        inferences=outcome.outputs.inferences,
        nbytes=sum(layer.elements for layer in layers),
        mismatched=sum(layer.mismatched for layer in layers)
        + sum(tensor.mismatched for tensor in outcome.outputs.tensors),
        states=sum(layer.op == "READ_VARIABLE" and layer.elements > 0 for layer in layers),
    )
