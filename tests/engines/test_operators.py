"""Every operator against tflite-micro: random models, every layer, 0 differing bytes, under sanitizers.

`HARNESS_OPERATOR_CASES` sets how many random operators of each kind are tried (default 24), `HARNESS_OPERATOR_SEED` the
first seed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from harness.engines.aot.registry import LOWERINGS
from harness.engines.reference import reference_layers
from tests.engines.cases import KINDS, batch, random_inputs
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


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_layers_equal_the_reference(kind: str, host_compiler: HostCompiler, tmp_path: Path) -> None:
    wrong = []
    for number in range(-(-CASES // PER_MODEL)):
        count = min(PER_MODEL, CASES - number * PER_MODEL)
        wrong += mismatches(kind, SEED + number, count, host_compiler, tmp_path)
    assert wrong == []
