"""Random operators that rearrange blocks, repeat or mirror."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.engines.batch import Batch

_ALL = ("int16", "int32", "float32")
WIDER: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), ("float32",)),
    **dict.fromkeys(("MIRROR_PAD",), ("float32",)),
    **dict.fromkeys(("REVERSE_V2", "BROADCAST_TO"), _ALL),
    "FILL": ("int32", "float32"),
}
"""Element types that tflite-micro moves, besides int8."""


def _like(b: Batch, name: str) -> tuple[float | None, int, str]:
    dtype = b.choice(WIDER[name]) if b.integer(0, 2) == 0 else "int8"
    if dtype in ("int8", "int16"):
        return b.scale(), b.zero() if dtype == "int8" else 0, dtype
    return None, 0, dtype


def batches(b: Batch, name: str) -> None:
    """Blocks into batches, or back."""
    like = _like(b, name)
    count, channels = b.integer(1, 2), b.integer(1, 4)
    block = [b.integer(1, 3) for _ in range(b.choice((1, 2, 2)))]
    small = [b.integer(1, 4) for _ in block]
    edges = []
    for size, extent in zip(block, small, strict=True):
        whole = size * extent
        before = b.integer(0, min(2, whole - 1))
        edges += [before, b.integer(0, min(2, whole - 1 - before))]
    large = [
        size * extent - edges[2 * axis] - edges[2 * axis + 1]
        for axis, (size, extent) in enumerate(zip(block, small, strict=True))
    ]
    many = [count * int(np.prod(block)), *small, channels]
    wide = [count, *large, channels]
    shapes = (wide, many) if name == "SPACE_TO_BATCH_ND" else (many, wide)
    constants = [b.integers(block), b.integers(edges, [len(block), 2])]
    b.model.operator(name, [b.input(shapes[0], *like), *constants], [b.output(shapes[1], *like)])


def depth(b: Batch, name: str) -> None:
    """Blocks into channels, or back."""
    like, size = _like(b, name), b.integer(1, 3)
    count, height, width, channels = b.integer(1, 2), b.integer(1, 4), b.integer(1, 4), b.integer(1, 4)
    wide, deep = [count, height * size, width * size, channels], [count, height, width, channels * size * size]
    shapes = (wide, deep) if name == "SPACE_TO_DEPTH" else (deep, wide)
    b.model.operator(name, [b.input(shapes[0], *like)], [b.output(shapes[1], *like)], block_size=size)


def reverse(b: Batch) -> None:
    shape, like = b.shape(4), _like(b, "REVERSE_V2")
    first = b.integer(0, len(shape) - 1)
    # tflite-micro wants axes that lie side by side.
    axes = list(range(first, b.integer(first, len(shape) - 1) + 1))
    b.model.operator("REVERSE_V2", [b.input(shape, *like), b.integers(axes)], [b.output(shape, *like)])


def broadcast(b: Batch) -> None:
    whole, like = b.shape(4), _like(b, "BROADCAST_TO")
    part = [extent if b.integer(0, 1) else 1 for extent in whole][b.integer(0, len(whole) - 1) :]
    b.model.operator("BROADCAST_TO", [b.input(part, *like), b.integers(whole)], [b.output(whole, *like)])


def fill(b: Batch) -> None:
    shape, like = b.shape(4), _like(b, "FILL")
    if b.integer(0, 1):
        value = b.input([], *like)
    else:
        data = np.array(b.integer(0, 100), np.dtype(like[2])).tobytes()
        value = b.model.tensor([], like[2], scale=like[0], zero_point=like[1], data=data)
    b.model.operator("FILL", [b.integers(shape), value], [b.output(shape, *like)])


def mirror_pad(b: Batch) -> None:
    shape, like, mode = b.shape(4), _like(b, "MIRROR_PAD"), b.integer(0, 1)
    pads = [b.integer(0, min(3, extent - (1 - mode))) for extent in shape for _ in range(2)]
    target = [pads[2 * axis] + extent + pads[2 * axis + 1] for axis, extent in enumerate(shape)]
    inputs = [b.input(shape, *like), b.integers(pads, [len(shape), 2])]
    b.model.operator("MIRROR_PAD", inputs, [b.output(target, *like)], mode=mode)


KINDS: Mapping[str, Callable[[Batch], None]] = {
    **{name: partial(batches, name=name) for name in ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")},
    **{name: partial(depth, name=name) for name in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")},
    "BROADCAST_TO": broadcast,
    "FILL": fill,
    "MIRROR_PAD": mirror_pad,
    "REVERSE_V2": reverse,
}
