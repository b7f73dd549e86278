"""What convolutions and dense layers share: weights, biases, and the factors that bring sums to the output's scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.lowering import INT8_MAX, INT8_MIN, RANGES, Affine, Array, OpView
from harness.engines.aot.quant import activation_range, fixed_points
from harness.model.types import Tensor

MAX_SHIFT = 30


def weights(op: OpView, axis: int) -> tuple[Tensor, NDArray[Any], tuple[float, ...], int]:
    """The weights of an operator: the tensor, its values, its scales (one, or one per index of `axis`), its zero point.

    Zero points other than 0 are for one scale only.
    """
    tensor = op.input(1)
    values = op.constant(tensor, "the weights", "int8")
    op.int8(tensor)
    scales = op.scales(tensor, "the weights")
    quantization = tensor.quantization
    assert quantization is not None
    if len(scales) > 1 and (quantization.axis != axis or len(scales) != tensor.shape[axis]):
        op.refuse(f"the weights have {len(scales)} scales along axis {quantization.axis} of {list(tensor.shape)}")
    if len(scales) > 1 and any(quantization.zero_points):
        op.refuse("the weights have zero points other than 0 for single channels")
    zero = quantization.zero_points[0]
    if not INT8_MIN <= zero <= INT8_MAX:
        op.refuse(f"the weights have the zero point {zero}")
    return tensor, values, scales, zero


def bias(op: OpView, channels: int, position: int = 2) -> NDArray[np.int64]:
    """The biases, zeros when the operator has none."""
    tensor = op.optional(position)
    if tensor is None:
        return np.zeros(channels, np.int64)
    values = op.constant(tensor, "the bias", "int32")
    if values.size != channels:
        op.refuse(f"the bias has {values.size} elements for {channels} channels")
    return values.reshape(-1).astype(np.int64)


def wrap32(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """Values modulo 2**32, as the kernels' sums."""
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def factors(op: OpView, real: Sequence[float]) -> dict[str, Any]:
    """Fields `multiplier`, `shift` and `channel_mask` for one factor, or one per output channel."""
    multipliers, shifts = fixed_points(real)
    if max(shifts) > MAX_SHIFT:
        op.refuse("the output's scale is too small for those of the input and the weights")
    return {
        "multiplier": Array("multiplier", "int32_t", np.array(multipliers, np.int32)),
        "shift": Array("shift", "int32_t", np.array(shifts, np.int32)),
        "channel_mask": -1 if len(real) > 1 else 0,
    }


def output_range(op: OpView, output: Affine) -> Mapping[str, int]:
    """Fields `low` and `high` of the operator's fused activation."""
    activation = op.option("fused_activation_function")
    least, most = RANGES[op.output().dtype]
    try:
        low, high = activation_range(activation, output.scale, output.zero, least, most)
    except KeyError:
        op.refuse(f"option fused_activation_function is {activation}")
    if low > high:
        op.refuse(f"the output cannot represent what {activation} gives")
    return {"low": low, "high": high}
