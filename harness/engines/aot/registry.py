"""Operators the ahead-of-time engine knows, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.engines.aot.lowering import Lowering
from harness.engines.aot.ops.add import add
from harness.engines.aot.ops.conv import conv_2d, depthwise_conv_2d
from harness.engines.aot.ops.dense import fully_connected
from harness.engines.aot.ops.pool import average_pool_2d, max_pool_2d
from harness.engines.aot.ops.reshape import reshape
from harness.engines.aot.ops.softmax import softmax

LOWERINGS: Mapping[str, Lowering] = MappingProxyType(
    {
        "ADD": add,
        "AVERAGE_POOL_2D": average_pool_2d,
        "CONV_2D": conv_2d,
        "DEPTHWISE_CONV_2D": depthwise_conv_2d,
        "FULLY_CONNECTED": fully_connected,
        "MAX_POOL_2D": max_pool_2d,
        "RESHAPE": reshape,
        "SOFTMAX": softmax,
    }
)
