"""QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

import math

import numpy as np

from harness.engines.aot.fixed import scale
from harness.engines.aot.lowering import RANGES, Affine, Call, Kernel, KernelConfig, Lowered, OpView
from harness.engines.aot.ops.tables import stored_values, table_call
from harness.engines.aot.quant import fixed_point

REQUANTISE = "nn_requantise_{}_{}"
FROM_FLOAT = "nn_from_float_{}"
TO_FLOAT = "nn_to_float_{}"
_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32}


def _kernel(function: str) -> Kernel:
    return Kernel(function, "nn_requantise_t", "nn_quantise.h", "nn_quantise.c")


def _float_word(value: float) -> int:
    return int(np.float32(value).view(np.int32))


def quantize(op: OpView, config: KernelConfig) -> Lowered:
    """QUANTIZE: between quantised types, or from float."""
    op.counts((1,))
    x, y = op.input(0), op.output()
    op.types(("int8", "uint8", "int16", "int32", "float32"), x)
    op.types(("int8", "uint8", "int16", "int32"), y)
    if x.elements != y.elements:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    target = op.affine(y, "the output")
    low, high = RANGES[y.dtype]
    if x.dtype == "float32":
        if y.dtype == "int32":
            op.refuse("it makes int32 of float32")
        fields = {
            "count": x.elements,
            "scale_word": _float_word(target.scale),
            "to_zero": target.zero,
            "low": low,
            "high": high,
        }
        return Call(_kernel(FROM_FLOAT.format(_name(y.dtype))), fields, inputs=(x.index,), outputs=(y.index,))
    source = op.affine(x, "the input")
    ratio = source.scale / target.scale
    if not math.isfinite(ratio) or ratio >= 1 << 30:
        op.refuse("the output's scale is too small for that of the input")
    multiplier, shift = fixed_point(ratio)

    if _BITS[x.dtype] == 8:
        scaled = scale(stored_values(x) - source.zero, multiplier, shift)
        return table_call(op, np.clip(scaled + target.zero, low, high))
    if y.dtype == "uint8":
        op.refuse(f"it makes uint8 of {x.dtype}")
    function = REQUANTISE.format(_BITS[x.dtype], _BITS[y.dtype])
    return Call(
        _kernel(function),
        {
            "count": x.elements,
            "from_zero": source.zero,
            "to_zero": target.zero,
            "multiplier": multiplier,
            "shift": shift,
            "low": low,
            "high": high,
        },
        inputs=(x.index,),
        outputs=(y.index,),
    )


def _name(dtype: str) -> str:
    return {"int8": "8", "uint8": "u8", "int16": "16"}[dtype]


def dequantize(op: OpView, config: KernelConfig) -> Lowered:
    """DEQUANTIZE: to float."""
    op.counts((1,))
    x, y = op.input(0), op.output()
    op.types(("int8", "uint8", "int16"), x)
    op.types(("float32",), y)
    if x.elements != y.elements:
        op.refuse(f"it brings shape {list(x.shape)} to {list(y.shape)}")
    source: Affine = op.affine(x, "the input")

    if _BITS[x.dtype] == 8:
        with np.errstate(over="ignore"):
            reals = (source.scale * (stored_values(x) - source.zero)).astype(np.float32)
        return table_call(op, reals)
    fields = {"count": x.elements, "scale_word": _float_word(source.scale), "from_zero": source.zero}
    return Call(_kernel(TO_FLOAT.format(16)), fields, inputs=(x.index,), outputs=(y.index,))
