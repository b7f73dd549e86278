"""Models that keep state: many inferences in a row, a reset, and the same again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.engines.reference import run_reference
from harness.model.load import load_model
from harness.model.types import Model
from tests.engines.cases import batch, random_inputs
from tests.engines.host import HostCompiler
from tests.engines.real_models import wake_word_models
from tests.engines.test_operators import differences

IN_A_ROW = 72


@pytest.fixture(params=[*wake_word_models(), "VAR_HANDLE", "SVDF"], ids=lambda p: p if isinstance(p, str) else p.stem)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    path = request.param
    if isinstance(path, str):
        path = tmp_path / f"{request.param}.tflite"
        path.write_bytes(batch(request.param, 9, 6))
    return load_model(path)


def test_state_is_carried_and_reset(model: Model, host_compiler: HostCompiler) -> None:
    """Layers include what variables are read as and assigned: the state is compared too."""
    inputs = random_inputs([model.tensors[index].nbytes for index in model.inputs], 7, IN_A_ROW)
    wanted = run_reference(model.path, inputs)
    got = host_compiler.engine(model, name=model.path.stem).run([*inputs, *inputs], reset_every=IN_A_ROW)
    names = [op.name for op in model.operators]
    for number, case in enumerate(got):
        want = wanted[number % IN_A_ROW]
        assert differences(case.layers, want.layers, names) == [], f"inference {number}"
        assert case.outputs == want.outputs


def test_state_matters(model: Model, host_compiler: HostCompiler) -> None:
    """The same input gives something else after others: a state that stayed as it began would be found."""
    inputs = random_inputs([model.tensors[index].nbytes for index in model.inputs], 7, IN_A_ROW)
    engine = host_compiler.engine(model, name=model.path.stem)
    carried, fresh = engine.run([*inputs, inputs[5]])[-1], engine.run([inputs[5]])[-1]
    assert any(
        (np.frombuffer(b"".join(a), np.uint8) != np.frombuffer(b"".join(b), np.uint8)).any()
        for a, b in zip(carried.layers, fresh.layers, strict=True)
    )
