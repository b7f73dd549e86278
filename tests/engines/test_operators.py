"""Every operator against tflite-micro: random models, every layer, 0 differing bytes, under sanitizers.

`HARNESS_OPERATOR_CASES` sets how many random operators of each kind are tried (default 24), `HARNESS_OPERATOR_SEED` the
first seed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from harness.core.errors import UnsupportedModelError
from harness.engines.aot.registry import LOWERINGS
from harness.engines.base import EngineOptions, get_engine
from harness.engines.reference import reference_layers
from harness.model.load import read_model
from tests.engines.cases import KINDS, batch, mixed, random_inputs
from tests.engines.host import HostCompiler

CASES = int(os.environ.get("HARNESS_OPERATOR_CASES", "24"))
SEED = int(os.environ.get("HARNESS_OPERATOR_SEED", "1"))
PER_MODEL = 24
INPUTS = 8


def differences(got: tuple[tuple[bytes, ...], ...], want: tuple[tuple[bytes, ...], ...], names: list[str]) -> list[str]:
    """Each layer that differs, with the count of bytes."""
    out = []
    for index, (a, b) in enumerate(zip(got, want, strict=True)):
        x, y = (np.frombuffer(b"".join(tensors), np.int8) for tensors in (a, b))
        if x.size != y.size or (x != y).any():
            out.append(f"layer {index} ({names[index]}): {int((x != y).sum())} of {y.size} bytes")
    return out


def mismatches(kind: str, seed: int, count: int, compiler: HostCompiler, place: Path) -> list[str]:
    """Layers of one model of random operators that differ from the reference."""
    data = batch(kind, seed, count)
    path = place / f"{kind}-{seed}.tflite"
    path.write_bytes(data)
    engine = compiler.engine(data, guarded=True, name=path.stem)
    tensors = [engine.model.tensors[i] for i in engine.model.inputs]
    inputs = random_inputs([t.nbytes for t in tensors], seed, INPUTS, [t.dtype for t in tensors])
    names = [op.name for op in engine.model.operators]
    return [
        f"seed {seed}: {text}"
        for case, want in zip(engine.run(inputs), reference_layers(path, inputs), strict=True)
        for text in differences(case.layers, want, names)
    ]


def test_every_operator_of_the_engine_is_tried() -> None:
    assert set(KINDS) == set(LOWERINGS)


def test_every_operator_of_the_engine_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "operators.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")][1:]
    assert {name.strip() for row in rows for name in row.split(",")} == set(LOWERINGS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_layers_equal_the_reference(kind: str, host_compiler: HostCompiler, tmp_path: Path) -> None:
    wrong = []
    for number in range(-(-CASES // PER_MODEL)):
        count = min(PER_MODEL, CASES - number * PER_MODEL)
        wrong += mismatches(kind, SEED + number, count, host_compiler, tmp_path)
    assert wrong == []


OF_TFLM_ONLY = {
    *("SUM", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM", "FULLY_CONNECTED", "CONV_2D", "QUANTIZE"),
    *("BROADCAST_TO", "ELU", "L2_NORMALIZATION"),
}
"""Operators of which LiteRT refuses some cases, or computes them otherwise and the engine refuses them."""


def test_layers_equal_litert_with_its_reference_kernels(host_compiler: HostCompiler, tmp_path: Path) -> None:
    kinds = sorted(set(KINDS) - OF_TFLM_ONLY)
    path = tmp_path / "mixed.tflite"
    path.write_bytes(mixed(kinds, SEED, 4, litert=True))
    engine = host_compiler.engine(path.read_bytes(), name="mixed", guarded=True, rounding="litert-ref")
    tensors = [engine.model.tensors[i] for i in engine.model.inputs]
    inputs = random_inputs([t.nbytes for t in tensors], SEED, INPUTS, [t.dtype for t in tensors])
    names = [op.name for op in engine.model.operators]
    wrong = []
    for case, want in zip(engine.run(inputs), reference_layers(path, inputs, "litert-ref"), strict=True):
        wrong += differences(case.layers, want, names)
    assert wrong == []


@pytest.mark.parametrize("kind", ["SUM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_what_is_not_done_in_a_profile_is_refused_in_it(kind: str) -> None:
    model = read_model(batch(kind, 1, 1))
    get_engine("aot").check(model, EngineOptions({"rounding": "tflm"}))
    with pytest.raises(UnsupportedModelError) as error:
        get_engine("aot").check(model, EngineOptions({"rounding": "litert-ref"}))
    assert f"({kind})" in error.value.why and "litert-ref" in error.value.why
