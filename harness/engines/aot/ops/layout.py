"""Operators that only move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.lowering import Affine, Array, Call, Kernel, KernelConfig, Lowered, OpView, Steps, View
from harness.engines.aot.ops.shapes import element_bytes, fill, move, strides
from harness.model.types import Tensor

MOVABLE = ("int8", "uint8", "int16", "int32", "float32", "bool")
GATHER = Kernel("nn_gather", "nn_gather_t", "nn_move.h", "nn_move.c")
CONSTANT = Kernel("nn_constant", "nn_constant_t", "nn_move.h", "nn_move.c")
PICK = Kernel("nn_pick", "nn_pick_t", "nn_move.h", "nn_move.c")


def movable(op: OpView, *tensors: Tensor) -> None:
    """Check that tensors are of one type that is moved, and not empty."""
    op.types(MOVABLE, *tensors)
    op.alike(*tensors)


def expect(op: OpView, tensor: Tensor, shape: Sequence[int]) -> None:
    """Check the shape of the output."""
    if tuple(tensor.shape) != tuple(shape):
        op.refuse(f"the output has shape {list(tensor.shape)}; expected {list(shape)}")


def reshape(op: OpView, config: KernelConfig) -> View:
    """RESHAPE, SQUEEZE and EXPAND_DIMS: another view of the same bytes."""
    op.counts((1, 2))
    x, y = op.input(0), op.output()
    if x.dtype != y.dtype or x.nbytes != y.nbytes:
        op.refuse(f"it brings {x.dtype} {list(x.shape)} to {y.dtype} {list(y.shape)}")
    movable(op, x, y)
    return View(x.index, y.index)


def shape(op: OpView, config: KernelConfig) -> Lowered:
    """SHAPE: known when code is generated; converters write it for models whose batch is not fixed."""
    op.counts((1,))
    x, y = op.input(0), op.output()
    op.types(("int32",), y)
    if y.elements != len(x.shape):
        op.refuse(f"the output has {y.elements} elements for {len(x.shape)} axes")
    extents = Array("extents", "int32_t", np.array(x.shape, np.int32))
    return Call(CONSTANT, {"bytes": y.nbytes, "data": extents}, inputs=(), outputs=(y.index,))


def concatenation(op: OpView, config: KernelConfig) -> Lowered:
    """CONCATENATION along an axis."""
    inputs = [op.input(position) for position in range(len(op.operator.inputs))]
    op.counts((len(inputs),))
    y = op.output()
    if not inputs:
        op.refuse("has no inputs")
    movable(op, y, *inputs)
    if op.option("fused_activation_function") != "NONE":
        op.refuse(f"option fused_activation_function is {op.option('fused_activation_function')}")
    axis = op.axis(op.option("axis"), len(y.shape))
    _same_quantisation(op, y, *inputs)
    calls, at = [], 0
    for tensor in inputs:
        if len(tensor.shape) != len(y.shape):
            op.refuse(f"it joins shapes {[list(t.shape) for t in inputs]}")
        expected = [*y.shape]
        expected[axis] = tensor.shape[axis]
        if list(tensor.shape) != expected:
            op.refuse(f"it joins {list(tensor.shape)} into {list(y.shape)} along axis {axis}")
        steps = strides(y.shape)
        calls.append(move(tensor, y, tensor.shape, strides(tensor.shape), steps, 0, at * steps[axis]))
        at += tensor.shape[axis]
    if at != y.shape[axis]:
        op.refuse(f"its inputs have {at} of {y.shape[axis]} along axis {axis}")
    return Steps(tuple(calls))


def _same_quantisation(op: OpView, *tensors: Tensor) -> None:
    if tensors[0].dtype not in ("int8", "uint8", "int16"):
        return
    known: list[Affine] = [op.affine(t, f"tensor {t.index} ({t.name})") for t in tensors if t.quantization is not None]
    if any(affine != known[0] for affine in known[1:]):
        op.refuse("inputs and output have different quantisation")


def _split(op: OpView, x: Tensor, axis: int) -> Steps:
    calls, at = [], 0
    for position in range(len(op.operator.outputs)):
        y = op.output(position)
        movable(op, x, y)
        expected = [*x.shape]
        expected[axis] = y.shape[axis] if len(y.shape) == len(x.shape) else -1
        expect(op, y, expected)
        steps = strides(x.shape)
        calls.append(move(x, y, y.shape, steps, strides(y.shape), at * steps[axis], 0))
        at += y.shape[axis]
    if at != x.shape[axis]:
        op.refuse(f"its outputs have {at} of {x.shape[axis]} along axis {axis}")
    return Steps(tuple(calls))


def _axis_input(op: OpView, position: int, rank: int) -> int:
    values = op.integers(position, "the axis")
    if len(values) != 1:
        op.refuse(f"the axis has {len(values)} values")
    return op.axis(values[0], rank)


def split(op: OpView, config: KernelConfig) -> Lowered:
    """SPLIT: axis, input; equal parts."""
    op.counts((2,), len(op.operator.outputs))
    x = op.input(1)
    return _split(op, x, _axis_input(op, 0, len(x.shape)))


def split_v(op: OpView, config: KernelConfig) -> Lowered:
    """SPLIT_V: input, sizes, axis."""
    op.counts((3,), len(op.operator.outputs))
    x = op.input(0)
    op.integers(1, "the sizes")
    return _split(op, x, _axis_input(op, 2, len(x.shape)))


def pack(op: OpView, config: KernelConfig) -> Lowered:
    """PACK: inputs along a new axis."""
    count = len(op.operator.inputs)
    op.counts((count,))
    y = op.output()
    axis = op.axis(op.option("axis"), len(y.shape)) if y.shape else op.refuse("its output is a scalar")
    calls = []
    for position in range(count):
        x = op.input(position)
        movable(op, y, x)
        expect(op, y, [*x.shape[:axis], count, *x.shape[axis:]])
        steps = strides(y.shape)
        rest = [*steps[:axis], *steps[axis + 1 :]]
        calls.append(move(x, y, x.shape, strides(x.shape), rest, 0, position * steps[axis]))
    return Steps(tuple(calls))


def unpack(op: OpView, config: KernelConfig) -> Lowered:
    """UNPACK: an axis taken apart."""
    count = len(op.operator.outputs)
    op.counts((1,), count)
    x = op.input(0)
    axis = op.axis(op.option("axis"), len(x.shape)) if x.shape else op.refuse("its input is a scalar")
    calls = []
    for position in range(count):
        y = op.output(position)
        movable(op, x, y)
        if list(x.shape) != [*y.shape[:axis], count, *y.shape[axis:]]:
            op.refuse(f"it takes {list(x.shape)} apart into {count} of {list(y.shape)}")
        steps = strides(x.shape)
        rest = [*steps[:axis], *steps[axis + 1 :]]
        calls.append(move(x, y, y.shape, rest, strides(y.shape), position * steps[axis], 0))
    return Steps(tuple(calls))


def transpose(op: OpView, config: KernelConfig) -> Lowered:
    """TRANSPOSE: input, permutation."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    order = op.integers(1, "the permutation")
    if sorted(order) != list(range(len(x.shape))):
        op.refuse(f"the permutation is {list(order)} for {len(x.shape)} axes")
    expect(op, y, [x.shape[axis] for axis in order])
    steps = strides(x.shape)
    return move(x, y, y.shape, [steps[axis] for axis in order], strides(y.shape))


