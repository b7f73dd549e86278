"""Networks of realistic shapes with random weights: what cost models are fitted to and tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engines.batch import Batch

_SPREAD = 74.0 * 74.0
"""Standard deviation of a product of two uniform int8 values."""


class _Net:
    def __init__(self, seed: int) -> None:
        self.b = Batch(np.random.default_rng([seed, 2027]))
        self.layers = 0

    def start(self, shape: list[int]) -> None:
        self.scale, self.zero, self.shape = 0.02, -5, shape
        self.x = self.b.input(shape, self.scale, self.zero)

    def _emit(self, name: str, inputs: list[int], shape: list[int], scale: float, zero: int, **options: Any) -> None:
        y = self.b.model.tensor(shape, scale=scale, zero_point=zero)
        self.b.model.operator(name, inputs, [y], **options)
        self.x, self.shape, self.scale, self.zero = y, shape, scale, zero
        self.layers += 1

    def _weights(self, shape: list[int], axis: int | None, spread: float) -> tuple[int, list[float], float]:
        """Weights whose scales keep the outputs' scale from growing layer by layer; that scale too."""
        draw = self.b.draw
        out = float(np.float32(draw.uniform(0.02, 0.08)))
        middle = 50 * out / (self.scale * spread)
        factors = draw.uniform(0.7, 1.4, 1 if axis is None else shape[axis])
        scales = [float(np.float32(middle * factor)) for factor in factors]
        data = draw.integers(-127, 128, shape, dtype=np.int8).tobytes()
        points = [0] * len(scales)
        w = self.b.model.tensor(shape, scale=scales, zero_point=points, axis=axis or 0, data=data)
        return w, scales, out

    def convolve(self, name: str, channels: int, kernel: tuple[int, int], stride: int = 1, same: bool = True) -> None:
        _, height, width, depth = self.shape
        depthwise = name == "DEPTHWISE_CONV_2D"
        channels = depth if depthwise else channels
        dims = [1, *kernel, channels] if depthwise else [channels, *kernel, depth]
        terms = kernel[0] * kernel[1] * (1 if depthwise else depth)
        spread = float(np.sqrt(terms)) * _SPREAD
        w, scales, out = self._weights(dims, 3 if depthwise else 0, spread)
        bias = self.b.bias(channels, self.scale, scales, spread / 2, always=True)
        sizes = [
            -(-extent // stride) if same else (extent - reach) // stride + 1
            for extent, reach in zip((height, width), kernel, strict=True)
        ]
        options: dict[str, Any] = {"padding": "SAME" if same else "VALID", "stride_h": stride, "stride_w": stride}
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, "fused_activation_function": "RELU"}
        extra = {"depth_multiplier": 1} if depthwise else {}
        self._emit(name, [self.x, w, bias], [1, *sizes, channels], out, -128, **options, **extra)

    def pool(self, name: str, size: tuple[int, int], stride: int) -> None:
        _, height, width, channels = self.shape
        sizes = [(extent - reach) // stride + 1 for extent, reach in zip((height, width), size, strict=True)]
        options = {"stride_h": stride, "stride_w": stride, "filter_height": size[0], "filter_width": size[1]}
        options["padding"], options["fused_activation_function"] = "VALID", "NONE"
        self._emit(name, [self.x], [1, *sizes, channels], self.scale, self.zero, **options)

    def add(self, other: int, scale: float) -> None:
        wide = 1.5 * max(scale, self.scale)
        self._emit("ADD", [other, self.x], self.shape, wide, -40, fused_activation_function="NONE")

    def flatten(self) -> None:
        depth = int(np.prod(self.shape))
        sizes = self.b.integers([1, depth])
        self._emit("RESHAPE", [self.x, sizes], [1, depth], self.scale, self.zero, new_shape=[1, depth])

    def dense(self, outputs: int, activation: str = "RELU") -> None:
        depth = self.shape[1]
        spread = float(np.sqrt(depth)) * _SPREAD
        w, scales, scale = self._weights([outputs, depth], None, spread)
        bias = self.b.bias(outputs, self.scale, scales, spread / 2, always=True)
        options = {"fused_activation_function": activation}
        self._emit(
            "FULLY_CONNECTED", [self.x, w, bias], [1, outputs], scale, -128 if activation == "RELU" else 7, **options
        )

    def finish(self, name: str = "SOFTMAX") -> bytes:
        y = self.b.output(self.shape, 1 / 256, -128)
        self.b.model.operator(name, [self.x], [y], **({"beta": 1.0} if name == "SOFTMAX" else {}))
        return self.b.finish()


def network(seed: int) -> bytes:
    """A network by seed, of three forms in turn: separable on images, on spectra, and dense. 9 to 24 operators."""
    net = _Net(seed)
    b = net.b
    form = seed % 3
    if form == 2:
        net.start([1, b.choice((40, 96, 160, 320))])
        for _ in range(b.integer(4, 8)):
            net.dense(b.choice((8, 16, 24, 48, 64, 100, 128)))
        net.dense(b.choice((4, 10, 12, 32)), "NONE")
        return net.finish(b.choice(("SOFTMAX", "LOGISTIC")))
    if form == 0:
        side = b.choice((12, 16, 20, 24))
        net.start([1, side, side, b.choice((1, 3))])
        kernel = (b.choice((3, 5)),) * 2
    else:
        net.start([1, b.choice((25, 32, 49)), b.choice((8, 10, 16)), 1])
        kernel = b.choice(((10, 4), (8, 4), (4, 3)))
    net.convolve("CONV_2D", b.choice((8, 12, 16, 24)), kernel, stride=b.choice((1, 2)))
    if form == 0 and min(net.shape[1:3]) > 8:
        net.pool(b.choice(("MAX_POOL_2D", "AVERAGE_POOL_2D")), (2, 2), 2)
    for _ in range(b.integer(2, 4)):
        x, scale, shape = net.x, net.scale, net.shape
        net.convolve("DEPTHWISE_CONV_2D", 0, (3, 3), stride=2 if min(shape[1:3]) > 10 else 1)
        keep = net.shape == shape and b.choice((True, False))
        net.convolve("CONV_2D", shape[3] if keep else b.choice((8, 12, 16, 20, 24, 32, 48)), (1, 1))
        if keep:
            net.add(x, scale)
        elif b.integer(0, 2) == 0 and min(net.shape[1:3]) >= 4:
            net.convolve("CONV_2D", b.choice((8, 12, 16, 24)), (3, 3), same=b.choice((True, False)))
    if form == 0 and min(net.shape[1:3]) >= 4:
        net.pool("MAX_POOL_2D", (2, 2), 2)
    net.pool("AVERAGE_POOL_2D", (net.shape[1], net.shape[2]), 1)
    net.flatten()
    for _ in range(b.integer(0, 2)):
        net.dense(b.choice((16, 24, 32, 64)))
    net.dense(b.choice((2, 4, 10, 12)), "NONE")
    return net.finish()
