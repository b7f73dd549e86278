"""Functions of one 8-bit element. Each becomes a table, computed here with the arithmetic of TensorFlow Lite's kernels.

Profile `litert-ref` differs in LOGISTIC and TANH, whose int8 tables LiteRT fills with float arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.engines.aot.fixed import Values, divide_by_power, high_mul, logistic, scale, tanh
from harness.engines.aot.lowering import RANGES, Affine, Array, Call, Kernel, KernelConfig, OpView
from harness.engines.aot.ops.curves import curve
from harness.engines.aot.quant import fixed_point, round_away, round_half_away
from harness.model.types import Tensor

_WIDTHS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "float32": 32}
_CTYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "float32": "int32_t"}
FUNCTIONS = {
    width: Kernel(f"nn_table_{width}", "nn_table_t", "nn_table.h", "nn_table.c") for width in set(_WIDTHS.values())
}
INTEGER_BITS = 4
"""Of the inputs of LOGISTIC and TANH in fixed point."""


def stored_values(tensor: Tensor) -> Values:
    """All stored values of an 8-bit tensor, ascending."""
    low, high = RANGES[tensor.dtype]
    return np.arange(low, high + 1, dtype=np.int64)


def table_call(op: OpView, results: NDArray[Any]) -> Call:
    """The operator as a look-up: `results` has the stored output of each of the input's `stored_values`."""
    x, y = op.input(0), op.output()
    values = np.zeros(256, np.dtype(y.dtype))
    values[stored_values(x) & 255] = results
    width = _WIDTHS[y.dtype]
    return Call(
        kernel=FUNCTIONS[width],
        fields={
            "count": x.elements,
            "table": Array("table", _CTYPES[y.dtype], values.view(np.int32) if y.dtype == "float32" else values),
        },
        inputs=(x.index,),
        outputs=(y.index,),
        in_place=(x.index,) if width == 8 else (),
    )


def _one_to_one(op: OpView) -> tuple[Tensor, Tensor]:
    op.counts((1,))
    x, y = op.input(0), op.output()
    if x.elements != y.elements:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    return x, y


def int8_function(op: OpView) -> tuple[Affine, Affine]:
    """Quantisation of input and output of a function of one int8 tensor."""
    x, y = _one_to_one(op)
    op.int8(x, y)
    return op.affine(x, "the input"), op.affine(y, "the output")


def _clamp8(values: Values, low: int = -128) -> Values:
    return np.clip(values, low, 127)


def single_ratio(source: Affine, target: Affine, factor: float = 1.0) -> float:
    """Of the scales, in single precision, as TFLite does."""
    with np.errstate(over="ignore"):
        return float(np.float32(np.float32(source.scale) * np.float32(factor)) / np.float32(target.scale))


def checked_factor(op: OpView, factor: float) -> tuple[int, int]:
    """Multiplier and shift of a factor that is not too large."""
    if not math.isfinite(factor) or factor >= 1 << 30:
        op.refuse("the output's scale is too small for that of the input")
    return fixed_point(factor)


def relu(op: OpView, config: KernelConfig) -> Call:
    """RELU: to the output's scale, and not below 0."""
    source, target = int8_function(op)
    factor = checked_factor(op, single_ratio(source, target))
    values = target.zero + scale(stored_values(op.input(0)) - source.zero, *factor)
    return table_call(op, _clamp8(values, max(-128, target.zero)))


def relu6(op: OpView, config: KernelConfig) -> Call:
    """RELU6: between the stored values of 0 and 6; both tensors have the input's quantisation."""
    source, target = int8_function(op)
    if source != target:
        op.refuse("input and output have different quantisation")
    most = max(-128, min(source.zero + round_half_away(min(six(source.scale), 1e9)), 127))
    return table_call(op, np.minimum(most, np.maximum(stored_values(op.input(0)), source.zero)))


