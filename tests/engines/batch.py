"""Collects random operators into one model, so that one run checks them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.model.writer import ModelBuilder

Random = np.random.Generator
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


class Batch:
    """Collects operators, each with inputs and outputs of its own.

    With `litert`, element types that LiteRT has and tflite-micro lacks are tried, too.
    """

    def __init__(self, draw: Random, *, litert: bool = False) -> None:
        self.draw = draw
        self.litert = litert
        self.model = ModelBuilder("random operators")
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.children: dict[str, ModelBuilder] = {}

    def integer(self, low: int, high: int) -> int:
        return int(self.draw.integers(low, high + 1))

    def choice(self, items: Sequence[Any]) -> Any:
        return items[self.integer(0, len(items) - 1)]

    def zero(self) -> int:
        return self.choice((0, -128, 127, self.integer(-128, 127)))

    def scale(self, low: float = 1e-3, high: float = 0.2) -> float:
        return float(np.float32(np.exp(self.draw.uniform(np.log(low), np.log(high)))))

    def input(self, shape: Sequence[int], scale: float | None, zero: int = 0, dtype: str = "int8") -> int:
        self.inputs.append(self.model.tensor(shape, dtype, scale=scale, zero_point=zero))
        return self.inputs[-1]

    def output(self, shape: Sequence[int], scale: float | None, zero: int = 0, dtype: str = "int8") -> int:
        self.outputs.append(self.model.tensor(shape, dtype, scale=scale, zero_point=zero))
        return self.outputs[-1]

    def shape(self, most: int = 4, least: int = 1) -> list[int]:
        return [self.integer(1, 7) for _ in range(self.integer(least, most))]

    def integers(self, values: Sequence[int], shape: Sequence[int] | None = None, dtype: str = "int32") -> int:
        data = np.array(values, np.dtype(dtype).newbyteorder("<")).tobytes()
        return self.model.tensor([len(values)] if shape is None else shape, dtype, data=data)

    def weights(self, shape: Sequence[int], axis: int | None, zero: int = 0) -> tuple[int, list[float]]:
        data = self.draw.integers(-127, 128, shape, dtype=np.int8)
        scales = [self.scale() for _ in range(1 if axis is None else shape[axis])]
        points = [zero] * len(scales)
        return self.model.tensor(shape, scale=scales, zero_point=points, axis=axis or 0, data=data.tobytes()), scales

    def bias(
        self,
        channels: int,
        input_scale: float,
        scales: Sequence[float],
        spread: float,
        *,
        always: bool = False,
        dtype: str = "int32",
    ) -> int:
        """Absent one time in four."""
        if not always and self.integer(0, 3) == 0:
            return -1
        data = np.round(self.draw.normal(0, spread, channels)).astype("<i8" if dtype == "int64" else "<i4")
        products = [input_scale * scale for scale in scales]
        return self.model.tensor([channels], dtype, scale=products, zero_point=[0] * len(products), data=data.tobytes())

    def finish(self) -> bytes:
        return self.model.build(self.inputs, self.outputs)
