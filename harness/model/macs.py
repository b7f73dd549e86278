"""Multiply-accumulates of an operator, from its shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

Shape = tuple[int, ...]


def operator_macs(name: str, inputs: Sequence[Shape | None], outputs: Sequence[Shape]) -> int:
    """How many multiply-accumulates an operator does with the textbook algorithm, borders counted in full.

    Args:
        name: builtin name.
        inputs: shapes of the inputs in order; None where an optional one is left out.
        outputs: shapes of the outputs.

    Returns 0 for operators that do none, and when the shapes do not have the ranks the operator needs.
    """
    weights = inputs[1] if len(inputs) > 1 else None
    if weights is None or not outputs:
        return 0
    produced = math.prod(outputs[0])
    if name == "CONV_2D" and len(weights) == 4:
        return produced * math.prod(weights[1:])
    if name == "DEPTHWISE_CONV_2D" and len(weights) == 4:
        return produced * weights[1] * weights[2]
    if name == "FULLY_CONNECTED" and len(weights) == 2:
        return produced * weights[1]
    return 0
