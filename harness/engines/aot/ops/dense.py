"""FULLY_CONNECTED."""

from __future__ import annotations

import numpy as np

from harness.engines.aot.lowering import Array, Call, ConstantTensor, Kernel, KernelConfig, OpView
from harness.engines.aot.ops import wide
from harness.engines.aot.ops.weighted import bias, factors, output_range, weights, wrap32

DENSE = Kernel("nn_fully_connected", "nn_dense_t", "nn_dense.h", "nn_dense.c")
DENSE_ONCE = Kernel("nn_fully_connected_once", "nn_dense_t", "nn_dense.h", "nn_dense.c")


def fully_connected(op: OpView, config: KernelConfig) -> Call:
    """FULLY_CONNECTED: input, weights [out][in], optional bias."""
    op.counts((2, 3))
    x, y = op.input(0), op.output()
    op.types(("int8", "int16"), x, y)
    tensor, values, scales, zero = weights(op, axis=0)
    if len(tensor.shape) != 2:
        op.refuse(f"the weights have shape {list(tensor.shape)}; they must have two extents")
    if op.option("weights_format") != 0:
        op.refuse(f"option weights_format is {op.option('weights_format')}")
    outputs, depth = tensor.shape
    count, rest = divmod(x.elements, depth)
    if rest or y.elements != count * outputs or (y.shape and y.shape[-1] != outputs):
        op.refuse(f"weights of shape {[outputs, depth]} do not bring {list(x.shape)} to {list(y.shape)}")
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    real = [_product(source.scale, scale, len(scales)) / target.scale for scale in scales]
    if wide.is_wide(op):
        op.tflm_only(config, "int16")
        if zero:
            op.refuse(f"the weights have the zero point {zero}")
        return wide.fully_connected(op, tensor, count, real)
    op.int8(x, y)
    sums = values.sum(axis=1, dtype=np.int64)
    folded = bias(op, outputs) - source.zero * sums + depth * source.zero * zero
    return Call(
        kernel=DENSE_ONCE if config.rounding == "litert-ref" else DENSE,
        fields={
            "rows": {
                "weights": ConstantTensor(tensor.index),
                "bias": Array("bias", "int32_t", wrap32(folded)),
                **factors(op, real),
                "depth": depth,
                "outputs": outputs,
                "output_zero": target.zero,
                **output_range(op, target),
            },
            "count": count,
            "weights_zero": zero,
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def _product(input_scale: float, weights_scale: float, channels: int) -> float:
    if channels > 1:
        return input_scale * weights_scale
    # With one scale for all weights, TFLite forms this product in single precision.
    return float(np.float32(input_scale) * np.float32(weights_scale))
