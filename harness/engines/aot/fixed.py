"""The kernels' integer arithmetic, for tables that are computed when code is generated.

The algorithms are those of gemmlowp's fixed-point header, as TensorFlow Lite's kernels use them. Qm.n has m integer and
n fractional bits beside the sign.
"""

from __future__ import annotations

INT32_MAX = (1 << 31) - 1
INT32_MIN = -(1 << 31)


def wrap32(value: int) -> int:
    """A value modulo 2**32, as int32."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def saturate32(value: int) -> int:
    """The nearest int32."""
    return max(INT32_MIN, min(value, INT32_MAX))


def high_mul(a: int, b: int, bits: int = 32) -> int:
    """The upper half of 2*a*b for numbers of 32 or 16 bits, rounded to nearest, saturated."""
    least = -(1 << (bits - 1))
    if a == b == least:
        return -least - 1
    product = a * b
    half = 1 << (bits - 2)
    nudge = half if product >= 0 else 1 - half
    total = product + nudge
    places = bits - 1
    # The division truncates.
    return total >> places if total >= 0 else -(-total >> places)


def divide_by_power(value: int, exponent: int) -> int:
    """value / 2**exponent, rounded to nearest, ties away from zero."""
    if exponent == 0:
        return value
    mask = (1 << exponent) - 1
    return (value >> exponent) + ((value & mask) > (mask >> 1) + (value < 0))


def scale(value: int, multiplier: int, shift: int) -> int:
    """value * multiplier * 2**(shift - 31), rounded after the multiplication and after the shift."""
    if shift > 0:
        return high_mul(wrap32(value << shift), multiplier)
    return divide_by_power(high_mul(value, multiplier), -shift)


def scale_once(value: int, multiplier: int, shift: int) -> int:
    """value * multiplier * 2**(shift - 31), rounded once, ties upwards."""
    places = 31 - shift
    return (value * multiplier + (1 << (places - 1))) >> places


def shift_up(value: int, exponent: int) -> int:
    """value * 2**exponent, saturated."""
    return saturate32(value << exponent)


def exp_of_negative(value: int, integer_bits: int) -> int:
    """exp(value) for value <= 0 with `integer_bits` integer bits; the result is Q0.31."""
    if value == 0:
        return INT32_MAX
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    small = (value & (quarter - 1)) - quarter
    result = _exp_of_small(wrap32(small << integer_bits))
    rest = small - value
    powers = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
    for place, power in enumerate(powers):
        exponent = place - 2
        if integer_bits > exponent and rest & (1 << (fraction_bits + exponent)):
            result = high_mul(result, power)
    if integer_bits > 5 and value < -(1 << (fraction_bits + 5)):
        return 0
    return result


def _exp_of_small(value: int) -> int:
    """exp(x) for x in [-1/4, 0), Q0.31: a Taylor polynomial of degree 4 around -1/8."""
    center, third = 1895147668, 715827883
    t = value + (1 << 28)
    t2 = high_mul(t, t)
    t3 = high_mul(t2, t)
    t4 = high_mul(t2, t2)
    tail = high_mul(divide_by_power(t4, 2) + t3, third)
    series = divide_by_power(tail + t2, 1)
    return saturate32(center + high_mul(center, t + series))


def _half_sum(a: int, b: int) -> int:
    total = a + b
    nudge = 1 if total >= 0 else -1
    return (total + nudge) // 2 if total + nudge >= 0 else -(-(total + nudge) // 2)


def _newton(half_denominator: int) -> int:
    """1 / half_denominator in Q2.29, for a half denominator of Q0.31 in [1/2, 1]."""
    guess = 1515870810 + high_mul(half_denominator, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_mul(half_denominator, guess)
        guess = wrap32(guess + shift_up(high_mul(guess, error), 2))
    return guess


def reciprocal_of_one_plus(value: int) -> int:
    """1 / (1 + x) for x in [0, 1), Q0.31."""
    return shift_up(_newton(_half_sum(value, INT32_MAX)), 1)


def one_minus_over_one_plus(value: int) -> int:
    """(1 - x) / (1 + x) for x in [0, 1), Q0.31."""
    return shift_up(_newton(_half_sum(value, INT32_MAX)) - (1 << 29), 2)


def logistic(value: int, integer_bits: int) -> int:
    """1 / (1 + exp(-x)), Q0.31."""
    if value == 0:
        return 1 << 30
    result = reciprocal_of_one_plus(exp_of_negative(-abs(value), integer_bits))
    return result if value > 0 else INT32_MAX - result


def tanh(value: int, integer_bits: int) -> int:
    """tanh(x), Q0.31."""
    if value == 0:
        return 0
    # exp(-2|x|): the doubling is one more integer bit.
    result = one_minus_over_one_plus(exp_of_negative(-abs(value), integer_bits + 1))
    return -result if value < 0 else result
