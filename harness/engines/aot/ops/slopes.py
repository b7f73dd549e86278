"""RELU, RELU6 and LEAKY_RELU: a factor above 0, and another below."""

from __future__ import annotations

from typing import Any

from harness.engines.aot.lowering import Affine, Call, Kernel, KernelConfig, OpView
from harness.engines.aot.ops import tables
from harness.engines.aot.quant import round_half_away

KERNEL = Kernel("nn_slopes_16", "nn_slopes_t", "nn_slopes.h", "nn_slopes.c")
LOW, HIGH = -32768, 32767
ONE = (1 << 30, 1)
"""Multiplier and shift that change nothing."""


def _is_wide(op: OpView) -> bool:
    op.counts((1,))
    return op.input(0).dtype == op.output().dtype == "int16"


def _affines(op: OpView) -> tuple[Affine, Affine]:
    x, y = op.input(0), op.output()
    op.types(("int16",), x, y)
    if x.elements != y.elements:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    return op.affine(x, "the input"), op.affine(y, "the output")


def _call(
    op: OpView, zeros: tuple[int, int], above: tuple[int, int], below: tuple[int, int], low: int, high: int
) -> Call:
    x, y = op.input(0), op.output()
    fields: dict[str, Any] = {
        "count": x.elements,
        "from_zero": zeros[0],
        "to_zero": zeros[1],
        "above": {"multiplier": above[0], "shift": above[1]},
        "below": {"multiplier": below[0], "shift": below[1]},
        "low": low,
        "high": high,
    }
    return Call(KERNEL, fields, inputs=(x.index,), outputs=(y.index,), in_place=(x.index,))


def relu(op: OpView, config: KernelConfig) -> Call:
    """RELU: to the output's scale, and not below 0."""
    if not _is_wide(op):
        return tables.relu(op, config)
    source, target = _affines(op)
    factor = tables.checked_factor(op, tables.single_ratio(source, target))
    return _call(op, (source.zero, target.zero), factor, factor, max(LOW, target.zero), HIGH)


def relu6(op: OpView, config: KernelConfig) -> Call:
    """RELU6: between the stored values of 0 and 6; both tensors have the input's quantisation."""
    if not _is_wide(op):
        return tables.relu6(op, config)
    source, target = _affines(op)
    if source != target:
        op.refuse("input and output have different quantisation")
    six = source.zero + round_half_away(min(tables.six(source.scale), 1e9))
    return _call(op, (0, 0), ONE, ONE, source.zero, max(LOW, min(six, HIGH)))


def leaky_relu(op: OpView, config: KernelConfig) -> Call:
    """LEAKY_RELU."""
    if not _is_wide(op):
        return tables.leaky_relu(op, config)
    source, target = _affines(op)
    above, below = tables.leaky_factors(op, source, target)
    return _call(op, (source.zero, target.zero), above, below, LOW, HIGH)
