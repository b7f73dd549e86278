"""Random models: many independent operators of one kind in a graph, so that one run checks them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.engines.batch import ACTIVATIONS, Batch
from tests.engines.cases_blocks import KINDS as BLOCKS
from tests.engines.cases_elementwise import KINDS as ELEMENTWISE
from tests.engines.cases_layout import KINDS as LAYOUT
from tests.engines.cases_products import KINDS as PRODUCTS


def _sum_spread(depth: int) -> float:
    """Standard deviation of a sum of products of uniform int8 values."""
    return float(np.sqrt(depth) * 74 * 74)


def _outputs(padding: str, extent: int, kernel: int, stride: int, dilation: int) -> int:
    reach = (kernel - 1) * dilation + 1
    return -(-extent // stride) if padding == "SAME" else -(-(extent - reach + 1) // stride)


def _geometry(b: Batch, dilated: bool = True) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Options and (batches, in_h, in_w, out_h, out_w, kernel_h, kernel_w) of a window that fits."""
    while True:
        kernel = b.integer(1, 4), b.integer(1, 4)
        extent = b.integer(1, 10), b.integer(1, 10)
        stride = b.integer(1, 3), b.integer(1, 3)
        dilation = (b.integer(1, 3), b.integer(1, 3)) if dilated and b.integer(0, 2) == 0 else (1, 1)
        if b.integer(0, 3) == 0:
            kernel = dilation = (1, 1)
        padding = b.choice(("SAME", "VALID"))
        out = [_outputs(padding, e, k, s, d) for e, k, s, d in zip(extent, kernel, stride, dilation, strict=True)]
        if min(out) > 0:
            break
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    if dilated:
        options |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
    return options, (b.integer(1, 2), *extent, *out, *kernel)


