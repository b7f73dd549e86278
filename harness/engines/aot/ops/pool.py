"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from dataclasses import replace

from harness.engines.aot.lowering import Call, Kernel, KernelConfig, OpView, Value
from harness.engines.aot.ops.weighted import output_range
from harness.engines.aot.ops.windows import window

AVERAGE = Kernel("nn_average_pool_2d", "nn_pool_t", "nn_pool.h", "nn_pool.c")
MAX = Kernel("nn_max_pool_2d", "nn_pool_t", "nn_pool.h", "nn_pool.c")
WIDE = {kernel: replace(kernel, function=f"{kernel.function}_16", source="nn_pool_16.c") for kernel in (AVERAGE, MAX)}
MAX_WINDOW = 1 << 15
"""Pixels; sums of int16 stay within 32 bits."""


def _pool(op: OpView, kernel: Kernel) -> Call:
    op.counts((1,))
    x, y = op.input(0), op.output()
    op.types(("int8", "int16"), x, y)
    op.alike(x, y)
    place = window(op, (op.positive("filter_height"), op.positive("filter_width")))
    if place["in_channels"] != place["out_channels"]:
        op.refuse(f"{place['in_channels']} input channels become {place['out_channels']}")
    if y.dtype == "int16":
        kernel = WIDE[kernel]
        if place["kernel_h"] * place["kernel_w"] > MAX_WINDOW:
            op.refuse(f"the window has {place['kernel_h']} x {place['kernel_w']} pixels")
    fields: dict[str, Value] = {"window": place, **output_range(op, op.affine(y, "the output"))}
    return Call(kernel, fields, inputs=(x.index,), outputs=(y.index,))


def average_pool_2d(op: OpView, config: KernelConfig) -> Call:
    """AVERAGE_POOL_2D."""
    return _pool(op, AVERAGE)


def max_pool_2d(op: OpView, config: KernelConfig) -> Call:
    """MAX_POOL_2D."""
    return _pool(op, MAX)
