"""Functions of two tensors: ADD, SUB, MUL, MINIMUM, MAXIMUM."""

from __future__ import annotations

import math
from typing import Any

from harness.engines.aot.lowering import Affine, Call, Kernel, KernelConfig, OpView
from harness.engines.aot.ops.add import add_same_shape
from harness.engines.aot.ops.shapes import LOOPS, nested, strides
from harness.engines.aot.ops.weighted import output_range
from harness.engines.aot.quant import fixed_point
from harness.model.types import Tensor

HEADROOM = {"int8": 20, "int16": 15}
"""Bits an operand is moved up before it is scaled."""
_BITS = {"int8": 8, "int16": 16, "int32": 32}


def _kernel(name: str, struct: str, dtype: str) -> Kernel:
    return Kernel(f"nn_{name}_{_BITS[dtype]}", f"nn_{struct}_t", "nn_broadcast.h", "nn_broadcast.c")


def _operands(op: OpView, types: tuple[str, ...]) -> tuple[Tensor, Tensor, Tensor]:
    op.counts((2,))
    a, b, y = op.input(0), op.input(1), op.output()
    op.types(types, a, b, y)
    op.alike(y, a, b)
    return a, b, y


def broadcast(op: OpView, a: Tensor, b: Tensor, y: Tensor, *, whole: bool = True) -> dict[str, Any]:
    """Fields of `nn_broadcast_t`; with `whole`, the output must be no larger than the two make it."""
    rank = len(y.shape)
    steps = []
    for tensor in (a, b):
        shape = (1,) * (rank - len(tensor.shape)) + tensor.shape
        if len(shape) != rank or any(mine not in (1, all_) for mine, all_ in zip(shape, y.shape, strict=True)):
            op.refuse(f"it broadcasts {list(a.shape)} and {list(b.shape)} to {list(y.shape)}")
        steps.append([0 if extent == 1 else step for extent, step in zip(shape, strides(shape), strict=True)])
    if whole and y.elements != math.prod(max(pair) for pair in _aligned(a.shape, b.shape)):
        op.refuse(f"it broadcasts {list(a.shape)} and {list(b.shape)} to {list(y.shape)}")
    loops, (a_steps, b_steps) = nested(y.shape, *steps)
    if len(loops) > LOOPS + 1:
        op.refuse(f"it broadcasts over {len(loops)} axes")
    return {
        "outer": len(loops) - 1,
        "extent": tuple(loops[:-1]),
        "a_step": tuple(a_steps[:-1]),
        "b_step": tuple(b_steps[:-1]),
        "count": loops[-1],
        "a_stride": a_steps[-1],
        "b_stride": b_steps[-1],
    }


def _aligned(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[int, int]]:
    rank = max(len(a), len(b))
    return list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))


def _in_place(a: Tensor, b: Tensor, y: Tensor) -> tuple[int, ...]:
    """Operands that are read element by element as the output is written."""
    whole = [tensor.index for tensor in (a, b) if tensor.elements == y.elements]
    return tuple(whole)


def _affines(op: OpView, a: Tensor, b: Tensor, y: Tensor) -> tuple[Affine, Affine, Affine]:
    first, second, target = op.affine(a, "input 0"), op.affine(b, "input 1"), op.affine(y, "the output")
    if y.dtype == "int16" and (first.zero or second.zero or target.zero):
        op.refuse("an int16 tensor has a zero point other than 0")
    return first, second, target


def _sum(op: OpView, name: str) -> Call:
    a, b, y = _operands(op, ("int8", "int16"))
    shape = broadcast(op, a, b, y)
    first, second, target = _affines(op, a, b, y)
    headroom = HEADROOM[y.dtype]
    twice = 2 * max(first.scale, second.scale)
    back = twice / ((1 << headroom) * target.scale)
    if not back < 1:
        op.refuse("the output's scale is too small for those of the inputs")
    return Call(
        kernel=_kernel(name, "sum", y.dtype),
        fields={
            "shape": shape,
            "a": operand(first, first.scale / twice),
            "b": operand(second, second.scale / twice),
            "out": operand(target, back),
            "headroom": headroom,
            **output_range(op, target),
        },
        inputs=(a.index, b.index),
        outputs=(y.index,),
        in_place=_in_place(a, b, y),
    )


def operand(affine: Affine, factor: float) -> dict[str, int]:
    """Fields of `nn_operand_t`."""
    multiplier, shift = fixed_point(factor)
    return {"zero": affine.zero, "multiplier": multiplier, "shift": shift}


def add(op: OpView, config: KernelConfig) -> Call:
    """ADD."""
    op.counts((2,))
    if op.input(0).shape == op.input(1).shape == op.output().shape and op.output().dtype == "int8":
        return add_same_shape(op)
    return _sum(op, "sum")


def sub(op: OpView, config: KernelConfig) -> Call:
    """SUB."""
    return _sum(op, "difference")


def mul(op: OpView, config: KernelConfig) -> Call:
    """MUL."""
    a, b, y = _operands(op, ("int8", "int16"))
    shape = broadcast(op, a, b, y)
    first, second, target = _affines(op, a, b, y)
    factor = first.scale * second.scale / target.scale
    if not factor < 1 << 22:
        op.refuse("the output's scale is too small for those of the inputs")
    multiplier, shift = fixed_point(factor)
    return Call(
        kernel=_kernel("product", "product", y.dtype),
        fields={
            "shape": shape,
            "a_zero": first.zero,
            "b_zero": second.zero,
            "out_zero": target.zero,
            "multiplier": multiplier,
            "shift": shift,
            **output_range(op, target),
        },
        inputs=(a.index, b.index),
        outputs=(y.index,),
        in_place=_in_place(a, b, y),
    )


def _extremum(op: OpView, name: str) -> Call:
    a, b, y = _operands(op, ("int8", "int16", "int32"))
    fields = {"shape": broadcast(op, a, b, y)}
    kernel = _kernel(name, "extremum", y.dtype)
    return Call(kernel, fields, (a.index, b.index), (y.index,), in_place=_in_place(a, b, y))


def minimum(op: OpView, config: KernelConfig) -> Call:
    """MINIMUM of stored values."""
    return _extremum(op, "minimum")


def maximum(op: OpView, config: KernelConfig) -> Call:
    """MAXIMUM of stored values."""
    return _extremum(op, "maximum")
