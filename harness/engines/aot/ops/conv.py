"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.engines.aot.lowering import Array, Call, ConstantTensor, Kernel, KernelConfig, OpView
from harness.engines.aot.ops import wide
from harness.engines.aot.ops.weighted import bias, factors, output_range, weights, wrap32
from harness.engines.aot.ops.windows import window

CONV = Kernel("nn_conv_2d", "nn_conv_t", "nn_conv.h", "nn_conv.c", takes_scratch=True)
CONV_NAIVE = Kernel("nn_conv_2d_naive", "nn_conv_t", "nn_conv.h", "nn_conv_naive.c", takes_scratch=True)
CONV_GROUPED = Kernel("nn_conv_2d_grouped", "nn_conv_grouped_t", "nn_conv_grouped.h", "nn_conv_grouped.c")
DEPTHWISE = Kernel("nn_depthwise_conv_2d", "nn_depthwise_t", "nn_depthwise.h", "nn_depthwise.c")


def _dilation(op: OpView) -> tuple[int, int]:
    return op.positive("dilation_h_factor"), op.positive("dilation_w_factor")


def conv_2d(op: OpView, config: KernelConfig) -> Call:
    """CONV_2D: input, weights [out][h][w][in], optional bias."""
    op.counts((2, 3))
    x, y = op.input(0), op.output()
    op.types(("int8", "int16"), x, y)
    tensor, values, scales, zero = weights(op, axis=0)
    out_channels, kernel_h, kernel_w, in_channels = op.shape4(tensor, "the weights")
    place = window(op, (kernel_h, kernel_w), _dilation(op))
    groups, rest = divmod(place["in_channels"], in_channels)
    if not groups or rest or out_channels % groups:
        op.refuse(f"weights for {in_channels} input channels do not go with {place['in_channels']}")
    if groups > 1 and wide.is_wide(op):
        op.refuse(f"it has {groups} groups of channels and activations of int16")
    if out_channels != place["out_channels"]:
        op.refuse(f"the weights are for {out_channels} output channels of {place['out_channels']}")
    if zero:
        op.refuse(f"the weights have the zero point {zero}")
    if wide.is_wide(op):
        return wide.conv_2d(op, place, tensor, scales)
    op.int8(x, y)
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    depth = kernel_h * kernel_w * in_channels
    sums = values.reshape(out_channels, depth).sum(axis=1, dtype=np.int64)
    folded = bias(op, out_channels) - (source.zero * sums if groups == 1 else 0)
    pointwise = kernel_h == kernel_w == 1 and not place["pad_top"] and not place["pad_left"]
    fields: dict[str, Any] = {
        "window": place,
        "rows": {
            "weights": ConstantTensor(tensor.index),
            "bias": Array("bias", "int32_t", wrap32(folded)),
            **factors(op, [source.scale * scale / target.scale for scale in scales]),
            "depth": depth,
            "outputs": out_channels,
            "output_zero": target.zero,
            **output_range(op, target),
        },
        "input_zero": source.zero,
    }
    if groups > 1:
        parts = {"inputs": in_channels, "outputs": out_channels // groups}
        return Call(CONV_GROUPED, {**fields, **parts}, inputs=(x.index,), outputs=(y.index,))
    return Call(
        kernel=CONV_NAIVE if config.kernels == "naive" else CONV,
        fields=fields,
        inputs=(x.index,),
        outputs=(y.index,),
        scratch_bytes=0 if pointwise else depth,
    )


def depthwise_conv_2d(op: OpView, config: KernelConfig) -> Call:
    """DEPTHWISE_CONV_2D: input, weights [1][h][w][out], optional bias."""
    op.counts((2, 3))
    x, y = op.input(0), op.output()
    op.types(("int8", "int16"), x, y)
    tensor, _, scales, zero = weights(op, axis=3)
    one, kernel_h, kernel_w, out_channels = op.shape4(tensor, "the weights")
    place = window(op, (kernel_h, kernel_w), _dilation(op))
    multiplier, rest = divmod(out_channels, place["in_channels"])
    if one != 1 or rest or out_channels != place["out_channels"]:
        op.refuse(
            f"weights of shape {list(tensor.shape)} do not fit {place['in_channels']} input channels and "
            f"{place['out_channels']} output channels"
        )
    if zero:
        op.refuse(f"the weights have the zero point {zero}")
    if op.option("depth_multiplier") not in (0, multiplier):
        op.refuse(f"option depth_multiplier is {op.option('depth_multiplier')}; the shapes say {multiplier}")
    if wide.is_wide(op):
        return wide.depthwise_conv_2d(op, place, tensor, scales, multiplier)
    op.int8(x, y)
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    return Call(
        kernel=DEPTHWISE,
        fields={
            "window": place,
            "weights": ConstantTensor(tensor.index),
            "bias": Array("bias", "int32_t", wrap32(bias(op, out_channels))),
            **factors(op, [source.scale * scale / target.scale for scale in scales]),
            "depth_multiplier": multiplier,
            "input_zero": source.zero,
            "output_zero": target.zero,
            **output_range(op, target),
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )
