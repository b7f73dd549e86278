"""Blocks of tensors as nested loops, with as few loops as will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.engines.aot.lowering import Call, Kernel
from harness.model.types import Tensor

LOOPS = 7
"""Loops around the innermost one that kernels have room for."""
MOVE = Kernel("nn_move", "nn_move_t", "nn_move.h", "nn_move.c")
FILL = Kernel("nn_fill", "nn_fill_t", "nn_move.h", "nn_move.c")


def strides(shape: Sequence[int]) -> list[int]:
    """Elements from one index to the next, along each axis."""
    out = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        out[axis] = out[axis + 1] * shape[axis + 1]
    return out


def nested(extents: Sequence[int], *steps: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Join loops that can be one, outermost first; at least one is left. Steps are those of each operand."""
    out: list[int] = []
    joined: list[list[int]] = [[] for _ in steps]
    for axis, extent in enumerate(extents):
        if extent == 1:
            continue
        here = [operand[axis] for operand in steps]
        if out and all(before[-1] == step * extent for before, step in zip(joined, here, strict=True)):
            out[-1] *= extent
            for before, step in zip(joined, here, strict=True):
                before[-1] = step
        else:
            out.append(extent)
            for before, step in zip(joined, here, strict=True):
                before.append(step)
    if not out:
        return [1], [[0] for _ in steps]
    return out, joined


def element_bytes(tensor: Tensor) -> int:
    """Bytes of an element of a tensor that is not empty."""
    return tensor.nbytes // tensor.elements


def move(
    source: Tensor,
    target: Tensor,
    extents: Sequence[int],
    source_steps: Sequence[int],
    target_steps: Sequence[int],
    source_start: int = 0,
    target_start: int = 0,
) -> Call:
    """Move a block; extents, steps and starts are in elements."""
    width = element_bytes(source)
    loops, (from_steps, to_steps) = nested(extents, source_steps, target_steps)
    size = width
    if from_steps[-1] == to_steps[-1] == 1 or loops == [1]:
        # The innermost loop is one piece of memory; the next one out becomes the row.
        size = width * loops.pop()
        from_steps.pop()
        to_steps.pop()
    count, row_from, row_to = loops.pop() if loops else 1, 0, 0
    if from_steps:
        row_from, row_to = from_steps.pop(), to_steps.pop()
    fields: dict[str, Any] = {
        "outer": len(loops),
        "extent": tuple(loops),
        "from_step": tuple(step * width for step in from_steps),
        "to_step": tuple(step * width for step in to_steps),
        "count": count,
        "bytes": size,
        "from_stride": row_from * width,
        "to_stride": row_to * width,
        "from_start": source_start * width,
        "to_start": target_start * width,
    }
    return Call(MOVE, fields, inputs=(source.index,), outputs=(target.index,))


def fill(target: Tensor, value: int) -> Call:
    """Give every element of a tensor the stored value."""
    fields: Mapping[str, Any] = {"count": target.elements, "width": element_bytes(target), "value": value}
    return Call(FILL, fields, inputs=(), outputs=(target.index,))