def _pad(op: OpView, value: int | None) -> Lowered:
    x, y = op.input(0), op.output()
    movable(op, x, y)
    pads = op.integers(1, "the paddings")
    if len(pads) != 2 * len(x.shape) or any(not 0 <= pad < 1 << 24 for pad in pads):
        op.refuse(f"the paddings are {list(pads)} for {len(x.shape)} axes")
    expect(op, y, [pads[2 * i] + extent + pads[2 * i + 1] for i, extent in enumerate(x.shape)])
    steps = strides(y.shape)
    start = sum(pads[2 * i] * step for i, step in enumerate(steps))
    if value is None:
        value = op.affine(y, "the output").zero if y.dtype in ("int8", "uint8", "int16") else 0
    return Steps((fill(y, value), move(x, y, x.shape, strides(x.shape), steps, 0, start)))


def pad(op: OpView, config: KernelConfig) -> Lowered:
    """PAD with the stored value of 0."""
    op.counts((2,))
    return _pad(op, None)


def padv2(op: OpView, config: KernelConfig) -> Lowered:
    """PADV2 with a constant."""
    op.counts((3,))
    x, constant = op.input(0), op.input(2)
    op.alike(x, constant)
    if constant.elements != 1:
        op.refuse(f"the value to pad with has shape {list(constant.shape)}")
    stored = op.constant(constant, "the value to pad with", x.dtype).reshape(-1)
    if x.dtype == "float32":
        stored = np.ascontiguousarray(stored).view("<i4")
    return _pad(op, int(stored[0]))


