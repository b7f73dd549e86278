"""LOGISTIC and TANH of int16, and the LSTM built on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.lowering import Array, Call, ConstantTensor, Kernel, KernelConfig, Lowered, OpView
from harness.engines.aot.ops.weighted import bias, wrap32
from harness.engines.aot.quant import fixed_point
from harness.model.types import Tensor

ENTRIES = 256
STEPS = 24
"""Entries of the table from one whole number to the next."""
LSTM = Kernel("nn_lstm", "nn_lstm_t", "nn_lstm.h", "nn_lstm.c")
GATES = ("input", "forget", "cell", "output")
"""In the order of the operator's inputs."""
Q3_12, Q0_15 = 2.0**-12, 2.0**-15
LEFT_OUT = {
    9: "peephole weights",
    10: "peephole weights",
    11: "peephole weights",
    16: "projection weights",
    17: "a projection bias",
    20: "normalisation",
    21: "normalisation",
    22: "normalisation",
    23: "normalisation",
}


def curve_table() -> Array:
    """1 / (1 + exp(-x)) at x = i/24, Q0.16, raised so that straight lines between entries err as much above as below.

    The line between two entries lies below a concave curve by at most |f''| h^2 / 8; half of that is added.
    """
    x = np.arange(ENTRIES) / STEPS
    value = 1 / (1 + np.exp(-x))
    bend = value * (1 - value) * (1 - 2 * value)
    table = np.floor(65536 * (value - bend / STEPS**2 / 16) + 0.5).astype(np.int64)
    table[-1] = 65535
    return Array("table", "uint16_t", np.minimum(table, 65535).astype(np.uint16))


def _power(scale: float) -> int | None:
    """The exponent of a scale that is a power of two, as TFLite finds it."""
    exponent = math.log2(scale)
    return round(exponent) if abs(exponent - round(exponent)) < 1e-3 else None


def curve(op: OpView, name: str) -> Call:
    """LOGISTIC or TANH, int16; the output has scale 1/32768 and zero point 0."""
    x, y = op.input(0), op.output()
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    if x.elements != y.elements or source.zero or target.zero or target.scale != Q0_15:
        op.refuse(f"the output has scale {target.scale} and zero point {target.zero}; it must be 1/32768 and 0")
    power = _power(source.scale)
    shift = 12 + power if power is not None else -1
    if shift == 0 or (shift == 1 and name == "tanh"):
        multiplier, shift = 3 << shift, 0
    else:
        factor, shift = source.scale * 4096.0 * 3.0, 0
        while factor <= 32767.0 / 2.0 and shift <= 30:
            shift += 1
            factor *= 2.0
        multiplier = int(factor)
    if not 0 < multiplier <= 65535 or shift > 30:
        op.refuse(f"the input has scale {source.scale}")
    return Call(
        Kernel(f"nn_{name}_16", "nn_curve_t", "nn_curve.h", "nn_curve.c"),
        {"count": x.elements, "multiplier": multiplier, "shift": shift, "table": curve_table()},
        inputs=(x.index,),
        outputs=(y.index,),
        in_place=(x.index,),
    )


