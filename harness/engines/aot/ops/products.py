"""TRANSPOSE_CONV, BATCH_MATMUL and SVDF."""

from __future__ import annotations

import numpy as np

from harness.engines.aot.lowering import Array, Call, ConstantTensor, Kernel, KernelConfig, Lowered, OpView
from harness.engines.aot.ops.shapes import nested, strides
from harness.engines.aot.ops.weighted import bias, factors, wrap32
from harness.engines.aot.quant import fixed_point, pad_before, window_outputs
from harness.model.types import Tensor

TRANSPOSE_CONV = Kernel("nn_transpose_conv", "nn_transpose_conv_t", "nn_transpose_conv.h", "nn_transpose_conv.c")
MATMUL = Kernel("nn_matmul", "nn_matmul_t", "nn_matmul.h", "nn_matmul.c")
MATMUL_LOOPS = 6


def transpose_conv(op: OpView, config: KernelConfig) -> Lowered:
    """TRANSPOSE_CONV: output shape, weights [out][h][w][in], input, optional bias."""
    op.counts((3, 4))
    weights, x, y = op.input(1), op.input(2), op.output()
    op.int8(weights, x, y)
    op.constant(weights, "the weights", "int8")
    batches, in_h, in_w, in_channels = op.shape4(x, "the input")
    out_batches, out_h, out_w, out_channels = op.shape4(y, "the output")
    channels, kernel_h, kernel_w, depth = op.shape4(weights, "the weights")
    if (channels, depth, out_batches) != (out_channels, in_channels, batches):
        op.refuse(f"weights of shape {list(weights.shape)} do not bring {list(x.shape)} to {list(y.shape)}")
    if op.operator.options.get("fused_activation_function", "NONE") != "NONE":
        op.refuse(f"option fused_activation_function is {op.option('fused_activation_function')}")
    padding, stride = op.option("padding"), (op.positive("stride_h"), op.positive("stride_w"))
    if padding not in ("SAME", "VALID"):
        op.refuse(f"option padding is {padding}")
    if max(kernel_h, kernel_w, in_h, in_w, out_h, out_w) > 1 << 14:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    ends = [
        window_outputs(padding, extent, kernel, step, 1)
        for extent, kernel, step in zip((out_h, out_w), (kernel_h, kernel_w), stride, strict=True)
    ]
    if ends != [in_h, in_w]:
        op.refuse(f"an output of shape {list(y.shape)} is not made from {list(x.shape)}")
    pads = [
        pad_before(extent, count, kernel, step, 1) if padding == "SAME" else 0
        for extent, count, kernel, step in zip((out_h, out_w), ends, (kernel_h, kernel_w), stride, strict=True)
    ]
    scales = op.scales(weights, "the weights")
    quantization = weights.quantization
    assert quantization is not None
    if len(scales) > 1 and (quantization.axis != 0 or len(scales) != out_channels):
        op.refuse(f"the weights have {len(scales)} scales along axis {quantization.axis} of {list(weights.shape)}")
    if any(quantization.zero_points):
        op.refuse("the weights have zero points other than 0")
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    biases = bias(op, out_channels, 3)
    return Call(
        TRANSPOSE_CONV,
        {
            "batches": batches,
            "in_h": in_h,
            "in_w": in_w,
            "in_channels": in_channels,
            "out_h": out_h,
            "out_w": out_w,
            "out_channels": out_channels,
            "kernel_h": kernel_h,
            "kernel_w": kernel_w,
            "stride_h": stride[0],
            "stride_w": stride[1],
            "pad_top": pads[0],
            "pad_left": pads[1],
            "weights": ConstantTensor(weights.index),
            "bias": Array("bias", "int32_t", wrap32(biases)),
            **factors(op, [source.scale * scale / target.scale for scale in scales]),
            "input_zero": source.zero,
            "output_zero": target.zero,
            "low": -128,
            "high": 127,
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def batch_matmul(op: OpView, config: KernelConfig) -> Lowered:
    """BATCH_MATMUL of two tensors, either transposed; batches broadcast."""
    op.counts((2,))
    a, b, y = op.input(0), op.input(1), op.output()
    op.int8(a, b, y)
    rank = len(y.shape)
    if not min(len(a.shape), len(b.shape)) >= 2 or max(len(a.shape), len(b.shape)) != rank:
        op.refuse(f"it multiplies {list(a.shape)} and {list(b.shape)} to {list(y.shape)}")
    a_steps, b_steps = (strides(tensor.shape) for tensor in (a, b))
    row, depth = _transposed(a, a_steps, bool(op.option("adj_x")))
    inner, column = _transposed(b, b_steps, bool(op.option("adj_y")))
    expected = [row[0], column[0]]
    if inner[0] != depth[0] or list(y.shape[-2:]) != expected or depth[0] > 1 << 16:
        op.refuse(f"it multiplies {list(a.shape)} and {list(b.shape)} to {list(y.shape)}")
    outer = list(y.shape[:-2])
    batch_steps = [_batch_steps(op, tensor, steps, outer) for tensor, steps in ((a, a_steps), (b, b_steps))]
    if any(max(pair) != extent for extent, pair in zip(outer, _batches(a, b, len(outer)), strict=True)):
        op.refuse(f"it multiplies {list(a.shape)} and {list(b.shape)} to {list(y.shape)}")
    loops, (a_outer, b_outer) = nested(outer, *batch_steps)
    if len(loops) > MATMUL_LOOPS:
        op.refuse(f"it has {len(loops)} axes of batches")
    first, second, target = op.affine(a, "input 0"), op.affine(b, "input 1"), op.affine(y, "the output")
    with np.errstate(over="ignore"):
        factor = float(np.float32(first.scale) * np.float32(second.scale)) / target.scale
    if not factor < 1 << 22:
        op.refuse("the output's scale is too small for those of the inputs")
    multiplier, shift = fixed_point(factor)
    return Call(
        MATMUL,
        {
            "outer": len(loops),
            "extent": tuple(loops),
            "a_step": tuple(a_outer),
            "b_step": tuple(b_outer),
            "rows": row[0],
            "depth": depth[0],
            "columns": column[0],
            "a_row": row[1],
            "a_depth": depth[1],
            "b_depth": inner[1],
            "b_column": column[1],
            "a_zero": first.zero,
            "b_zero": second.zero,
            "out_zero": target.zero,
            "multiplier": multiplier,
            "shift": shift,
        },
        inputs=(a.index, b.index),
        outputs=(y.index,),
    )


def _transposed(tensor: Tensor, steps: list[int], swapped: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """(extent, step) of the last two axes, exchanged when asked for."""
    last = ((tensor.shape[-2], steps[-2]), (tensor.shape[-1], steps[-1]))
    return (last[1], last[0]) if swapped else last


def _batches(a: Tensor, b: Tensor, count: int) -> list[tuple[int, int]]:
    shapes = [(1,) * (count + 2 - len(t.shape)) + t.shape[:-2] for t in (a, b)]
    return list(zip(*shapes, strict=True))


def _batch_steps(op: OpView, tensor: Tensor, steps: list[int], outer: list[int]) -> list[int]:
    missing = len(outer) + 2 - len(tensor.shape)
    extents = [1] * missing + list(tensor.shape[:-2])
    if any(mine not in (1, whole) for mine, whole in zip(extents, outer, strict=True)):
        op.refuse(f"tensor {tensor.index} of shape {list(tensor.shape)} does not broadcast to {outer}")
    return [0 if mine == 1 else step for mine, step in zip(extents, [0] * missing + steps[:-2], strict=True)]


def svdf(op: OpView, config: KernelConfig) -> Lowered:
    """SVDF: input, feature weights, time weights, optional bias, state."""
    op.counts((5,))
    x, features, times, state, y = op.input(0), op.input(1), op.input(2), op.input(4), op.output()
    op.int8(x, features, y)
    op.types(("int8", "int16"), times, state)
    op.alike(state, times)
    if state.dtype == "int8":
        op.tflm_only(config, "a state of int8")
    op.constant(features, "the feature weights", "int8")
    op.constant(times, "the time weights", times.dtype)
    rank = op.positive("rank")
    if op.option("fused_activation_function") not in ("NONE", "RELU"):
        op.refuse(f"option fused_activation_function is {op.option('fused_activation_function')}")
    if any(len(tensor.shape) != 2 for tensor in (x, features, times, y)):
        op.refuse("a tensor does not have two extents")
    (batches, inputs), (filters, memory) = x.shape, times.shape
    if (
        filters % rank
        or features.shape != (filters, inputs)
        or y.shape != (batches, filters // rank)
        or state.elements != batches * filters * memory
    ):
        op.refuse(f"weights of shape {list(features.shape)} and {list(times.shape)} do not fit")
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    kept = op.affine(state, "the state")
    feature_scale, time_scale = (op.affine(t, r).scale for t, r in ((features, "features"), (times, "times")))
    if op.affine(features, "features").zero or op.affine(times, "times").zero:
        op.refuse("weights have zero points other than 0")
    single = np.float32
    with np.errstate(over="ignore"):
        one = float(single(source.scale) * single(feature_scale) / single(kept.scale))
        two = float(single(kept.scale) * single(time_scale) / single(target.scale))
    if not max(one, two) < 1 << 22:
        op.refuse("a scale is too small for those before it")
    feature_factor, factor = fixed_point(one), fixed_point(two)
    cell = op.cell(state)
    width = 16 if state.dtype == "int16" else 8
    return Call(
        Kernel(f"nn_svdf_{width}", "nn_svdf_t", "nn_svdf.h", "nn_svdf.c"),
        {
            "batches": batches,
            "inputs": inputs,
            "filters": filters,
            "memory": memory,
            "rank": rank,
            "features": ConstantTensor(features.index),
            "times": ConstantTensor(times.index),
            "bias": Array("bias", "int32_t", wrap32(bias(op, filters // rank, 3))),
            "input_zero": source.zero,
            "state_zero": kept.zero,
            "output_zero": target.zero,
            "feature_multiplier": feature_factor[0],
            "feature_shift": feature_factor[1],
            "multiplier": factor[0],
            "shift": factor[1],
        },
        inputs=(cell.key, x.index),
        outputs=(cell.key, y.index),
    )
