"""Quantisation arithmetic done once, when code is generated. Formulas are those of TensorFlow Lite's kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_FAR = float(1 << 30)


def fixed_point(factor: float) -> tuple[int, int]:
    """Multiplier and shift with `factor = multiplier * 2**(shift - 31)`; the multiplier is 0 or in [2**30, 2**31).

    Factors below 2**-32 become 0, as in TFLite's QuantizeMultiplier.
    """
    if factor == 0.0:
        return 0, 0
    fraction, shift = math.frexp(factor)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier //= 2
        shift += 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def fixed_points(factors: Iterable[float]) -> tuple[list[int], list[int]]:
    """Multipliers and shifts of many factors."""
    pairs = [fixed_point(factor) for factor in factors]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def round_half_away(value: float) -> int:
    """Nearest integer, ties away from zero, as C's round()."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def round_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Nearest integers, ties away from zero; finite values, those far away brought nearer."""
    values = np.clip(values, -_FAR, _FAR)
    return np.where(values >= 0, np.floor(values + 0.5), np.ceil(values - 0.5)).astype(np.int64)


def activation_range(activation: str, scale: float, zero_point: int, low: int, high: int) -> tuple[int, int]:
    """Stored values an activation function clamps to.

    Args:
        activation: NONE, RELU, RELU6 or RELU_N1_TO_1.
        scale, zero_point: quantisation of the output.
        low, high: range of the output's type.

    Raises:
        KeyError: another activation.
    """

    def stored(real: float) -> int:
        # TFLite divides in single precision. A scale next to 0 gives infinity, which is beyond every stored value.
        with np.errstate(over="ignore"):
            quotient = float(np.float32(real) / np.float32(scale))
        return zero_point + round_half_away(max(-_FAR, min(quotient, _FAR)))

    bounds = {"NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}[activation]
    return (
        low if bounds[0] is None else max(low, stored(bounds[0])),
        high if bounds[1] is None else min(high, stored(bounds[1])),
    )


def window_outputs(padding: str, extent: int, kernel: int, stride: int, dilation: int) -> int:
    """How many windows fit along an axis."""
    effective = (kernel - 1) * dilation + 1
    if padding == "SAME":
        return -(-extent // stride)
    return max(0, -(-(extent - effective + 1) // stride))


def pad_before(extent: int, outputs: int, kernel: int, stride: int, dilation: int) -> int:
    """Elements of padding before the first one of an axis; the rest, one more when uneven, comes after the last."""
    effective = (kernel - 1) * dilation + 1
    return max(0, (outputs - 1) * stride + effective - extent) // 2
