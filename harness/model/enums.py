"""Numbered words of the TFLite schema."""

from __future__ import annotations

from types import MappingProxyType

from tflite.BuiltinOperator import BuiltinOperator

DTYPES = (
    "float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8", "float64",
    "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16",
)  # fmt: skip
"""Element types by number, under their numpy names where there are such."""

BITS = MappingProxyType(
    {
        "float32": 32, "float16": 16, "int32": 32, "uint8": 8, "int64": 64, "bool": 8, "int16": 16, "complex64": 64,
        "int8": 8, "float64": 64, "complex128": 128, "uint64": 64, "uint32": 32, "uint16": 16, "int4": 4,
        "bfloat16": 16,
    }
)  # fmt: skip
"""Bits of an element; strings, resources and variants have no fixed size."""

PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

OPERATORS = MappingProxyType({name: value for name, value in vars(BuiltinOperator).items() if isinstance(value, int)})
"""Builtin operators by name."""

OPERATOR_NAMES = MappingProxyType({value: name for name, value in OPERATORS.items()})
"""Builtin operators by number."""
