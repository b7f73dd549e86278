"""Resource variables: what a streaming model keeps from one inference to the next."""

from __future__ import annotations

from harness.engines.aot.lowering import Call, KernelConfig, Lowered, OpView, Steps
from harness.engines.aot.ops.layout import MOVABLE
from harness.engines.aot.ops.shapes import MOVE
from harness.model.types import Tensor


def _copy(value: Tensor, source: int, target: int) -> Call:
    fields = {"outer": 0, "count": 1, "bytes": value.nbytes}
    return Call(MOVE, fields, inputs=(source,), outputs=(target,))


def var_handle(op: OpView, config: KernelConfig) -> Lowered:
    """VAR_HANDLE: known when code is generated."""
    op.counts((0,))
    return Steps(())


def call_once(op: OpView, config: KernelConfig) -> Lowered:
    """CALL_ONCE: its assignments are the state after a reset."""
    op.counts((0,), 0)
    return Steps(())


def read_variable(op: OpView, config: KernelConfig) -> Lowered:
    """READ_VARIABLE."""
    op.counts((1,))
    y = op.output()
    op.types(MOVABLE, y)
    return _copy(y, op.cell(op.input(0)).key, y.index)


def assign_variable(op: OpView, config: KernelConfig) -> Lowered:
    """ASSIGN_VARIABLE."""
    op.counts((2,), 0)
    value = op.input(1)
    op.types(MOVABLE, value)
    return _copy(value, value.index, op.cell(op.input(0)).key)
