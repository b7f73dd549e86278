"""RESHAPE."""

from __future__ import annotations

from harness.engines.aot.lowering import KernelConfig, OpView, View


def reshape(op: OpView, config: KernelConfig) -> View:
    """RESHAPE: another view of the same bytes."""
    op.counts((1, 2))
    x, y = op.input(0), op.output()
    if x.dtype != y.dtype or x.nbytes != y.nbytes:
        op.refuse(f"it brings {x.dtype} {list(x.shape)} to {y.dtype} {list(y.shape)}")
    op.int8(x, y)
    return View(x.index, y.index)