def six(scale_: float) -> float:
    """6 in steps of a scale, in single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(6.0) / np.float32(scale_))


def leaky_factors(op: OpView, source: Affine, target: Affine) -> tuple[tuple[int, int], tuple[int, int]]:
    """Multiplier and shift of LEAKY_RELU above and below 0."""
    alpha = op.option("alpha")
    if not math.isfinite(alpha):
        op.refuse(f"option alpha is {alpha}")
    same = checked_factor(op, single_ratio(source, target))
    below = checked_factor(op, abs(single_ratio(source, target, alpha)))
    return same, (below[0] if alpha >= 0 else -below[0], below[1])


def leaky_relu(op: OpView, config: KernelConfig) -> Call:
    """LEAKY_RELU."""
    source, target = int8_function(op)
    same, below = leaky_factors(op, source, target)
    values = stored_values(op.input(0)) - source.zero
    return table_call(op, _clamp8(target.zero + np.where(values >= 0, scale(values, *same), scale(values, *below))))


def _float_function(op: OpView, source: Affine, target: Affine, function: Callable[[float], float]) -> Call:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inverse = np.float32(1.0) / np.float32(target.scale)
        reals = np.float32(source.scale) * (stored_values(op.input(0)) - source.zero).astype(np.float32)
        results = np.array([function(float(real)) for real in reals], np.float32) * inverse
    if not np.isfinite(results).all():
        op.refuse("the output's scale is too small for that of the input")
    return table_call(op, _clamp8(round_away(results.astype(np.float64)) + target.zero))


def _sigmoid(value: float) -> float:
    exponential = np.float32(math.exp(min(-value, 700.0)))
    return float(np.float32(1.0) / (np.float32(1.0) + exponential))


def abs_(op: OpView, config: KernelConfig) -> Call:
    """ABS."""
    source, target = int8_function(op)
    values = abs(stored_values(op.input(0)) - source.zero)
    if source.scale != target.scale:
        values = scale(values, *checked_factor(op, single_ratio(source, target)))
    return table_call(op, _clamp8(values + target.zero))


def elu(op: OpView, config: KernelConfig) -> Call:
    """ELU: exp(x) - 1 below 0."""
    source, target = int8_function(op)
    op.tflm_only(config)
    return _float_function(op, source, target, _elu)


def _elu(value: float) -> float:
    return float(np.float32(math.exp(value)) - np.float32(1.0)) if value < 0 else value


def _unit_output(op: OpView, target: Affine, scale_: float, zero: int) -> None:
    if target.scale != scale_ or target.zero != zero:
        op.refuse(f"the output has scale {target.scale} and zero point {target.zero}; it must be {scale_} and {zero}")


def _saturating(op: OpView, source: Affine, function: Callable[[Values], Values], ends: tuple[int, int]) -> Call:
    """A function of the input in Q4.27; inputs whose magnitude is beyond what that holds give one of the ends."""
    multiplier, shift = checked_factor(op, min(source.scale * (1 << (31 - INTEGER_BITS)), float(1 << 21)))
    if source.scale * (1 << (31 - INTEGER_BITS)) >= 1 << 31:
        op.refuse(f"the input has scale {source.scale}")
    multiplier, shift = fixed_point(source.scale * (1 << (31 - INTEGER_BITS)))
    radius = math.floor(((1 << INTEGER_BITS) - 1) * (1 << (31 - INTEGER_BITS)) / (1 << max(shift, 0)))

    centred = stored_values(op.input(0)) - source.zero
    inner = np.clip(centred, 1 - radius, radius - 1) if radius > 0 else 0 * centred
    results = function(scale(inner, multiplier, shift))
    return table_call(op, np.where(centred <= -radius, ends[0], np.where(centred >= radius, ends[1], results)))


def logistic_(op: OpView, config: KernelConfig) -> Call:
    """LOGISTIC; the output has scale 1/256 and zero point -128."""
    if op.input(0).dtype == op.output().dtype == "int16":
        op.counts((1,))
        return curve(op, "logistic")
    source, target = int8_function(op)
    _unit_output(op, target, 1 / 256, -128)
    if config.rounding == "litert-ref":
        return _float_function(op, source, target, _sigmoid)
    return _saturating(
        op, source, lambda v: np.minimum(divide_by_power(logistic(v, INTEGER_BITS), 23), 255) - 128, (-128, 127)
    )


def tanh_(op: OpView, config: KernelConfig) -> Call:
    """TANH; the output has scale 1/128 and zero point 0."""
    if op.input(0).dtype == op.output().dtype == "int16":
        op.counts((1,))
        return curve(op, "tanh")
    source, target = int8_function(op)
    _unit_output(op, target, 1 / 128, 0)
    if config.rounding == "litert-ref":
        return _float_function(op, source, target, math.tanh)
    return _saturating(op, source, lambda v: _clamp8(divide_by_power(tanh(v, INTEGER_BITS), 24)), (-128, 127))


def _half(multiplier: int) -> int:
    """A 32-bit multiplier in 16 bits, rounded."""
    return (1 << 15) - 1 if multiplier >= (1 << 31) - 1 - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _saturate16(values: Values) -> Values:
    return np.clip(values, -32768, 32767)


def hard_swish(op: OpView, config: KernelConfig) -> Call:
    """HARD_SWISH: x * min(max(x + 3, 0), 6) / 6, in 16-bit fixed point."""
    source, target = int8_function(op)
    with np.errstate(over="ignore"):
        finer = np.float32(source.scale) * np.float32(1 / 128)
        to_output, to_gate = float(finer / np.float32(target.scale)), float(finer / np.float32(3.0 / 32768.0))
    out_multiplier, out_exponent = checked_factor(op, to_output)
    relu_multiplier, relu_exponent = checked_factor(op, to_gate)
    if out_exponent > 0:
        op.refuse("the output's scale is too small for that of the input")
    out_half, relu_half = _half(out_multiplier), _half(relu_multiplier)

    fine = (stored_values(op.input(0)) - source.zero) << 7
    straight = high_mul(fine, out_half, 16)
    gate = fine
    if relu_exponent > 0:
        gate = _saturate16(gate << (relu_exponent - 1))
    gate = high_mul(gate, relu_half, 16)
    if relu_exponent > 0:
        gate = _saturate16(gate << 1)
    if relu_exponent < 0:
        gate = divide_by_power(gate, -relu_exponent)
    gate = (gate + (1 << 15)) >> 1
    product = gate * straight
    high = np.where(product >= 0, product >> 15, -(-product >> 15))
    return table_call(op, _clamp8(divide_by_power(high, -out_exponent) + target.zero))