def _slice(op: OpView, x: Tensor, y: Tensor, begin: Sequence[int], counts: Sequence[int], by: Sequence[int]) -> Lowered:
    movable(op, x, y)
    steps = strides(x.shape)
    start = sum(at * step for at, step in zip(begin, steps, strict=True))
    taken = [step * stride for step, stride in zip(steps, by, strict=True)]
    return move(x, y, counts, taken, strides(counts), start, 0)


def slice_(op: OpView, config: KernelConfig) -> Lowered:
    """SLICE: input, begin, size (-1: all the rest)."""
    op.counts((3,))
    x, y = op.input(0), op.output()
    begin, size = op.integers(1, "begin"), op.integers(2, "size")
    if not len(begin) == len(size) == len(x.shape):
        op.refuse(f"begin is {list(begin)} and size {list(size)} for {len(x.shape)} axes")
    counts = [extent - at if count == -1 else count for extent, at, count in zip(x.shape, begin, size, strict=True)]
    if any(at < 0 or n < 1 or at + n > extent for at, n, extent in zip(begin, counts, x.shape, strict=True)):
        op.refuse(f"begin {list(begin)} and size {list(size)} do not fit the shape {list(x.shape)}")
    expect(op, y, counts)
    return _slice(op, x, y, begin, counts, [1] * len(counts))


def strided_slice(op: OpView, config: KernelConfig) -> Lowered:
    """STRIDED_SLICE with masks for begin, end and axes to drop."""
    op.counts((4,))
    x, y = op.input(0), op.output()
    for name in ("ellipsis_mask", "new_axis_mask"):
        if op.option(name):
            op.refuse(f"option {name} is {op.option(name)}")
    if op.operator.options.get("offset"):
        op.refuse("option offset is set")
    begin, end, by = (op.integers(i, role) for i, role in ((1, "begin"), (2, "end"), (3, "the strides")))
    rank = len(x.shape)
    if not len(begin) == len(end) == len(by) or len(begin) > rank:
        op.refuse(f"begin {list(begin)}, end {list(end)} and strides {list(by)} are for {rank} axes")
    starts, counts, steps, kept = [], [], [], []
    for axis, extent in enumerate(x.shape):
        if axis >= len(begin):
            start, count, step = 0, extent, 1
        else:
            start, count, step = _range(op, axis, extent, begin[axis], end[axis], by[axis])
        if count < 1:
            op.refuse(f"nothing is taken along axis {axis}")
        starts.append(start)
        counts.append(count)
        steps.append(step)
        if axis >= len(begin) or not op.option("shrink_axis_mask") >> axis & 1:
            kept.append(count)
    expect(op, y, kept)
    return _slice(op, x, y, starts, counts, steps)


