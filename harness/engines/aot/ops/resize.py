"""RESIZE_BILINEAR."""

from __future__ import annotations

import numpy as np

from harness.engines.aot.lowering import Array, Call, Kernel, KernelConfig, Lowered, OpView
from harness.engines.aot.ops.layout import sizes

BILINEAR = Kernel("nn_resize_bilinear", "nn_resize_t", "nn_resize.h", "nn_resize.c")
ONE = 1 << 10
"""A pixel, in fixed point."""
MAX_EXTENT = 1 << 14


def resize_bilinear(op: OpView, config: KernelConfig) -> Lowered:
    """RESIZE_BILINEAR: input, size."""
    op.counts((2,))
    x, y = op.input(0), op.output()
    op.int8(x, y)
    batches, in_h, in_w, channels = op.shape4(x, "the input")
    out_h, out_w = sizes(op, batches, channels)
    if max(in_h, in_w, out_h, out_w) > MAX_EXTENT:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    options = bool(op.option("align_corners")), bool(op.option("half_pixel_centers"))
    return Call(
        BILINEAR,
        {
            "batches": batches,
            "in_h": in_h,
            "in_w": in_w,
            "out_h": out_h,
            "out_w": out_w,
            "channels": channels,
            **_places("row", in_h, out_h, *options),
            **_places("column", in_w, out_w, *options),
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def _places(name: str, extent: int, outputs: int, align: bool, centres: bool) -> dict[str, Array]:
    """For each output along an axis: the inputs below and above it, and how far it is from the lower one."""
    scale = (ONE * extent + outputs // 2) // outputs
    if align and outputs > 1:
        scale = (ONE * (extent - 1) + (outputs - 1) // 2) // (outputs - 1)
    place = np.arange(outputs, dtype=np.int64) * scale
    if centres:
        place += scale // 2 - ONE // 2
    low = np.clip(place // ONE, 0, extent - 1)
    high = np.minimum((place + ONE - 1) // ONE, extent - 1)
    parts = {"low": low, "high": np.maximum(high, 0), "part": place - low * ONE}
    return {
        f"{name}_{part}": Array(f"{name}_{part}", "int16_t", values.astype(np.int16)) for part, values in parts.items()
    }
