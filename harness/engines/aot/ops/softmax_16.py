"""SOFTMAX, int16."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.lowering import Array, Call, Kernel, OpView
from harness.engines.aot.quant import fixed_point

KERNEL = Kernel("nn_softmax_16", "nn_softmax_16_t", "nn_softmax_16.h", "nn_softmax_16.c")
STEPS = 512
REACH = 10.0
"""Differences beyond this give nothing."""
MAX_DEPTH = 1 << 15


def softmax_16(op: OpView) -> Call:
    """SOFTMAX over the last axis; the output has scale 1/32768 and zero point 0."""
    x, y = op.input(0), op.output()
    op.types(("int16",), x, y)
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    if x.shape != y.shape or not x.shape or x.shape[-1] > MAX_DEPTH:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    if target.zero or abs(target.scale * 32768 - 1) > 1e-3:
        op.refuse(f"the output has scale {target.scale} and zero point {target.zero}; it must be 1/32768 and 0")
    beta = op.option("beta")
    scaled = source.scale * beta / (REACH / 65535.0)
    if not math.isfinite(beta) or not 0 < scaled < 1 << 14:
        op.refuse(f"option beta is {beta}")
    multiplier, shift = fixed_point(scaled)
    return Call(
        KERNEL,
        {
            "rows": x.elements // x.shape[-1],
            "depth": x.shape[-1],
            "multiplier": multiplier,
            "shift": shift,
            "exponential": Array("exponential", "int16_t", _table(np.exp, -REACH, 0.0)),
            "reciprocal": Array("reciprocal", "int16_t", _table(_reciprocal, 0.0, 1.0)),
        },
        inputs=(x.index,),
        outputs=(y.index,),
        in_place=(x.index,),
    )


def _reciprocal(values: NDArray[Any]) -> NDArray[Any]:
    quotient: NDArray[Any] = np.float32(1) / (np.float32(1) + values)
    return quotient


def _round(values: NDArray[Any]) -> NDArray[Any]:
    """Nearest whole numbers, ties away from zero."""
    rounded: NDArray[Any] = np.where(values >= 0, np.floor(values + 0.5), np.ceil(values - 0.5)).astype(np.float32)
    return rounded


def _table(function: Callable[[NDArray[Any]], NDArray[Any]], low: float, high: float) -> NDArray[np.int16]:
    """A function in Q0.15, single precision, moved by half of what straight lines err midway."""
    single = np.float32
    step = single((single(high) - single(low)) / single(STEPS))
    places = single(low) + np.arange(STEPS + 1, dtype=single) * step
    values = function(places) * single(32768.0)
    middles = function(places[:-1] + step / single(2)) * single(32768.0)
    samples = _round(values)
    lines = _round((values[1:] + samples[:-1]) / single(2))
    bias = _round((lines - _round(middles)) / single(2))
    last = _round(function(np.array([high], single)) * single(32768.0))
    table: NDArray[np.int16] = np.clip(np.concatenate([samples[:-1] - bias, last]), -32768, 32767).astype(np.int16)
    return table
