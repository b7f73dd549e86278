"""Operators that rearrange blocks of a tensor, repeat or mirror it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from harness.engines.aot.lowering import Call, KernelConfig, Lowered, OpView, Steps
from harness.engines.aot.ops.layout import expect, movable
from harness.engines.aot.ops.shapes import fill, move, strides
from harness.model.types import Tensor

MAX_BLOCKS = 64
"""Pieces of one operator; each is a call."""
REFLECT, SYMMETRIC = 0, 1


def space_to_batch_nd(op: OpView, config: KernelConfig) -> Lowered:
    """SPACE_TO_BATCH_ND: input, block, paddings.

    What is padded gets the stored value of 0; with tflite-micro it is stored as 0, whatever the zero point.
    """
    op.counts((3,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    block, pads = _block(op, x, "the paddings")
    padded = [extent + sum(pads[2 * axis : 2 * axis + 2]) for axis, extent in enumerate(x.shape[1 : 1 + len(block)])]
    if any(extent % size for extent, size in zip(padded, block, strict=True)):
        op.refuse(f"blocks of {list(block)} do not divide {padded}")
    small = [extent // size for extent, size in zip(padded, block, strict=True)]
    expect(op, y, [x.shape[0] * math.prod(block), *small, *x.shape[1 + len(block) :]])
    calls = _blocks(x, y, block, pads[::2], into_batches=True)
    quantised = y.dtype in ("int8", "uint8", "int16") and config.rounding != "tflm"
    zero = op.affine(y, "the output").zero if quantised else 0
    return Steps((fill(y, zero), *calls) if any(pads) else calls)


def batch_to_space_nd(op: OpView, config: KernelConfig) -> Lowered:
    """BATCH_TO_SPACE_ND: input, block, crops."""
    op.counts((3,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    block, crops = _block(op, x, "the crops")
    if x.shape[0] % math.prod(block):
        op.refuse(f"blocks of {list(block)} do not divide {x.shape[0]} batches")
    large = [
        extent * size - sum(crops[2 * axis : 2 * axis + 2])
        for axis, (extent, size) in enumerate(zip(x.shape[1 : 1 + len(block)], block, strict=True))
    ]
    expect(op, y, [x.shape[0] // math.prod(block), *large, *x.shape[1 + len(block) :]])
    return Steps(_blocks(y, x, block, crops[::2], into_batches=False))


def _block(op: OpView, x: Tensor, role: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    block, edges = op.integers(1, "the block"), op.integers(2, role)
    if not 1 <= len(block) < len(x.shape) or any(size < 1 for size in block) or math.prod(block) > MAX_BLOCKS:
        op.refuse(f"the block is {list(block)} for shape {list(x.shape)}")
    if len(edges) != 2 * len(block) or any(not 0 <= edge < 1 << 24 for edge in edges):
        op.refuse(f"{role} are {list(edges)} for {len(block)} axes")
    return block, edges


def _blocks(
    large: Tensor, small: Tensor, block: Sequence[int], before: Sequence[int], *, into_batches: bool
) -> tuple[Call, ...]:
    """One move for each place within a block, between the tensor of wide space and the one of many batches."""
    wide, many = strides(large.shape), strides(small.shape)
    axes = range(1, 1 + len(block))
    rest = range(1 + len(block), len(large.shape))
    calls = []
    for number, offsets in enumerate(itertools.product(*map(range, block))):
        firsts, counts, start = [], [], 0
        for axis, size, offset, lead in zip(axes, block, offsets, before, strict=True):
            first = max(0, -(-(lead - offset) // size))
            place = first * size + offset - lead
            firsts.append(first)
            counts.append(max(0, min(small.shape[axis] - first, -(-(large.shape[axis] - place) // size))))
            start += wide[axis] * place
        if not all(counts):
            continue
        extents = [large.shape[0], *counts, *(large.shape[axis] for axis in rest)]
        wide_steps = [wide[0], *(wide[axis] * size for axis, size in zip(axes, block, strict=True))]
        wide_steps += [wide[axis] for axis in rest]
        at = number * large.shape[0] * many[0] + sum(many[a] * f for a, f in zip(axes, firsts, strict=True))
        if into_batches:
            calls.append(move(large, small, extents, wide_steps, many, start, at))
        else:
            calls.append(move(small, large, extents, many, wide_steps, at, start))
    return tuple(calls)


def space_to_depth(op: OpView, config: KernelConfig) -> Lowered:
    """SPACE_TO_DEPTH."""
    op.counts((1,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    return _depth(op, x, y, into_depth=True)


def depth_to_space(op: OpView, config: KernelConfig) -> Lowered:
    """DEPTH_TO_SPACE."""
    op.counts((1,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    return _depth(op, y, x, into_depth=False)


def _depth(op: OpView, large: Tensor, deep: Tensor, *, into_depth: bool) -> Lowered:
    size = op.positive("block_size")
    batches, height, width, channels = op.shape4(large, "the wide tensor")
    if list(deep.shape) != [batches, height // size, width // size, channels * size * size] or (
        height % size or width % size
    ):
        op.refuse(f"blocks of {size} do not bring {list(op.input(0).shape)} to {list(op.output().shape)}")
    wide, far = strides(large.shape), strides(deep.shape)
    extents = [batches, deep.shape[1], size, deep.shape[2], size, channels]
    wide_steps = [wide[0], size * wide[1], wide[1], size * wide[2], wide[2], 1]
    deep_steps = [far[0], far[1], size * channels, far[2], channels, 1]
    if into_depth:
        return move(large, deep, extents, wide_steps, deep_steps)
    return move(deep, large, extents, deep_steps, wide_steps)


def reverse_v2(op: OpView, config: KernelConfig) -> Lowered:
    """REVERSE_V2: input, axes."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    expect(op, y, x.shape)
    axes = {op.axis(axis, len(x.shape)) for axis in op.integers(1, "the axes")}
    steps = strides(x.shape)
    start = sum((x.shape[axis] - 1) * steps[axis] for axis in axes)
    turned = [-step if axis in axes else step for axis, step in enumerate(steps)]
    return move(x, y, x.shape, turned, steps, start, 0)


def broadcast_to(op: OpView, config: KernelConfig) -> Lowered:
    """BROADCAST_TO: input, shape."""
    op.counts((2,))
    op.integers(1, "the shape")
    return _repeated(op, op.input(0))


def fill_(op: OpView, config: KernelConfig) -> Lowered:
    """FILL: shape, a value that is constant or computed."""
    op.counts((2,))
    op.integers(0, "the shape")
    if op.input(1).elements != 1:
        op.refuse(f"the value has shape {list(op.input(1).shape)}")
    return _repeated(op, op.input(1))


def _repeated(op: OpView, x: Tensor) -> Lowered:
    y = op.output()
    movable(op, x, y)
    shape = (1,) * (len(y.shape) - len(x.shape)) + x.shape
    if len(shape) != len(y.shape) or any(n not in (1, whole) for n, whole in zip(shape, y.shape, strict=True)):
        op.refuse(f"it repeats {list(x.shape)} to {list(y.shape)}")
    steps = [0 if extent == 1 else step for extent, step in zip(shape, strides(shape), strict=True)]
    return move(x, y, y.shape, steps, strides(y.shape))


def mirror_pad(op: OpView, config: KernelConfig) -> Lowered:
    """MIRROR_PAD: input, paddings; the edge is repeated when SYMMETRIC."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    movable(op, x, y)
    mode = op.option("mode")
    if mode not in (REFLECT, SYMMETRIC):
        op.refuse(f"option mode is {mode}")
    pads = op.integers(1, "the paddings")
    inner = 0 if mode == SYMMETRIC else 1
    if len(pads) != 2 * len(x.shape) or any(
        not 0 <= pad <= x.shape[position // 2] - inner for position, pad in enumerate(pads)
    ):
        op.refuse(f"the paddings are {list(pads)} for shape {list(x.shape)}")
    expect(op, y, [pads[2 * axis] + n + pads[2 * axis + 1] for axis, n in enumerate(x.shape)])
    parts = [
        [part for part in _mirrored(n, pads[2 * axis], pads[2 * axis + 1], inner) if part[2]]
        for axis, n in enumerate(x.shape)
    ]
    if math.prod(map(len, parts)) > 2 * MAX_BLOCKS:
        op.refuse(f"it pads {len(x.shape)} axes")
    from_steps, to_steps = strides(x.shape), strides(y.shape)
    calls = []
    for pieces in itertools.product(*parts):
        taken = [step * way for step, (_, _, _, way) in zip(from_steps, pieces, strict=True)]
        start = sum(step * piece[0] for step, piece in zip(from_steps, pieces, strict=True))
        target = sum(step * piece[1] for step, piece in zip(to_steps, pieces, strict=True))
        calls.append(move(x, y, [piece[2] for piece in pieces], taken, to_steps, start, target))
    return Steps(tuple(calls))


def _mirrored(extent: int, before: int, after: int, inner: int) -> tuple[tuple[int, int, int, int], ...]:
    """(first index of the input, first of the output, how many, +1 or -1) of the parts along an axis."""
    return (
        (before - 1 + inner, 0, before, -1),
        (0, before, extent, 1),
        (extent - 1 - inner, before + extent, after, -1),
    )
