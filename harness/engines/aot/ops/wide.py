"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED with int16 activations and int8 weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.lowering import Affine, Array, Call, ConstantTensor, Kernel, OpView
from harness.engines.aot.ops.weighted import factors, output_range
from harness.engines.aot.quant import fixed_points
from harness.model.types import Tensor

CONV = Kernel("nn_conv_2d_16", "nn_wide_conv_t", "nn_wide.h", "nn_wide.c")
DEPTHWISE = Kernel("nn_depthwise_conv_2d_16", "nn_wide_depthwise_t", "nn_wide.h", "nn_wide.c")
DENSE = Kernel("nn_fully_connected_16", "nn_wide_dense_t", "nn_wide.h", "nn_wide.c")
MAX_SHIFT = 7


def is_wide(op: OpView) -> bool:
    """Whether the operator's input is int16."""
    return op.input(0).dtype == "int16"


def _symmetric(op: OpView) -> tuple[Affine, Affine]:
    x, y = op.input(0), op.output()
    op.types(("int16",), x, y)
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    if source.zero or target.zero:
        op.refuse("an int16 tensor has a zero point other than 0")
    return source, target


def _bias(op: OpView, channels: int) -> tuple[NDArray[np.int64], str]:
    """The biases, zeros when there are none, and their type."""
    tensor = op.optional(2)
    if tensor is None:
        return np.zeros(channels, np.int64), "int64"
    values = op.constant(tensor, "the bias", "int64" if tensor.dtype == "int64" else "int32")
    if values.size != channels:
        op.refuse(f"the bias has {values.size} elements for {channels} channels")
    if abs(values).max() >= 1 << 47:
        op.refuse("a bias has more than 47 bits")
    return values.reshape(-1).astype(np.int64), tensor.dtype


def _scale(op: OpView, real: Sequence[float], target: Affine, bias: NDArray[np.int64], narrow: bool) -> dict[str, Any]:
    """Fields of `nn_wide_scale_t`."""
    if narrow:
        fields = factors(op, real)
    else:
        multipliers, shifts = fixed_points(real)
        if max(shifts) > MAX_SHIFT or min(shifts) < -31:
            op.refuse("the output's scale does not go with those of the input and the weights")
        fifteen = [(m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF for m in multipliers]
        fields = {
            "multiplier": Array("multiplier", "int32_t", np.array(fifteen, np.int32)),
            "shift": Array("shift", "int32_t", np.array([15 - shift for shift in shifts], np.int32)),
            "channel_mask": -1 if len(real) > 1 else 0,
        }
    return {
        "bias": Array("bias", "int64_t", bias),
        **fields,
        "narrow": int(narrow),
        **output_range(op, target),
    }


def conv_2d(op: OpView, place: Mapping[str, int], weights: Tensor, scales: Sequence[float]) -> Call:
    """CONV_2D; what does not depend on the activations' type is checked."""
    source, target = _symmetric(op)
    biases, kind = _bias(op, place["out_channels"])
    real = [source.scale * scale / target.scale for scale in scales]
    scale = _scale(op, real, target, biases, kind == "int32")
    fields: dict[str, Any] = {"window": place, "weights": ConstantTensor(weights.index), "scale": scale}
    return Call(CONV, fields, inputs=(op.input(0).index,), outputs=(op.output().index,))


def depthwise_conv_2d(
    op: OpView, place: Mapping[str, int], weights: Tensor, scales: Sequence[float], multiplier: int
) -> Call:
    """DEPTHWISE_CONV_2D; what does not depend on the activations' type is checked."""
    source, target = _symmetric(op)
    biases, kind = _bias(op, place["out_channels"])
    if kind != "int64":
        op.refuse(f"the bias is {kind}, not int64")
    real = [source.scale * scale / target.scale for scale in scales]
    fields: dict[str, Any] = {
        "window": place,
        "weights": ConstantTensor(weights.index),
        "scale": _scale(op, real, target, biases, narrow=False),
        "depth_multiplier": multiplier,
    }
    return Call(DEPTHWISE, fields, inputs=(op.input(0).index,), outputs=(op.output().index,))


def fully_connected(op: OpView, weights: Tensor, count: int, factor: Sequence[float]) -> Call:
    """FULLY_CONNECTED; `factor` brings the product of scales to the output's."""
    _, target = _symmetric(op)
    outputs, depth = weights.shape
    biases, kind = _bias(op, outputs)
    if kind != "int64":
        op.refuse(f"the bias is {kind}, not int64")
    fields: dict[str, Any] = {
        "count": count,
        "depth": depth,
        "outputs": outputs,
        "weights": ConstantTensor(weights.index),
        "scale": _scale(op, factor, target, biases, narrow=False),
    }
    return Call(DENSE, fields, inputs=(op.input(0).index,), outputs=(op.output().index,))
