"""The backend `cmsis-nn`: calls of portable kernels become calls of CMSIS-NN where it computes the same bytes.

The sizes of scratch memory are those that the library's `..._get_buffer_size` functions give for a core; the adapter
compares them on the target. Source: CMSIS-NN 4.0.0, the functions of those names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.engines.aot.lowering import Array, Call, Kernel, OpView
from harness.engines.aot.ops.weighted import bias, wrap32
from harness.engines.base import DSP, MVE

HEADER, SOURCE = "cmsis_nn_adapter.h", "cmsis_nn_adapter.c"
MAX_EXTENT = 65535
"""The library keeps extents in 16 bits."""
MVE_CHANNEL_BLOCK = 124
Features = frozenset[str]
Fields = Mapping[str, Any]


def _kernel(function: str, struct: str) -> Kernel:
    return Kernel(function, struct, HEADER, SOURCE, takes_scratch=True)


CONV = _kernel("cmsis_conv_2d", "cmsis_conv_t")
DEPTHWISE = _kernel("cmsis_depthwise_conv_2d", "cmsis_conv_t")
DENSE = _kernel("cmsis_fully_connected", "cmsis_dense_t")
AVERAGE = _kernel("cmsis_average_pool_2d", "cmsis_pool_t")
MAX = _kernel("cmsis_max_pool_2d", "cmsis_pool_t")


def with_cmsis_nn(op: OpView, call: Call, features: Features) -> Call:
    """The call of CMSIS-NN that computes the same bytes on a core with `features`, or what was given.

    Chosen by the portable kernel, so that an operator lowered for another arithmetic or type keeps its own.
    """
    replace = _REPLACEMENTS.get(call.kernel.function)
    return call if replace is None else replace(op, call, features)


def _conv_2d(op: OpView, call: Call, features: Features) -> Call:
    place, rows = call.fields["window"], call.fields["rows"]
    assert isinstance(place, Mapping) and isinstance(rows, Mapping)
    if not _small(place):
        return call
    size = conv_scratch(place, features)
    fields = _convolution(op, place, rows, rows["weights"], call.fields["input_zero"], size)
    return Call(CONV, fields, call.inputs, call.outputs, size)


def _depthwise(op: OpView, call: Call, features: Features) -> Call:
    place = call.fields["window"]
    assert isinstance(place, Mapping)
    if not _small(place):
        return call
    size = depthwise_scratch(place, features)
    fields = _convolution(op, place, call.fields, call.fields["weights"], call.fields["input_zero"], size)
    fields["depth_multiplier"] = call.fields["depth_multiplier"]
    return Call(DEPTHWISE, fields, call.inputs, call.outputs, size)


def _dense(op: OpView, call: Call, features: Features) -> Call:
    rows = call.fields["rows"]
    assert isinstance(rows, Mapping)
    if rows["channel_mask"] or call.fields["weights_zero"] or op.operator.name != "FULLY_CONNECTED":
        return call
    outputs = rows["outputs"]
    return Call(
        DENSE,
        {
            "weights": rows["weights"],
            "bias": _bias(op, outputs),
            "multiplier": int(rows["multiplier"].values[0]),
            "shift": int(rows["shift"].values[0]),
            "count": call.fields["count"],
            "depth": rows["depth"],
            "outputs": outputs,
            "input_zero": op.affine(op.input(0), "the input").zero,
            "output_zero": rows["output_zero"],
            "low": rows["low"],
            "high": rows["high"],
            "scratch_bytes": 0,
        },
        call.inputs,
        call.outputs,
    )


def _average(op: OpView, call: Call, features: Features) -> Call:
    place = call.fields["window"]
    assert isinstance(place, Mapping)
    return _pool(call, AVERAGE, 4 * place["in_channels"] if features == {DSP} else 0)


def _max(op: OpView, call: Call, features: Features) -> Call:
    return _pool(call, MAX, 0)


def _pool(call: Call, kernel: Kernel, size: int) -> Call:
    place = call.fields["window"]
    assert isinstance(place, Mapping)
    if place["batches"] != 1:
        return call
    fields = {**call.fields, "scratch_bytes": size}
    return Call(kernel, fields, call.inputs, call.outputs, size)


_REPLACEMENTS: Mapping[str, Callable[[OpView, Call, Features], Call]] = {
    "nn_conv_2d": _conv_2d,
    "nn_depthwise_conv_2d": _depthwise,
    "nn_fully_connected": _dense,
    "nn_average_pool_2d": _average,
    "nn_max_pool_2d": _max,
}
"""By the function of the portable kernel."""


def conv_scratch(place: Fields, features: Features) -> int:
    """Bytes that `arm_convolve_wrapper_s8` needs for a window."""
    undilated = place["dilation_h"] == place["dilation_w"] == 1
    unpadded = place["pad_top"] == place["pad_left"] == 0
    depth = place["kernel_h"] * place["kernel_w"] * place["in_channels"]
    if place["kernel_h"] == place["kernel_w"] == 1 and undilated and unpadded:
        return 0
    row = place["in_h"] == place["kernel_h"] == place["dilation_w"] == 1 and place["out_w"] % 4 == 0
    if MVE in features:
        return 0 if row else 4 * 8 * -(-depth // 8)
    return 2 * 2 * int(depth)


def depthwise_scratch(place: Fields, features: Features) -> int:
    """Bytes that `arm_depthwise_conv_wrapper_s8` needs for a window."""
    taps = place["kernel_h"] * place["kernel_w"]
    dilated = place["dilation_h"] != 1 or place["dilation_w"] != 1
    if place["in_channels"] != place["out_channels"] or place["batches"] != 1 or dilated:
        return 0
    if MVE in features:
        return 4 * MVE_CHANNEL_BLOCK * int(taps)
    return 2 * place["in_channels"] * int(taps) if DSP in features else 0


def _convolution(
    op: OpView, place: Fields, factors: Fields, weights: Any, input_zero: Any, size: int
) -> dict[str, Any]:
    channels = place["out_channels"]
    return {
        "window": place,
        "weights": weights,
        "bias": _bias(op, channels),
        "multiplier": _spread(factors["multiplier"], channels),
        "shift": _spread(factors["shift"], channels),
        "input_zero": input_zero,
        "output_zero": factors["output_zero"],
        "low": factors["low"],
        "high": factors["high"],
        "scratch_bytes": size,
    }


def _small(place: Fields) -> bool:
    return all(value <= MAX_EXTENT for name, value in place.items() if name != "batches")


def _bias(op: OpView, channels: int) -> Array:
    # Not the portable kernel's: that has the input's zero point folded in.
    return Array("bias", "int32_t", wrap32(bias(op, channels)))


def _spread(array: Array, channels: int) -> Array:
    return Array(array.name, array.ctype, np.ascontiguousarray(np.broadcast_to(array.values, channels)))
