"""Random operators that work element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.engines.batch import ACTIVATIONS, Batch


def _broadcast(b: Batch) -> tuple[list[int], list[int], list[int]]:
    """Shapes of two operands and of what comes of them."""
    whole = b.shape()
    if b.integer(0, 2) == 0:
        return whole, whole, whole
    shapes = [[extent if b.integer(0, 1) else 1 for extent in whole] for _ in range(2)]
    full = b.integer(0, 1)
    shapes[full] = whole
    if b.integer(0, 2) == 0:
        shapes[1 - full] = shapes[1 - full][b.integer(0, len(whole)) :]
    return shapes[0], shapes[1], whole


def _operand(b: Batch, shape: list[int], scale: float, dtype: str) -> int:
    zero = b.zero() if dtype == "int8" else 0
    if b.integer(0, 3) == 0 and b.inputs:
        data = b.draw.bytes(int(np.prod(shape)) * (1 if dtype == "int8" else 2))
        return b.model.tensor(shape, dtype, scale=scale, zero_point=zero, data=data)
    return b.input(shape, scale, zero, dtype)


def _binary(b: Batch, name: str) -> None:
    dtype = "int8" if b.integer(0, 4) else "int16"
    shapes = _broadcast(b)
    scales = b.scale(), b.scale()
    first, second = (_operand(b, shape, scale, dtype) for shape, scale in zip(shapes, scales, strict=False))
    if shapes[0] == shapes[1] and b.integer(0, 4) == 0 and first in b.inputs and second not in b.inputs:
        second = first
    if name == "MUL":
        scale = scales[0] * scales[1] * b.choice((20, 60, 150)) * (1 if dtype == "int8" else 256)
    else:
        scale = max(scales) * b.choice((0.5, 1.0, 2.0))
    y = b.output(shapes[2], scale, b.zero() if dtype == "int8" else 0, dtype)
    b.model.operator(name, [first, second], [y], fused_activation_function=b.choice(ACTIVATIONS))


def _extremum(b: Batch, name: str) -> None:
    shapes = _broadcast(b)
    dtype = b.choice(("int8", "int8", "int16", "int32"))
    like = (None, 0, dtype) if dtype == "int32" else (b.scale(), b.zero() if dtype == "int8" else 0, dtype)
    first, second = (b.input(shape, *like) for shape in shapes[:2])
    b.model.operator(name, [first, second], [b.output(shapes[2], *like)])


def _unary(b: Batch, name: str) -> None:
    if name in ("LOGISTIC", "TANH") and b.integer(0, 2) == 0:
        scale = b.choice((2.0**-12, 2.0**-11, b.scale(1e-5, 1e-3)))
        x, y = b.input([1, 300], scale, 0, "int16"), b.output([1, 300], 2.0**-15, 0, "int16")
        b.model.operator(name, [x], [y])
        return
    shape, scale, zero = b.shape(), b.scale(1e-3, 0.5), b.zero()
    options = {}
    wide = name in ("RELU", "RELU6", "LEAKY_RELU") and b.integer(0, 3) == 0
    dtype = "int16" if wide else "int8"
    scale, zero = (scale / 256, 0) if wide else (scale, zero)
    if name == "LOGISTIC":
        target = 1 / 256, -128
    elif name == "TANH":
        target = 1 / 128, 0
    elif name == "RELU6":
        target = scale, zero
    elif name == "HARD_SWISH":
        target = scale * b.choice((1.0, 0.7, 1.9)), b.zero()
    else:
        target = scale * b.choice((0.3, 0.9, 1.0, 1.7, 4.0)), 0 if wide else b.zero()
    if name == "LEAKY_RELU":
        options["alpha"] = b.choice((0.1, 0.01, 0.3, 1.5, 0.0))
    if b.integer(0, 2) == 0:
        shape = [1, 64, 4]
    x, y = b.input(shape, scale, zero, dtype), b.output(shape, *target, dtype)
    b.model.operator(name, [x], [y], **options)


def prelu(b: Batch) -> None:
    shape = [1, *b.shape(3, 2)]
    alpha_shape = b.choice((shape, [1] * (len(shape) - 1) + shape[-1:], [1, 1, *shape[2:]]))
    scale, alpha_scale = b.scale(), b.scale(1e-3, 0.02)
    x = b.input(shape, scale, b.zero())
    data = b.draw.bytes(int(np.prod(alpha_shape)))
    alpha = b.model.tensor(alpha_shape, scale=alpha_scale, zero_point=b.choice((0, b.zero())), data=data)
    y = b.output(shape, scale * b.choice((0.5, 1.0, 1.0, 2.0)), b.zero())
    b.model.operator("PRELU", [x, alpha], [y])


def squared_difference(b: Batch) -> None:
    shapes = _broadcast(b)
    scales = b.scale(), b.scale()
    first, second = (_operand(b, shape, scale, "int8") for shape, scale in zip(shapes[:2], scales, strict=True))
    y = b.output(shapes[2], max(scales) ** 2 * b.choice((5, 50, 200)), b.zero())
    b.model.operator("SQUARED_DIFFERENCE", [first, second], [y])


def _comparison(b: Batch, name: str) -> None:
    shapes, scale = _broadcast(b), b.scale()
    zero, same = b.zero(), b.integer(0, 1)
    quantisation = (scale, zero), (scale if same else b.scale(), zero if same else b.zero())
    first, second = (b.input(shape, *like) for shape, like in zip(shapes[:2], quantisation, strict=True))
    result = b.model.tensor(shapes[2], "bool")
    b.model.operator(name, [first, second], [result])
    # A truth value is no output of a model; it chooses between two tensors.
    parts = [b.input(shapes[2], scale, zero) for _ in range(2)]
    b.model.operator("SELECT_V2", [result, *parts], [b.output(shapes[2], scale, zero)])


def select_v2(b: Batch) -> None:
    shapes, scale = _broadcast(b), b.scale()
    condition = b.model.tensor(shapes[0], "bool")
    scores = [b.input(shapes[0], 0.1) for _ in range(2)]
    b.model.operator("GREATER", scores, [condition])
    dtype = b.choice(("int8", "int8", "int16", "float32"))
    like = (None, 0, dtype) if dtype == "float32" else (scale, b.zero() if dtype == "int8" else 0, dtype)
    parts = [b.input(shape, *like) for shape in shapes[1:]]
    if b.integer(0, 1):
        parts.reverse()
    b.model.operator("SELECT_V2", [condition, *parts], [b.output(shapes[2], *like)])


def l2_normalization(b: Batch) -> None:
    shape = b.shape(4)
    x, y = b.input(shape, b.scale(), b.zero()), b.output(shape, 1 / 128, 0)
    b.model.operator("L2_NORMALIZATION", [x], [y], fused_activation_function="NONE")


COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


def quantize(b: Batch) -> None:
    source, target = b.choice(
        (
            ("int8", "int8"),
            ("int8", "uint8"),
            ("uint8", "int8"),
            ("int8", "int16"),
            ("int8", "int32"),
            ("int16", "int8"),
            ("int16", "int16"),
            ("int16", "int32"),
            ("int32", "int8"),
            ("int32", "int16"),
            ("float32", "int8"),
            ("float32", "int16"),
        )
    )
    shape, scale = b.shape(), b.scale()
    zeros = {"int8": b.zero(), "uint8": b.integer(0, 255)}
    wide = {"int16": 1 / 256, "int32": 1 / (1 << 20)}
    x_scale = None if source == "float32" else scale * wide.get(source, 1.0)
    y_scale = scale * wide.get(target, 1.0) * b.choice((0.5, 1.0, 1.0, 3.0))
    if target == "uint8" or source == "uint8":
        y_scale = scale
    x_zero = zeros.get(source, 0)
    y_zero = zeros.get(target, 0)
    if {source, target} == {"int8", "uint8"}:
        x_zero, y_zero = (b.zero(), 0) if source == "int8" else (b.integer(0, 255), 0)
        y_zero = x_zero + 128 if source == "int8" else x_zero - 128
    x, y = b.input(shape, x_scale, x_zero, source), b.output(shape, y_scale, y_zero, target)
    b.model.operator("QUANTIZE", [x], [y])


def dequantize(b: Batch) -> None:
    dtype = b.choice(("int8", "int8", "uint8", "int16"))
    zero = {"int8": b.zero(), "uint8": b.integer(0, 255)}.get(dtype, 0)
    shape = b.shape()
    x, y = b.input(shape, b.scale(), zero, dtype), b.output(shape, None, 0, "float32")
    b.model.operator("DEQUANTIZE", [x], [y])


KINDS: Mapping[str, Callable[[Batch], None]] = {
    **{name: partial(_binary, name=name) for name in ("ADD", "SUB", "MUL")},
    **{name: partial(_extremum, name=name) for name in ("MINIMUM", "MAXIMUM")},
    **{name: partial(_unary, name=name) for name in ("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH")},
    **{name: partial(_unary, name=name) for name in ("ABS", "ELU")},
    **{name: partial(_comparison, name=name) for name in COMPARISONS},
    "L2_NORMALIZATION": l2_normalization,
    "PRELU": prelu,
    "SELECT_V2": select_v2,
    "SQUARED_DIFFERENCE": squared_difference,
    "QUANTIZE": quantize,
    "DEQUANTIZE": dequantize,
}
