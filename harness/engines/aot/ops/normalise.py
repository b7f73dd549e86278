"""L2_NORMALIZATION."""

from __future__ import annotations

from harness.engines.aot.lowering import Call, Kernel, KernelConfig, OpView

KERNEL = Kernel("nn_l2_norm_8", "nn_l2_norm_t", "nn_l2_norm.h", "nn_l2_norm.c")
MAX_DEPTH = 1 << 15
"""With more, the sum of squares could overflow."""


def l2_normalization(op: OpView, config: KernelConfig) -> Call:
    """L2_NORMALIZATION over the last axis; the output has scale 1/128 and zero point 0."""
    op.counts((1,))
    op.tflm_only(config)
    x, y = op.input(0), op.output()
    op.int8(x, y)
    if x.shape != y.shape or not x.shape or x.shape[-1] > MAX_DEPTH:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    if op.option("fused_activation_function") != "NONE":
        op.refuse(f"option fused_activation_function is {op.option('fused_activation_function')}")
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    if target.scale != 1 / 128 or target.zero:
        op.refuse(f"the output has scale {target.scale} and zero point {target.zero}; it must be 1/128 and 0")
    fields = {"rows": x.elements // x.shape[-1], "depth": x.shape[-1], "zero": source.zero}
    return Call(KERNEL, fields, inputs=(x.index,), outputs=(y.index,))