def lstm(op: OpView, config: KernelConfig) -> Lowered:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: int8 activations, int16 cell state."""
    op.tflm_only(config)
    op.counts((20, 24))
    x, y, hidden, cells = op.input(0), op.output(), op.input(18), op.input(19)
    op.int8(x, y, hidden)
    op.types(("int16",), cells)
    for position, role in LEFT_OUT.items():
        if op.optional(position) is not None:
            op.refuse(f"it has {role}")
    if op.option("fused_activation_function") != "TANH":
        op.refuse(f"option fused_activation_function is {op.option('fused_activation_function')}")
    major = bool(op.option("time_major"))
    if len(x.shape) != 3 or len(y.shape) != 3 or y.shape[:2] != x.shape[:2]:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    moments, batches = x.shape[:2] if major else (x.shape[1], x.shape[0])
    inputs, units = x.shape[2], y.shape[2]
    if not hidden.elements == cells.elements == batches * units:
        op.refuse(f"its states have {hidden.elements} and {cells.elements} elements for {batches * units}")
    source, kept = op.affine(x, "the input"), op.affine(hidden, "the hidden state")
    if op.affine(y, "the output") != kept:
        op.refuse("output and hidden state have different quantisation")
    cell = op.affine(cells, "the cell state")
    power = _power(cell.scale)
    if cell.zero or power is None or not -30 < power <= -8:
        op.refuse(f"the cell state has scale {cell.scale} and zero point {cell.zero}")
    clip = op.option("cell_clip")
    if not math.isfinite(clip):
        op.refuse(f"option cell_clip is {clip}")
    gates = {
        name: _gate(op, number, (units, inputs), (source.scale, source.zero), (kept.scale, kept.zero))
        for number, name in enumerate(GATES)
    }
    hidden_cell, cell_cell = op.cell(hidden), op.cell(cells)
    whole = 12 + power
    return Call(
        LSTM,
        {
            "batches": batches,
            "moments": moments,
            "inputs": inputs,
            "units": units,
            "input_batch": inputs if major else moments * inputs,
            "input_moment": batches * inputs if major else inputs,
            "output_batch": units if major else moments * units,
            "output_moment": batches * units if major else units,
            **gates,
            "keep": _factor(Q0_15 * cell.scale / cell.scale),
            "add": _factor(Q0_15 * Q0_15 / cell.scale),
            "hidden": _factor(Q0_15 * Q0_15 / kept.scale),
            "hidden_zero": kept.zero,
            "clip": int(max(-32768.0, min(clip / cell.scale, 32767.0))) if clip > 0 else 0,
            "cell_multiplier": 3 << max(whole, 0),
            "cell_shift": max(-whole, 0),
            "table": curve_table(),
        },
        inputs=(hidden_cell.key, cell_cell.key, x.index),
        outputs=(hidden_cell.key, cell_cell.key, y.index),
    )


def _factor(real: float) -> dict[str, int]:
    multiplier, shift = fixed_point(real)
    return {"multiplier": multiplier, "shift": shift}


def _gate(
    op: OpView, number: int, shape: tuple[int, int], source: tuple[float, int], kept: tuple[float, int]
) -> dict[str, Any]:
    """Fields of a gate; `source` and `kept` are scale and zero point of the input and of the hidden state."""
    units, _ = shape
    name = GATES[number]
    weights, scale, sums = _matrix(op, 1 + number, f"the weights of the {name} gate", shape)
    recurrent, again, again_sums = _matrix(op, 5 + number, f"recurrent weights of the {name} gate", (units, units))
    multiplier, shift = _product(op, source[0], scale)
    again_multiplier, again_shift = _product(op, kept[0], again)
    biases = bias(op, units, 12 + number)
    return {
        "weights": ConstantTensor(weights.index),
        "recurrent": ConstantTensor(recurrent.index),
        "bias": Array(f"{name}_bias", "int32_t", wrap32(biases - source[1] * sums)),
        "recurrent_bias": Array(f"{name}_recurrent_bias", "int32_t", wrap32(-kept[1] * again_sums)),
        "multiplier": multiplier,
        "shift": shift,
        "recurrent_multiplier": again_multiplier,
        "recurrent_shift": again_shift,
    }


def _matrix(op: OpView, position: int, role: str, shape: tuple[int, int]) -> tuple[Tensor, float, NDArray[np.int64]]:
    tensor = op.input(position)
    values = op.constant(tensor, role, "int8")
    if tensor.shape != shape:
        op.refuse(f"{role} have shape {list(tensor.shape)}; expected {list(shape)}")
    affine = op.affine(tensor, role)
    if affine.zero:
        op.refuse(f"{role} have the zero point {affine.zero}")
    sums: NDArray[np.int64] = values.sum(axis=1, dtype=np.int64)
    return tensor, affine.scale, sums


def _product(op: OpView, first: float, second: float) -> tuple[int, int]:
    factor = float(np.float32(first) * np.float32(second)) / Q3_12
    if not factor < 1 << 22:
        op.refuse(f"scales {first} and {second} are too large")
    return fixed_point(factor)
