"""SOFTMAX."""

from __future__ import annotations

import math

from harness.engines.aot.lowering import Call, Kernel, KernelConfig, OpView
from harness.engines.aot.ops.softmax_16 import softmax_16
from harness.engines.aot.quant import fixed_point

SOFTMAX = Kernel("nn_softmax", "nn_softmax_t", "nn_softmax.h", "nn_softmax.c")
INTEGER_BITS = 5
"""Bits above the point of the scaled differences, Q5.26."""
FRACTION_BITS = 31 - INTEGER_BITS
MAX_DEPTH = 8191
"""With more, the sum of exponentials could overflow."""


def softmax(op: OpView, config: KernelConfig) -> Call:
    """SOFTMAX over the last axis."""
    op.counts((1,))
    if op.input(0).dtype == "int16":
        return softmax_16(op)
    x, y = op.input(0), op.output()
    op.int8(x, y)
    if x.shape != y.shape or not x.shape:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    if target.scale != 1 / 256 or target.zero != -128:
        op.refuse(f"the output has scale {target.scale} and zero point {target.zero}; it must be 1/256 and -128")
    depth = x.shape[-1]
    if depth > MAX_DEPTH:
        op.refuse(f"it has {depth} classes; at most {MAX_DEPTH} are supported")
    beta = op.option("beta")
    scaled = min(beta * source.scale * (1 << FRACTION_BITS), (1 << 31) - 1.0)
    if not math.isfinite(beta) or not scaled > 1:
        op.refuse(f"option beta is {beta}")
    multiplier, shift = fixed_point(scaled)
    reach = ((1 << INTEGER_BITS) - 1) * (1 << FRACTION_BITS) // (1 << shift)
    return Call(
        kernel=SOFTMAX,
        fields={
            "rows": x.elements // depth,
            "depth": depth,
            "multiplier": multiplier,
            "shift": shift,
            "least": -reach,
        },
        inputs=(x.index,),
        outputs=(y.index,),
        in_place=(x.index,),
    )
