"""Further functions of two tensors: PRELU, SQUARED_DIFFERENCE, comparisons, and the choice SELECT_V2."""

from __future__ import annotations

from typing import Any

from harness.engines.aot.lowering import Call, Kernel, KernelConfig, OpView
from harness.engines.aot.ops.binary import broadcast, operand
from harness.engines.aot.ops.layout import movable
from harness.engines.aot.ops.shapes import element_bytes
from harness.engines.aot.quant import fixed_point
from harness.model.types import Tensor

DIFFERENCE_HEADROOM = 7
COMPARISON_HEADROOM = 8


def _kernel(function: str, struct: str) -> Kernel:
    return Kernel(function, struct, "nn_pairs.h", "nn_pairs.c")


def _operands(op: OpView) -> tuple[Tensor, Tensor, Tensor]:
    op.counts((2,))
    a, b, y = op.input(0), op.input(1), op.output()
    op.int8(a, b)
    return a, b, y


def prelu(op: OpView, config: KernelConfig) -> Call:
    """PRELU: input, alpha."""
    a, b, y = _operands(op)
    op.int8(y)
    if a.shape != y.shape:
        op.refuse(f"it brings shape {list(a.shape)} to {list(y.shape)}")
    shape = broadcast(op, a, b, y)
    source, alpha, target = op.affine(a, "the input"), op.affine(b, "alpha"), op.affine(y, "the output")
    same, product = source.scale / target.scale, source.scale * alpha.scale / target.scale
    if not max(same, product) < 1 << 14:
        op.refuse("the output's scale is too small for those of the inputs")
    (multiplier, shift), (product_multiplier, product_shift) = fixed_point(same), fixed_point(product)
    fields: dict[str, Any] = {
        "shape": shape,
        "a_zero": source.zero,
        "b_zero": alpha.zero,
        "out_zero": target.zero,
        "multiplier": multiplier,
        "shift": shift,
        "product_multiplier": product_multiplier,
        "product_shift": product_shift,
    }
    return Call(_kernel("nn_prelu_8", "nn_prelu_t"), fields, (a.index, b.index), (y.index,), in_place=(a.index,))


def squared_difference(op: OpView, config: KernelConfig) -> Call:
    """SQUARED_DIFFERENCE."""
    a, b, y = _operands(op)
    op.int8(y)
    shape = broadcast(op, a, b, y)
    first, second, target = op.affine(a, "input 0"), op.affine(b, "input 1"), op.affine(y, "the output")
    twice = 2 * max(first.scale, second.scale)
    back = twice * twice / ((1 << 2 * DIFFERENCE_HEADROOM) * target.scale)
    if not back < 1:
        op.refuse("the output's scale is too small for those of the inputs")
    fields: dict[str, Any] = {
        "shape": shape,
        "a": operand(first, first.scale / twice),
        "b": operand(second, second.scale / twice),
        "out": operand(target, back),
        "headroom": DIFFERENCE_HEADROOM,
        "low": -128,
        "high": 127,
    }
    return Call(_kernel("nn_squared_difference_8", "nn_sum_t"), fields, (a.index, b.index), (y.index,))


def _comparison(op: OpView, name: str, *, swapped: bool = False) -> Call:
    a, b, y = _operands(op)
    op.types(("bool",), y)
    if swapped:
        a, b = b, a
    shape = broadcast(op, a, b, y)
    affines = op.affine(a, "an input"), op.affine(b, "an input")
    if not max(affine.scale for affine in affines) < 1:
        op.refuse("an input has a scale of 1 or more")
    first, second = (operand(affine, affine.scale) for affine in affines)
    fields: dict[str, Any] = {"shape": shape, "a": first, "b": second, "headroom": COMPARISON_HEADROOM}
    return Call(_kernel(f"nn_{name}_8", "nn_comparison_t"), fields, (a.index, b.index), (y.index,))


def equal(op: OpView, config: KernelConfig) -> Call:
    """EQUAL."""
    return _comparison(op, "equal")


def not_equal(op: OpView, config: KernelConfig) -> Call:
    """NOT_EQUAL."""
    return _comparison(op, "not_equal")


def greater(op: OpView, config: KernelConfig) -> Call:
    """GREATER."""
    return _comparison(op, "greater")


def greater_equal(op: OpView, config: KernelConfig) -> Call:
    """GREATER_EQUAL."""
    return _comparison(op, "greater_equal")


def less(op: OpView, config: KernelConfig) -> Call:
    """LESS."""
    return _comparison(op, "greater", swapped=True)


def less_equal(op: OpView, config: KernelConfig) -> Call:
    """LESS_EQUAL."""
    return _comparison(op, "greater_equal", swapped=True)


def select_v2(op: OpView, config: KernelConfig) -> Call:
    """SELECT_V2: condition, what is taken where it holds, and where it does not."""
    op.counts((3,))
    condition, a, b, y = op.input(0), op.input(1), op.input(2), op.output()
    op.types(("bool",), condition)
    movable(op, y, a, b)
    if y.dtype in ("int8", "uint8", "int16") and not op.affine(a, "input 1") == op.affine(b, "input 2") == op.affine(
        y, "the output"
    ):
        op.refuse("inputs and output have different quantisation")
    fields: dict[str, Any] = {
        "whole": broadcast(op, condition, a, y, whole=False),
        "other": broadcast(op, condition, b, y, whole=False),
        "bytes": element_bytes(y),
    }
    inputs = (condition.index, a.index, b.index)
    return Call(_kernel("nn_select", "nn_select_t"), fields, inputs, (y.index,))
