"""The kernels' integer arithmetic over whole tables, which are computed when code is generated.

The algorithms are those of gemmlowp's fixed-point header, as TensorFlow Lite's kernels use them. Qm.n has m integer and
n fractional bits beside the sign. Values are arrays of int64 that hold what the kernels hold in 32 (or 16) bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
INT32_MAX = (1 << 31) - 1
INT32_MIN = -(1 << 31)


def wrap32(value: Values) -> Values:
    """Values modulo 2**32, as int32."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def saturate32(value: Values) -> Values:
    """The nearest int32 of each."""
    return np.clip(value, INT32_MIN, INT32_MAX)


def _truncated(total: Values, places: int) -> Values:
    """total / 2**places, towards 0."""
    return np.where(total >= 0, total >> places, -(-total >> places))


def high_mul(a: Values, b: Values | int, bits: int = 32) -> Values:
    """The upper half of 2*a*b for numbers of 32 or 16 bits, rounded to nearest, saturated."""
    least = -(1 << (bits - 1))
    product = a * b
    half = 1 << (bits - 2)
    total = product + np.where(product >= 0, half, 1 - half)
    result = _truncated(total, bits - 1)
    return np.where((a == least) & (np.asarray(b) == least), -least - 1, result)


def divide_by_power(value: Values, exponent: int) -> Values:
    """value / 2**exponent, rounded to nearest, ties away from zero."""
    if exponent == 0:
        return value
    mask = (1 << exponent) - 1
    return (value >> exponent) + ((value & mask) > (mask >> 1) + (value < 0))


def scale(value: Values, multiplier: int, shift: int) -> Values:
    """value * multiplier * 2**(shift - 31), rounded after the multiplication and after the shift."""
    if shift > 0:
        return high_mul(wrap32(value << shift), multiplier)
    return divide_by_power(high_mul(value, multiplier), -shift)


def shift_up(value: Values, exponent: int) -> Values:
    """value * 2**exponent, saturated."""
    return saturate32(value << exponent)


def exp_of_negative(value: Values, integer_bits: int) -> Values:
    """exp(value) for value <= 0 with `integer_bits` integer bits; the result is Q0.31."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    small = (value & (quarter - 1)) - quarter
    result = _exp_of_small(wrap32(small << integer_bits))
    rest = small - value
    powers = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
    for place, power in enumerate(powers):
        exponent = place - 2
        if integer_bits > exponent:
            result = np.where(rest & (1 << (fraction_bits + exponent)), high_mul(result, power), result)
    if integer_bits > 5:
        result = np.where(value < -(1 << (fraction_bits + 5)), 0, result)
    return np.where(value == 0, INT32_MAX, result)


def _exp_of_small(value: Values) -> Values:
    """exp(x) for x in [-1/4, 0), Q0.31: a Taylor polynomial of degree 4 around -1/8."""
    center, third = 1895147668, 715827883
    t = value + (1 << 28)
    t2 = high_mul(t, t)
    t3 = high_mul(t2, t)
    t4 = high_mul(t2, t2)
    tail = high_mul(divide_by_power(t4, 2) + t3, third)
    series = divide_by_power(tail + t2, 1)
    return saturate32(center + high_mul(t + series, center))


def _half_sum(a: Values, b: int) -> Values:
    total = a + b
    return _truncated(total + np.where(total >= 0, 1, -1), 1)


def _newton(half_denominator: Values) -> Values:
    """1 / half_denominator in Q2.29, for a half denominator of Q0.31 in [1/2, 1]."""
    guess = 1515870810 + high_mul(half_denominator, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_mul(half_denominator, guess)
        guess = wrap32(guess + shift_up(high_mul(guess, error), 2))
    return guess


def reciprocal_of_one_plus(value: Values) -> Values:
    """1 / (1 + x) for x in [0, 1), Q0.31."""
    return shift_up(_newton(_half_sum(value, INT32_MAX)), 1)


def one_minus_over_one_plus(value: Values) -> Values:
    """(1 - x) / (1 + x) for x in [0, 1), Q0.31."""
    return shift_up(_newton(_half_sum(value, INT32_MAX)) - (1 << 29), 2)


def logistic(value: Values, integer_bits: int) -> Values:
    """1 / (1 + exp(-x)), Q0.31."""
    result = reciprocal_of_one_plus(exp_of_negative(-abs(value), integer_bits))
    return np.where(value == 0, 1 << 30, np.where(value > 0, result, INT32_MAX - result))


def tanh(value: Values, integer_bits: int) -> Values:
    """tanh(x), Q0.31."""
    # exp(-2|x|): the doubling is one more integer bit.
    result = one_minus_over_one_plus(exp_of_negative(-abs(value), integer_bits + 1))
    return np.where(value == 0, 0, np.where(value < 0, -result, result))
