"""Whole models against the host references, with the planned arena: every layer, 0 differing bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.engines.reference import run_reference
from harness.model.load import load_model, read_model
from harness.model.types import Model
from tests.engines.cases import random_inputs, seeded_model
from tests.engines.host import HostCompiler
from tests.engines.real_models import DIGITS, shared_models, wake_word_models
from tests.engines.test_operators import differences

MODELS = [DIGITS, *shared_models(), *wake_word_models()]
INPUTS = 20


@pytest.fixture(params=[*MODELS, 0, 1], ids=lambda p: p.stem if isinstance(p, Path) else f"seeded{p}")
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    if isinstance(request.param, Path):
        return load_model(request.param)
    path = tmp_path / f"seeded{request.param}.tflite"
    path.write_bytes(seeded_model(request.param))
    return load_model(path)


def inputs_of(model: Model) -> list[tuple[bytes, ...]]:
    return random_inputs([model.tensors[index].nbytes for index in model.inputs], 11, INPUTS)


@pytest.mark.parametrize("rounding", ["tflm", "litert-ref"])
def test_every_layer_equals_the_reference(model: Model, rounding: str, host_compiler: HostCompiler) -> None:
    inputs = inputs_of(model)
    engine = host_compiler.engine(model, name=model.path.stem, rounding=rounding)
    names = [op.name for op in model.operators]
    wrong = []
    cases = engine.run(inputs)
    for got, want in zip(cases, run_reference(model.path, inputs, rounding), strict=True):
        wrong += differences(got.layers, want.layers, names)
        assert got.outputs == want.outputs
    assert wrong == []
    assert engine.run_quiet(inputs) == [case.outputs for case in cases], "without an observer"


def test_naive_kernels_give_the_same_bytes(model: Model, host_compiler: HostCompiler) -> None:
    inputs = inputs_of(model)
    naive = host_compiler.engine(model, name=model.path.stem, kernels="naive")
    assert naive.run(inputs) == host_compiler.engine(model, name=model.path.stem, rounding="tflm").run(inputs)


def test_the_seeded_models_have_the_operators_they_are_for() -> None:
    names = {op.name for op in read_model(seeded_model()).operators}
    wanted = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D", "AVERAGE_POOL_2D", "ADD", "SOFTMAX"}
    assert wanted <= names


def test_the_seeded_models_do_not_saturate(host_compiler: HostCompiler, tmp_path: Path) -> None:
    """A model whose layers are constant would hide mistakes."""
    path = tmp_path / "seeded.tflite"
    path.write_bytes(seeded_model())
    model = load_model(path)
    for case in host_compiler.engine(model, name="seeded").run(inputs_of(model)[5:]):
        for layer in case.layers[:-1]:
            assert len(set(b"".join(layer))) > 3


def test_digits_are_recognised_and_rederived(host_compiler: HostCompiler) -> None:
    with np.load(DIGITS.with_name("held_out.npz"), allow_pickle=False) as held_out:
        images, labels = held_out["images"], held_out["labels"]
    assert len(labels) >= 300
    engine = host_compiler.engine(load_model(DIGITS), name="digits", rounding="tflm")
    scores = np.frombuffer(
        b"".join(out[0] for out in engine.run_quiet([(image.tobytes(),) for image in images])), np.int8
    )
    assert np.mean(scores.reshape(len(labels), -1).argmax(axis=1) == labels) >= 0.95
    check = [sys.executable, str(DIGITS.with_name("make_model.py")), "--check"]
    subprocess.run(check, check=True, capture_output=True, timeout=60)
