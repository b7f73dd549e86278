"""Scales at the ends of single precision: compiled or refused, without a warning and without anything undefined."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from harness.core.errors import ModelError
from harness.engines.base import EngineOptions, get_engine
from harness.model.load import read_model
from harness.model.writer import ModelBuilder

SCALES = (1e-45, 1e-38, 1e-20, 1e-3, 1.0, 1e20, 3e38)
FUSED = {"fused_activation_function": "RELU6"}
OPERATORS: dict[str, dict[str, Any]] = {
    **{
        name: {} for name in ("ABS", "ELU", "RELU", "RELU6", "HARD_SWISH", "LOGISTIC", "TANH", "QUANTIZE", "DEQUANTIZE")
    },
    **{name: {} for name in ("PRELU", "SQUARED_DIFFERENCE", "EQUAL", "GREATER")},
    **dict.fromkeys(("ADD", "SUB", "MUL"), FUSED),
    **{name: {"keep_dims": False} for name in ("MEAN", "SUM")},
    "BATCH_MATMUL": {"adj_x": False, "adj_y": True},
    "L2_NORMALIZATION": {"fused_activation_function": "NONE"},
    "LEAKY_RELU": {"alpha": 1e30},
    "SOFTMAX": {"beta": 1.0},
}
TWO = ("PRELU", "SQUARED_DIFFERENCE", "EQUAL", "GREATER", "ADD", "SUB", "MUL", "BATCH_MATMUL")
RESULTS = {"DEQUANTIZE": "float32", "EQUAL": "bool", "GREATER": "bool"}


def model_of(name: str, scale: float, target: float) -> bytes:
    model = ModelBuilder()
    x = model.tensor([1, 4], scale=scale, zero_point=-128)
    reduced = name in ("MEAN", "SUM")
    dtype = RESULTS.get(name, "int8")
    shape = [1] if reduced else [1, 1] if name == "BATCH_MATMUL" else [1, 4]
    y = model.tensor(shape, dtype, scale=target if dtype == "int8" else None, zero_point=127)
    inputs = [x, x] if name in TWO else [x]
    if reduced:
        inputs.append(model.tensor([1], "int32", data=np.array([1], "<i4").tobytes()))
    model.operator(name, inputs, [y], **OPERATORS[name])
    return model.build([x], [y])


@pytest.mark.parametrize("name", OPERATORS)
def test_a_scale_is_no_surprise(name: str) -> None:
    answers = set()
    for scale, target, rounding in itertools.product(SCALES, SCALES, ("tflm", "litert-ref")):
        model = read_model(model_of(name, scale, target))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                get_engine("aot").check(model, EngineOptions({"rounding": rounding}))
                answers.add("compiled")
            except ModelError as error:
                assert f"({name})" in error.why or "is a" in error.why or "is bool" in error.why
                answers.add("refused")
    fixed = ("RELU6", "SOFTMAX", "LOGISTIC", "TANH", "L2_NORMALIZATION", "EQUAL", "GREATER")
    assert "compiled" in answers or name in fixed, "operators whose output has one quantisation, or is no output"
