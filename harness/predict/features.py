"""What the cost of an operator is proportional to: work, results, bytes and steps, counted from its shapes.

Version 1 of the features; a change of what they count is another version, and fits of another one are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from harness.model.operators import OperatorFacts

VERSION = 1
CONSTANT = "constant"
MEANING: Mapping[str, str] = MappingProxyType(
    {
        "work": "multiply-accumulates; for pooling the elements compared or added",
        "outputs": "elements of the outputs, each scaled and clamped once",
        "windowed": "the part of the work that is done on gathered windows, larger than one pixel",
        "moved": "bytes of activations: those gathered into windows; for copies those read and written",
        "steps": "positions of the window, or rows",
        CONSTANT: "one an operator: calls and set-up",
    }
)
"""Features by name. Coefficients are cycles for one of them."""

_CONV = ("work", "windowed", "outputs", "moved", "steps", CONSTANT)
_ROWS = ("work", "outputs", "steps", CONSTANT)
FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CONV_2D": _CONV,
        "TRANSPOSE_CONV": _CONV,
        "DEPTHWISE_CONV_2D": _ROWS,
        "AVERAGE_POOL_2D": _ROWS,
        "MAX_POOL_2D": _ROWS,
        "FULLY_CONNECTED": _ROWS,
        "BATCH_MATMUL": _ROWS,
    }
)
"""The features of the operators that have work; every other has `PLAIN`."""
PLAIN = ("outputs", "moved", CONSTANT)
POOLS = frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D"})


def names_of(op: str) -> tuple[str, ...]:
    """The features that a kind of operator has."""
    return FEATURES.get(op, PLAIN)


def kind_of(facts: OperatorFacts) -> str:
    """What shares coefficients: one operator run by the same kernels, or on one element type where none are known."""
    return f"{facts.op}/{'+'.join(facts.kernels) or facts.dtype or 'none'}"


def family_of(kind: str) -> str:
    """Kinds whose coefficients are alike: `products`, `pools`, or empty for those that have none alike."""
    op = kind.split("/")[0]
    return "pools" if op in POOLS else "products" if op in FEATURES else ""


def features(facts: OperatorFacts) -> dict[str, float]:
    """The features of one operator by name; those that its kind has."""
    work = float(_work(facts))
    values = {
        "work": work,
        "windowed": work if facts.window != (1, 1) else 0.0,
        "outputs": float(sum(math.prod(shape) for shape in facts.outputs)),
        "moved": float(_moved(facts)),
        "steps": float(math.prod(facts.outputs[0][:-1])) if facts.outputs else 0.0,
        CONSTANT: 1.0,
    }
    return {name: values[name] for name in names_of(facts.op)}


def _work(facts: OperatorFacts) -> int:
    # Kernels of these skip what lies outside the image; convolutions gather zero points there and multiply them.
    return _taps(facts) if facts.op == "DEPTHWISE_CONV_2D" or facts.op in POOLS else facts.macs


def _taps(facts: OperatorFacts) -> int:
    """Taps of all windows that lie inside the image, times channels."""
    if len(facts.inputs) != 1 or len(facts.inputs[0]) != 4 or not facts.outputs or len(facts.outputs[0]) != 4:
        return facts.macs
    (_, in_h, in_w, _), (batches, out_h, out_w, channels) = facts.inputs[0], facts.outputs[0]
    rows = _inside(in_h, out_h, facts.window[0], facts.stride[0], facts.dilation[0], facts.padding)
    columns = _inside(in_w, out_w, facts.window[1], facts.stride[1], facts.dilation[1], facts.padding)
    return batches * rows * columns * channels


def _inside(extent: int, positions: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Taps inside an extent, over all positions of a one-dimensional window; padding as TFLite computes it."""
    reach = (kernel - 1) * dilation + 1
    before = max((positions - 1) * stride + reach - extent, 0) // 2 if padding == "SAME" else 0
    total = 0
    for tap in range(kernel):
        # Positions p with 0 <= p * stride - before + tap * dilation < extent.
        first = max(0, -((tap * dilation - before) // stride)) if stride else 0
        last = min(positions - 1, (extent - 1 - tap * dilation + before) // stride) if stride else -1
        total += max(0, last - first + 1)
    return total


def _moved(facts: OperatorFacts) -> int:
    if facts.op in FEATURES:
        # A window of one pixel is read where it lies; larger ones are gathered first, once for all output channels.
        channels = facts.outputs[0][-1] if facts.outputs and facts.outputs[0] else 0
        return facts.macs // channels if facts.window != (1, 1) and channels else 0
    return facts.input_bytes + facts.output_bytes
