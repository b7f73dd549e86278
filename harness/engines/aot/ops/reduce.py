"""MEAN, SUM, REDUCE_MAX and ARG_MAX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from harness.engines.aot.lowering import Call, Kernel, KernelConfig, Lowered, OpView
from harness.engines.aot.ops.shapes import nested, strides
from harness.engines.aot.quant import fixed_point
from harness.model.types import Tensor

MAX_REDUCED = 1 << 23


def _kernel(name: str, dtype: str) -> Kernel:
    return Kernel(f"nn_{name}_{16 if dtype == 'int16' else 8}", "nn_reduce_t", "nn_reduce.h", "nn_reduce.c")


def _loops(shape: Sequence[int], axes: Iterable[int]) -> dict[str, Any]:
    steps = strides(shape)
    chosen = list(axes)
    extents, (joined,) = nested([shape[axis] for axis in chosen], [steps[axis] for axis in chosen])
    return {"dims": len(extents), "extent": tuple(extents), "step": tuple(joined)}


def _shapes(op: OpView, x: Tensor, axes: Sequence[int]) -> dict[str, Any]:
    return {
        "kept": _loops(x.shape, [axis for axis in range(len(x.shape)) if axis not in axes]),
        "reduced": _loops(x.shape, axes),
    }


def _operands(op: OpView) -> tuple[Tensor, Tensor, list[int], int]:
    """Input, output, axes in order, and how many elements become one."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    op.types(("int8", "int16"), x, y)
    op.alike(x, y)
    axes = sorted({op.axis(axis, len(x.shape)) for axis in op.integers(1, "the axes")})
    expected = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
    if not op.option("keep_dims"):
        expected = [extent for axis, extent in enumerate(x.shape) if axis not in axes]
    if list(y.shape) != expected and y.elements != math.prod(expected):
        op.refuse(f"the output has shape {list(y.shape)}; expected {expected}")
    count = math.prod(x.shape[axis] for axis in axes)
    if count > MAX_REDUCED:
        op.refuse(f"it reduces {count} elements to one")
    return x, y, axes, count


def _scaled(op: OpView, *, mean: bool) -> Lowered:
    x, y, axes, count = _operands(op)
    source, target = op.affine(x, "the input"), op.affine(y, "the output")
    ratio = source.scale / target.scale
    if not ratio < 1 << 22:
        op.refuse("the output's scale is too small for that of the input")
    multiplier, shift = fixed_point(ratio)
    if mean:
        places = max(0, min(count.bit_length() - 1, 32, 31 + shift))
        multiplier, shift = (multiplier << places) // count, shift - places
    return Call(
        _kernel("reduce_sum", x.dtype),
        {
            **_shapes(op, x, axes),
            "offset": -source.zero * count,
            "multiplier": multiplier,
            "shift": shift,
            "out_zero": target.zero,
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def mean(op: OpView, config: KernelConfig) -> Lowered:
    """MEAN."""
    return _scaled(op, mean=True)


def _extremum(op: OpView, name: str) -> Lowered:
    x, y, axes, _ = _operands(op)
    if op.affine(x, "the input") != op.affine(y, "the output"):
        op.refuse("input and output have different quantisation")
    return Call(_kernel(name, x.dtype), _shapes(op, x, axes), inputs=(x.index,), outputs=(y.index,))


def sum_(op: OpView, config: KernelConfig) -> Lowered:
    """SUM."""
    op.tflm_only(config)
    return _scaled(op, mean=False)


def reduce_max(op: OpView, config: KernelConfig) -> Lowered:
    """REDUCE_MAX of stored values; both tensors have the same quantisation."""
    return _extremum(op, "reduce_max")


def reduce_min(op: OpView, config: KernelConfig) -> Lowered:
    """REDUCE_MIN of stored values; both tensors have the same quantisation."""
    return _extremum(op, "reduce_min")


def arg_max(op: OpView, config: KernelConfig) -> Lowered:
    """ARG_MAX along an axis; the output is int32."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    op.int8(x)
    op.types(("int32",), y)
    axes = op.integers(1, "the axis")
    if len(axes) != 1:
        op.refuse(f"the axis has {len(axes)} values")
    axis = op.axis(axes[0], len(x.shape))
    if y.elements * x.shape[axis] != x.elements:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    return Call(_kernel("arg_max", x.dtype), _shapes(op, x, [axis]), inputs=(x.index,), outputs=(y.index,))
