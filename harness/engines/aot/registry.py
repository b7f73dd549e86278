"""Operators the ahead-of-time engine knows, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.engines.aot.lowering import Lowering
from harness.engines.aot.ops import binary, curves, layout, products, quantise, reduce, resize, tables, variables
from harness.engines.aot.ops.conv import conv_2d, depthwise_conv_2d
from harness.engines.aot.ops.dense import fully_connected
from harness.engines.aot.ops.pool import average_pool_2d, max_pool_2d
from harness.engines.aot.ops.softmax import softmax

LOWERINGS: Mapping[str, Lowering] = MappingProxyType(
    {
        "ADD": binary.add,
        "ARG_MAX": reduce.arg_max,
        "ASSIGN_VARIABLE": variables.assign_variable,
        "AVERAGE_POOL_2D": average_pool_2d,
        "BATCH_MATMUL": products.batch_matmul,
        "CALL_ONCE": variables.call_once,
        "CONCATENATION": layout.concatenation,
        "CONV_2D": conv_2d,
        "DEPTHWISE_CONV_2D": depthwise_conv_2d,
        "DEQUANTIZE": quantise.dequantize,
        "EXPAND_DIMS": layout.reshape,
        "FULLY_CONNECTED": fully_connected,
        "GATHER": layout.gather,
        "HARD_SWISH": tables.hard_swish,
        "LEAKY_RELU": tables.leaky_relu,
        "LOGISTIC": tables.logistic_,
        "MAXIMUM": binary.maximum,
        "MAX_POOL_2D": max_pool_2d,
        "MEAN": reduce.mean,
        "MINIMUM": binary.minimum,
        "MUL": binary.mul,
        "PACK": layout.pack,
        "PAD": layout.pad,
        "PADV2": layout.padv2,
        "QUANTIZE": quantise.quantize,
        "READ_VARIABLE": variables.read_variable,
        "REDUCE_MAX": reduce.reduce_max,
        "RELU": tables.relu,
        "RELU6": tables.relu6,
        "RESHAPE": layout.reshape,
        "RESIZE_BILINEAR": resize.resize_bilinear,
        "RESIZE_NEAREST_NEIGHBOR": layout.resize_nearest_neighbor,
        "SHAPE": layout.shape,
        "SLICE": layout.slice_,
        "SOFTMAX": softmax,
        "SPLIT": layout.split,
        "SPLIT_V": layout.split_v,
        "SQUEEZE": layout.reshape,
        "STRIDED_SLICE": layout.strided_slice,
        "SUB": binary.sub,
        "SUM": reduce.sum_,
        "SVDF": products.svdf,
        "TANH": tables.tanh_,
        "TRANSPOSE": layout.transpose,
        "TRANSPOSE_CONV": products.transpose_conv,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": curves.lstm,
        "UNPACK": layout.unpack,
        "VAR_HANDLE": variables.var_handle,
    }
)