def _range(op: OpView, axis: int, extent: int, begin: int, end: int, by: int) -> tuple[int, int, int]:
    """First index, how many, and the step between them, along an axis."""
    if by == 0:
        op.refuse(f"the stride of axis {axis} is 0")
    low, high = (0, extent) if by > 0 else (-1, extent - 1)

    def place(index: int) -> int:
        return max(low, min(index + extent if index < 0 else index, high))

    start = (0 if by > 0 else extent - 1) if op.option("begin_mask") >> axis & 1 else place(begin)
    if op.option("shrink_axis_mask") >> axis & 1:
        if not 0 <= start < extent:
            op.refuse(f"index {begin} is outside axis {axis} of {extent}")
        return start, 1, 1
    stop = (extent if by > 0 else -1) if op.option("end_mask") >> axis & 1 else place(end)
    return start, math.ceil((stop - start) / by), by


def gather(op: OpView, config: KernelConfig) -> Lowered:
    """GATHER along an axis, with constant indices or computed ones."""
    op.counts((2,))
    x, index, y = op.input(0), op.input(1), op.output()
    movable(op, x, y)
    op.types(("int8", "int16", "int32"), index)
    rank = len(x.shape)
    axis = op.axis(op.option("axis"), rank)
    batch = op.option("batch_dims")
    if batch < 0:
        batch += len(index.shape)
    if not 0 <= batch <= min(axis, len(index.shape)) or x.shape[:batch] != index.shape[:batch]:
        op.refuse(f"option batch_dims is {op.option('batch_dims')}")
    if index.data is not None:
        values = op.constant(index, "the indices", index.dtype)
        if values.size and not (int(values.min()) >= 0 and int(values.max()) < x.shape[axis]):
            op.refuse(f"an index is outside axis {axis} of {x.shape[axis]}")
    expect(op, y, [*x.shape[:axis], *index.shape[batch:], *x.shape[axis + 1 :]])
    return Call(
        GATHER,
        {
            "batches": math.prod(x.shape[:batch]),
            "outer": math.prod(x.shape[batch:axis]),
            "extent": x.shape[axis],
            "count": math.prod(index.shape[batch:]),
            "bytes": math.prod(x.shape[axis + 1 :]) * element_bytes(x),
            "index_bits": 8 * element_bytes(index),
        },
        inputs=(x.index, index.index),
        outputs=(y.index,),
    )


def resize_nearest_neighbor(op: OpView, config: KernelConfig) -> Lowered:
    """RESIZE_NEAREST_NEIGHBOR: input, size."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    batches, in_h, in_w, channels = op.shape4(x, "the input")
    out_h, out_w = sizes(op, batches, channels)
    options = bool(op.option("align_corners")), bool(op.option("half_pixel_centers"))
    return Call(
        PICK,
        {
            "batches": batches,
            "in_h": in_h,
            "in_w": in_w,
            "out_h": out_h,
            "out_w": out_w,
            "bytes": channels * element_bytes(x),
            "rows": Array("rows", "int16_t", _nearest(in_h, out_h, *options)),
            "columns": Array("columns", "int16_t", _nearest(in_w, out_w, *options)),
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def sizes(op: OpView, batches: int, channels: int) -> tuple[int, int]:
    """Height and width that a resizing operator asks for, checked against its output."""
    values = op.integers(1, "the size")
    if len(values) != 2 or any(not 1 <= value <= 32767 for value in values):
        op.refuse(f"the size is {list(values)}")
    if any(not extent <= 32767 for extent in op.input(0).shape):
        op.refuse(f"the input has shape {list(op.input(0).shape)}")
    expect(op, op.output(), [batches, *values, channels])
    return values[0], values[1]


def _nearest(extent: int, outputs: int, align: bool, centres: bool) -> NDArray[np.int16]:
    single = np.float32
    scale = single(extent - 1) / single(outputs - 1) if align and outputs > 1 else single(extent) / single(outputs)
    place = (np.arange(outputs, dtype=single) + single(0.5 if centres else 0.0)) * scale
    nearest = np.floor(place + single(0.5)) if align else np.floor(place)
    rows: NDArray[np.int16] = np.clip(nearest, 0, extent - 1).astype(np.int16)
    return rows
