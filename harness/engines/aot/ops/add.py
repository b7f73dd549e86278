"""ADD of tensors of the same shape, the common case."""

from __future__ import annotations

from harness.engines.aot.lowering import Affine, Call, Kernel, OpView
from harness.engines.aot.ops.weighted import output_range
from harness.engines.aot.quant import fixed_point

ADD = Kernel("nn_add", "nn_add_t", "nn_add.h", "nn_add.c")
HEADROOM = 20
"""Bits an operand is moved up before it is scaled, as in the kernel."""


def add_same_shape(op: OpView) -> Call:
    """ADD of two int8 tensors of the same shape."""
    a, b, y = op.input(0), op.input(1), op.output()
    op.int8(a, b, y)
    first, second, target = (op.affine(t, role) for t, role in ((a, "input 0"), (b, "input 1"), (y, "the output")))
    twice = 2 * max(first.scale, second.scale)
    back = twice / ((1 << HEADROOM) * target.scale)
    if not back < 1:
        op.refuse("the output's scale is too small for those of the inputs")
    return Call(
        kernel=ADD,
        fields={
            "count": y.elements,
            "a": _operand(first, first.scale / twice),
            "b": _operand(second, second.scale / twice),
            "out": _operand(target, back),
            **output_range(op, target),
        },
        inputs=(a.index, b.index),
        outputs=(y.index,),
        in_place=(a.index, b.index),
    )


def _operand(affine: Affine, factor: float) -> dict[str, int]:
    multiplier, shift = fixed_point(factor)
    return {"zero": affine.zero, "multiplier": multiplier, "shift": shift}