def conv_2d(b: Batch) -> None:
    options, (batches, in_h, in_w, out_h, out_w, kernel_h, kernel_w) = _geometry(b)
    ic, oc = b.integer(1, 9), b.integer(1, 11)
    scale, spread = b.scale(), _sum_spread(kernel_h * kernel_w * ic)
    wide = b.integer(0, 3) == 0
    groups = 1 if wide or b.integer(0, 3) else b.integer(2, 4)
    oc *= groups
    x = b.input([batches, in_h, in_w, groups * ic], scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    spread *= 256 if wide else 1
    w, scales = b.weights([oc, kernel_h, kernel_w, ic], b.choice((0, None)))
    bias = b.bias(oc, scale, scales, spread, dtype=b.choice(("int64", "int32")) if wide else "int32")
    y_scale = scale * scales[0] * spread / b.choice((20, 60, 200)) / (256 if wide else 1)
    y = b.output([batches, out_h, out_w, oc], y_scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    inputs = [x, w] if bias < 0 and b.integer(0, 1) else [x, w, bias]
    b.model.operator("CONV_2D", inputs, [y], fused_activation_function=b.choice(ACTIVATIONS), **options)


def depthwise_conv_2d(b: Batch) -> None:
    options, (batches, in_h, in_w, out_h, out_w, kernel_h, kernel_w) = _geometry(b)
    ic, multiplier = b.choice(((b.integer(1, 10), 1), (b.integer(1, 5), b.integer(2, 5)), (1, b.integer(1, 9))))
    oc = ic * multiplier
    scale, spread = b.scale(), _sum_spread(kernel_h * kernel_w)
    wide = b.integer(0, 3) == 0
    x = b.input([batches, in_h, in_w, ic], scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    spread *= 256 if wide else 1
    w, scales = b.weights([1, kernel_h, kernel_w, oc], b.choice((3, None)))
    bias = b.bias(oc, scale, scales, spread, dtype="int64" if wide else "int32")
    y_scale = scale * scales[0] * spread / b.choice((20, 60, 200)) / (256 if wide else 1)
    y = b.output([batches, out_h, out_w, oc], y_scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    # tflite-micro dies of a depthwise bias that is named and absent, so it is left out.
    inputs = [x, w] if bias < 0 else [x, w, bias]
    options |= {"depth_multiplier": multiplier, "fused_activation_function": b.choice(ACTIVATIONS)}
    b.model.operator("DEPTHWISE_CONV_2D", inputs, [y], **options)


def fully_connected(b: Batch) -> None:
    rows, depth, outputs = b.integer(1, 4), b.integer(1, 50), b.integer(1, 18)
    scale, spread = b.scale(), _sum_spread(depth)
    keep = b.integer(0, 2) == 0
    lead = [1, rows] if keep else [rows]
    wide = b.integer(0, 3) == 0
    x = b.input([*lead, depth], scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    spread *= 256 if wide else 1
    axis = None if wide else b.choice((0, None))
    w, scales = b.weights([outputs, depth], axis, 0 if axis == 0 or wide else b.choice((0, 0, b.integer(-20, 20))))
    bias = b.bias(outputs, scale, scales, spread, dtype="int64" if wide else "int32")
    y_scale = scale * scales[0] * spread / b.choice((20, 60, 200)) / (256 if wide else 1)
    y = b.output([*lead, outputs], y_scale, 0 if wide else b.zero(), "int16" if wide else "int8")
    inputs = [x, w] if bias < 0 and b.integer(0, 1) else [x, w, bias]
    activation = b.choice(ACTIVATIONS)
    b.model.operator("FULLY_CONNECTED", inputs, [y], fused_activation_function=activation, keep_num_dims=keep)


def _pool(b: Batch, name: str) -> None:
    options, (batches, in_h, in_w, out_h, out_w, kernel_h, kernel_w) = _geometry(b, dilated=False)
    dtype = "int8" if b.integer(0, 3) else "int16"
    channels, scale, zero = b.integer(1, 9), b.scale(), b.zero() if dtype == "int8" else 0
    x = b.input([batches, in_h, in_w, channels], scale, zero, dtype)
    y = b.output([batches, out_h, out_w, channels], scale, zero, dtype)
    options |= {"filter_height": kernel_h, "filter_width": kernel_w}
    b.model.operator(name, [x], [y], fused_activation_function=b.choice(ACTIVATIONS), **options)


def average_pool_2d(b: Batch) -> None:
    _pool(b, "AVERAGE_POOL_2D")


def max_pool_2d(b: Batch) -> None:
    _pool(b, "MAX_POOL_2D")


def softmax(b: Batch) -> None:
    shape = [*b.shape(3), b.integer(1, 40)]
    if b.integer(0, 3):
        x, y = b.input(shape, b.scale(1e-3, 1.0), b.zero()), b.output(shape, 1 / 256, -128)
    else:
        x, y = b.input(shape, b.scale(1e-5, 1e-3), 0, "int16"), b.output(shape, 1 / 32768, 0, "int16")
    b.model.operator("SOFTMAX", [x], [y], beta=b.choice((1.0, 1.0, 0.5, 2.0, 0.1)))


KINDS: Mapping[str, Callable[[Batch], None]] = {
    **BLOCKS,
    **ELEMENTWISE,
    **LAYOUT,
    **PRODUCTS,
    "AVERAGE_POOL_2D": average_pool_2d,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "MAX_POOL_2D": max_pool_2d,
    "SOFTMAX": softmax,
}
"""How to add one random operator of each kind."""


def batch(kind: str, seed: int, count: int) -> bytes:
    """A model with `count` independent random operators of a kind."""
    b = Batch(np.random.default_rng([seed, *kind.encode()]))
    for _ in range(count):
        KINDS[kind](b)
    return b.finish()


def mixed(kinds: Sequence[str], seed: int, each: int, *, litert: bool = False) -> bytes:
    """A model with `each` independent random operators of every kind given."""
    b = Batch(np.random.default_rng([seed, len(kinds)]), litert=litert)
    for kind in kinds:
        for _ in range(each):
            KINDS[kind](b)
    return b.finish()


def random_inputs(sizes: Sequence[int], seed: int, count: int, dtypes: Sequence[str] = ()) -> list[tuple[bytes, ...]]:
    """Input cases: uniform bytes, and, first, all equal, extremes, alternation and a ramp.

    Inputs that `dtypes` calls float32 get normal numbers instead.
    """
    draw = np.random.default_rng(seed)
    patterns: list[Callable[[int], bytes]] = [
        lambda n: bytes(n),
        lambda n: b"\x80" * n,
        lambda n: b"\x7f" * n,
        lambda n: (b"\x80\x7f" * n)[:n],
        lambda n: bytes(i & 255 for i in range(n)),
    ]
    cases = [tuple(pattern(size) for size in sizes) for pattern in patterns[:count]]
    while len(cases) < count:
        cases.append(tuple(draw.bytes(size) for size in sizes))
    if "float32" in dtypes:
        return [
            tuple(
                draw.normal(0, 3, len(data) // 4).astype("<f4").tobytes() if dtype == "float32" else data
                for data, dtype in zip(case, dtypes, strict=True)
            )
            for case in cases
        ]
    return cases


def seeded_model(seed: int = 1) -> bytes:
    """A small residual network: CONV_2D, DEPTHWISE_CONV_2D, ADD, both pools, RESHAPE, FULLY_CONNECTED, SOFTMAX."""
    b = Batch(np.random.default_rng(seed))
    scale, zero, side, channels = 0.02, -5, 12, 3
    x = b.input([1, side, side, channels], scale, zero)

    def convolve(
        x: int, scale: float, shape: tuple[int, ...], name: str, kernel: int, activation: str
    ) -> tuple[int, float]:
        depthwise = name == "DEPTHWISE_CONV_2D"
        ic, oc = shape[-1], shape[-1] if depthwise else 8
        dims = [1, kernel, kernel, oc] if depthwise else [oc, kernel, kernel, ic]
        spread = _sum_spread(kernel * kernel * (1 if depthwise else ic))
        w, scales = b.weights(dims, 3 if depthwise else 0)
        bias = b.bias(oc, scale, scales, spread / 2, always=True)
        out_scale = float(np.float32(scale * np.median(scales) * spread / 50))
        y = b.model.tensor([1, *shape[:2], oc], scale=out_scale, zero_point=-128 if activation == "RELU" else 3)
        options: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1}
        options |= {"dilation_w_factor": 1, "fused_activation_function": activation}
        b.model.operator(name, [x, w, bias], [y], **options | ({"depth_multiplier": 1} if depthwise else {}))
        return y, out_scale

    def pool(x: int, scale: float, zero: int, name: str, side: int) -> int:
        y = b.model.tensor([1, side // 2, side // 2, 8], scale=scale, zero_point=zero)
        sizes = {"stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
        b.model.operator(name, [x], [y], padding="VALID", fused_activation_function="NONE", **sizes)
        return y

    y, scale = convolve(x, scale, (side, side, channels), "CONV_2D", 3, "RELU")
    y = pool(y, scale, -128, "MAX_POOL_2D", side)
    side //= 2
    z, z_scale = convolve(y, scale, (side, side, 8), "DEPTHWISE_CONV_2D", 3, "RELU")
    z, z_scale = convolve(z, z_scale, (side, side, 8), "CONV_2D", 1, "NONE")
    total = b.model.tensor([1, side, side, 8], scale=1.5 * max(scale, z_scale), zero_point=-40)
    b.model.operator("ADD", [y, z], [total], fused_activation_function="NONE")
    y, scale, zero = total, 1.5 * max(scale, z_scale), -40
    y = pool(y, scale, zero, "AVERAGE_POOL_2D", side)
    depth = (side // 2) ** 2 * 8
    flat = b.model.tensor([1, depth], scale=scale, zero_point=zero)
    shape = b.model.tensor([2], "int32", data=np.array([1, depth], "<i4").tobytes())
    b.model.operator("RESHAPE", [y, shape], [flat], new_shape=[1, depth])
    w, scales = b.weights([6, depth], None)
    logits = b.model.tensor([1, 6], scale=scale * scales[0] * _sum_spread(depth) / 40, zero_point=7)
    bias = b.bias(6, scale, scales, _sum_spread(depth) / 2, always=True)
    b.model.operator("FULLY_CONNECTED", [flat, w, bias], [logits], fused_activation_function="NONE")
    scores = b.output([1, 6], 1 / 256, -128)
    b.model.operator("SOFTMAX", [logits], [scores], beta=1.0)
    return b.finish()
