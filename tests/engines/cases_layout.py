"""Random operators that move elements, and those that keep state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.engines.batch import Batch

_ALL = ("int16", "int32", "float32")
WIDER: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "CONCATENATION", "SPLIT", "SPLIT_V", "PACK", "UNPACK"), _ALL),
    **dict.fromkeys(("PAD", "PADV2", "SLICE", "STRIDED_SLICE"), _ALL),
    **dict.fromkeys(("EXPAND_DIMS", "TRANSPOSE", "RESIZE_NEAREST_NEIGHBOR"), ("int16", "float32")),
    "GATHER": ("float32",),
}
"""Element types that tflite-micro moves, besides int8."""


def _like(b: Batch, name: str) -> tuple[float | None, int, str]:
    """Scale, zero point and element type of tensors that only move."""
    wider = (*_ALL, "uint8") if b.litert and name not in ("PADV2", "RESIZE_BILINEAR") else WIDER.get(name, ())
    dtype = b.choice(wider) if wider and b.integer(0, 2) == 0 else "int8"
    if dtype in ("int8", "int16", "uint8"):
        return b.scale(), {"int8": b.zero(), "uint8": b.integer(0, 255)}.get(dtype, 0), dtype
    return None, 0, dtype


def reshape(b: Batch, name: str = "RESHAPE") -> None:
    shape = b.shape()
    like = _like(b, name)
    x = b.input(shape, *like)
    if name == "RESHAPE":
        target = b.choice(([int(np.prod(shape))], [1, *shape], [*shape[::-1]]))
        y = b.output(target, *like)
        b.model.operator("RESHAPE", [x, b.integers(target)], [y], new_shape=target)
    elif name == "SQUEEZE":
        wide = b.input([1, *shape, 1], *like)
        b.model.operator("SQUEEZE", [wide], [b.output(shape, *like)], squeeze_dims=[0, len(shape) + 1])
    else:
        axis = b.integer(-len(shape) - 1, len(shape))
        target = [*shape]
        target.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
        b.model.operator("EXPAND_DIMS", [x, b.integers([axis], [1])], [b.output(target, *like)])


def concatenation(b: Batch) -> None:
    shape, like = b.shape(), _like(b, "CONCATENATION")
    axis = b.integer(0, len(shape) - 1)
    total, inputs = 0, []
    for _ in range(b.integer(1, 4)):
        part = [*shape]
        part[axis] = b.integer(1, 5)
        total += part[axis]
        inputs.append(b.input(part, *like))
    shape[axis] = total
    y = b.output(shape, *like)
    axis = b.choice((axis, axis - len(shape)))
    b.model.operator("CONCATENATION", inputs, [y], axis=axis, fused_activation_function="NONE")


def split(b: Batch) -> None:
    shape, like = b.shape(), _like(b, "SPLIT")
    axis, count = b.integer(0, len(shape) - 1), b.integer(1, 4)
    part = [*shape]
    shape[axis] *= count
    x = b.input(shape, *like)
    outputs = [b.output(part, *like) for _ in range(count)]
    position = b.integers([b.choice((axis, axis - len(shape)))], [])
    b.model.operator("SPLIT", [position, x], outputs, num_splits=count)


def split_v(b: Batch) -> None:
    shape, like = b.shape(), _like(b, "SPLIT_V")
    axis, sizes = b.integer(0, len(shape) - 1), [b.integer(1, 4) for _ in range(b.integer(1, 4))]
    shape[axis] = sum(sizes)
    x = b.input(shape, *like)
    outputs = [b.output([*shape[:axis], size, *shape[axis + 1 :]], *like) for size in sizes]
    inputs = [x, b.integers(sizes), b.integers([axis], [])]
    b.model.operator("SPLIT_V", inputs, outputs, num_splits=len(sizes))


def pack(b: Batch) -> None:
    shape, like = b.shape(3), _like(b, "PACK")
    count, axis = b.integer(1, 4), b.integer(-len(shape) - 1, len(shape))
    inputs = [b.input(shape, *like) for _ in range(count)]
    target = [*shape]
    target.insert(axis if axis >= 0 else len(shape) + 1 + axis, count)
    b.model.operator("PACK", inputs, [b.output(target, *like)], values_count=count, axis=axis)


def unpack(b: Batch) -> None:
    shape, like = b.shape(4, 2), _like(b, "UNPACK")
    axis = b.integer(-len(shape), len(shape) - 1)
    place = axis % len(shape)
    rest = [*shape[:place], *shape[place + 1 :]]
    outputs = [b.output(rest, *like) for _ in range(shape[place])]
    b.model.operator("UNPACK", [b.input(shape, *like)], outputs, num=shape[place], axis=axis)


def transpose(b: Batch) -> None:
    shape, like = b.shape(5), _like(b, "TRANSPOSE")
    order = [int(axis) for axis in b.draw.permutation(len(shape))]
    y = b.output([shape[axis] for axis in order], *like)
    b.model.operator("TRANSPOSE", [b.input(shape, *like), b.integers(order)], [y])


def pad(b: Batch, name: str) -> None:
    shape, like = b.shape(4), _like(b, name)
    pads = [b.choice((0, 0, 1, 2, 3)) for _ in range(2 * len(shape))]
    x = b.input(shape, *like)
    y = b.output([pads[2 * i] + n + pads[2 * i + 1] for i, n in enumerate(shape)], *like)
    inputs = [x, b.integers(pads, [len(shape), 2])]
    if name == "PADV2":
        value = {"int8": b.draw.bytes(1), "int16": b.draw.bytes(2), "int32": b.draw.bytes(4)}.get(like[2])
        value = value or np.float32(b.draw.normal()).tobytes()
        inputs.append(b.model.tensor([1], like[2], scale=like[0], zero_point=like[1], data=value))
    b.model.operator(name, inputs, [y])


def slice_(b: Batch) -> None:
    shape, like = b.shape(4), _like(b, "SLICE")
    begin = [b.integer(0, n - 1) for n in shape]
    counts = [b.integer(1, n - at) for n, at in zip(shape, begin, strict=True)]
    asked = [
        -1 if at + count == n and b.integer(0, 1) else count for n, at, count in zip(shape, begin, counts, strict=True)
    ]
    inputs = [b.input(shape, *like), b.integers(begin), b.integers(asked)]
    b.model.operator("SLICE", inputs, [b.output(counts, *like)])


def strided_slice(b: Batch) -> None:
    shape, like = b.shape(4), _like(b, "STRIDED_SLICE")
    masks = {name: b.integer(0, 15) if b.integer(0, 2) == 0 else 0 for name in ("begin_mask", "end_mask")}
    shrink = b.integer(0, 15) if b.integer(0, 2) == 0 else 0
    if shrink & ((1 << len(shape)) - 1) == (1 << len(shape)) - 1:
        shrink = 0
    begin, end, by, target = [], [], [], []
    for axis, n in enumerate(shape):
        if shrink >> axis & 1:
            at = b.integer(-n, n - 1)
            begin.append(at)
            end.append(at + 1)
            by.append(1)
            masks["begin_mask"] &= ~(1 << axis)
            continue
        while True:
            step = b.choice((1, 1, 2, 3, -1, -2))
            first, last = b.integer(-n - 2, n + 2), b.integer(-n - 2, n + 2)
            one = None if masks["begin_mask"] >> axis & 1 else first
            two = None if masks["end_mask"] >> axis & 1 else last
            count = len(range(n)[slice(one, two, step)])
            if count:
                break
        begin.append(first)
        end.append(last)
        by.append(step)
        target.append(count)
    inputs = [b.input(shape, *like), b.integers(begin), b.integers(end), b.integers(by)]
    options = {**masks, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": shrink}
    b.model.operator("STRIDED_SLICE", inputs, [b.output(target, *like)], **options)


def gather(b: Batch) -> None:
    shape, like = b.shape(3), _like(b, "GATHER")
    axis = b.integer(0, len(shape) - 1)
    index_shape = b.shape(2)
    count = int(np.prod(index_shape))
    if b.integer(0, 2):
        dtype = b.choice(("int32", "int16")) if b.litert else "int32"
        index = b.integers([b.integer(0, shape[axis] - 1) for _ in range(count)], index_shape, dtype)
    else:
        # Computed ones: where the largest of as many values as there are blocks is.
        index = b.model.tensor(index_shape, "int32")
        scores = b.input([*index_shape, shape[axis]], 0.1)
        b.model.operator("ARG_MAX", [scores, b.integers([len(index_shape)], [1])], [index], output_type=2)
    y = b.output([*shape[:axis], *index_shape, *shape[axis + 1 :]], *like)
    x = b.input(shape, *like)
    b.model.operator("GATHER", [x, index], [y], axis=b.choice((axis, axis - len(shape))), batch_dims=0)


def resize(b: Batch, name: str) -> None:
    batches, height, width, channels = b.integer(1, 2), b.integer(1, 8), b.integer(1, 8), b.integer(1, 5)
    like = _like(b, name)
    size = [b.integer(1, 12), b.integer(1, 12)]
    align, centres = b.choice(((False, False), (True, False), (False, True)))
    x = b.input([batches, height, width, channels], *like)
    y = b.output([batches, *size, channels], *like)
    b.model.operator(name, [x, b.integers(size)], [y], align_corners=align, half_pixel_centers=centres)


def variables(b: Batch) -> None:
    """A delay line: what is kept is joined with the input, the newest part is kept, and all of it comes out."""
    if "init" not in b.children:
        b.children["init"] = b.model.child("init")
        b.model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    init = b.children["init"]
    number = len(b.outputs)
    kept, new, channels = b.integer(1, 4), b.integer(1, 4), b.integer(1, 5)
    scale, zero = b.scale(), b.zero()
    initial = b.draw.bytes(kept * channels) if b.integer(0, 1) else bytes([zero & 255]) * (kept * channels)
    options = {"container": "", "shared_name": f"variable_{number}"}
    handle = init.tensor([], "resource")
    value = init.tensor([1, kept, channels], scale=scale, zero_point=zero, data=initial)
    init.operator("VAR_HANDLE", [], [handle], **options)
    init.operator("ASSIGN_VARIABLE", [handle, value], [])
    handle = b.model.tensor([], "resource")
    b.model.operator("VAR_HANDLE", [], [handle], **options)
    old = b.model.tensor([1, kept, channels], scale=scale, zero_point=zero)
    b.model.operator("READ_VARIABLE", [handle], [old])
    x = b.input([1, new, channels], scale, zero)
    y = b.output([1, kept + new, channels], scale, zero)
    b.model.operator("CONCATENATION", [old, x], [y], axis=1, fused_activation_function="NONE")
    newest = b.model.tensor([1, kept, channels], scale=scale, zero_point=zero)
    numbers = [b.integers(values) for values in ([0, new, 0], [0, 0, 0], [1, 1, 1])]
    masks = {"begin_mask": 5, "end_mask": 7, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
    b.model.operator("STRIDED_SLICE", [y, *numbers], [newest], **masks)
    b.model.operator("ASSIGN_VARIABLE", [handle, newest], [])


def dynamic_reshape(b: Batch) -> None:
    """What converters write for a model whose batch is not fixed: the new shape is computed from the old one."""
    shape, like = [1, *b.shape(3)], _like(b, "RESHAPE")
    rest = int(np.prod(shape))
    x = b.input(shape, *like)
    extents, batch, target = (b.model.tensor(dims, "int32") for dims in ([len(shape)], [], [2]))
    b.model.operator("SHAPE", [x], [extents], out_type=2)
    masks = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 1}
    b.model.operator("STRIDED_SLICE", [extents, b.integers([0]), b.integers([1]), b.integers([1])], [batch], **masks)
    b.model.operator("PACK", [batch, b.integers([rest], [])], [target], values_count=2, axis=0)
    b.model.operator("RESHAPE", [x, target], [b.output([1, rest], *like)], new_shape=[])


KINDS: Mapping[str, Callable[[Batch], None]] = {
    **{name: partial(reshape, name=name) for name in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")},
    **{name: partial(pad, name=name) for name in ("PAD", "PADV2")},
    **{name: partial(resize, name=name) for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")},
    **dict.fromkeys(("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"), variables),
    "CONCATENATION": concatenation,
    "GATHER": gather,
    "PACK": pack,
    "SHAPE": dynamic_reshape,
    "SLICE": slice_,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "STRIDED_SLICE": strided_slice,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
