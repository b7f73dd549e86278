"""Random operators that sum: reductions, products of matrices, and layers with a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from tests.engines.batch import Batch


def reduction(b: Batch, name: str) -> None:
    shape = b.shape(4)
    axes = sorted({b.integer(0, len(shape) - 1) for _ in range(b.integer(1, 2))})
    if b.integer(0, 2) == 0:
        shape, axes = [b.integer(1, 2), b.integer(1, 7), b.integer(1, 7), b.integer(1, 9)], [1, 2]
    keep = bool(b.integer(0, 1))
    target = [1 if axis in axes else n for axis, n in enumerate(shape) if keep or axis not in axes]
    dtype = "int8" if b.integer(0, 3) or (name.startswith("REDUCE") and not b.litert) else "int16"

    def zero() -> int:
        return b.zero() if dtype == "int8" else 0

    scale = b.scale()
    like = source = scale, zero(), dtype
    if not name.startswith("REDUCE") and b.integer(0, 2):
        like = scale * b.choice((0.5, 1.0, 2.0, 4.0)) * (4 if name == "SUM" else 1), zero(), dtype
    named = [b.choice((axis, axis - len(shape))) for axis in axes] if axes != [1, 2] else axes
    x, y = b.input(shape, *source), b.output(target, *like)
    b.model.operator(name, [x, b.integers(named)], [y], keep_dims=keep)


def arg_max(b: Batch) -> None:
    shape = b.shape(4)
    axis = b.integer(0, len(shape) - 1)
    x = b.input(shape, b.scale(), b.zero())
    y = b.output([*shape[:axis], *shape[axis + 1 :]], None, 0, "int32")
    b.model.operator("ARG_MAX", [x, b.integers([axis], [1])], [y], output_type=2)


def batch_matmul(b: Batch) -> None:
    rows, depth, columns = b.integer(1, 6), b.integer(1, 20), b.integer(1, 6)
    outer = [b.integer(1, 3) for _ in range(b.integer(0, 2))]
    swap = bool(b.integer(0, 1)), bool(b.integer(0, 1))
    first = [*outer, *((depth, rows) if swap[0] else (rows, depth))]
    second = [*outer, *((columns, depth) if swap[1] else (depth, columns))]
    scales = b.scale(), b.scale()
    x, w = b.input(first, scales[0], b.zero()), b.input(second, scales[1], b.zero())
    spread = scales[0] * scales[1] * float(np.sqrt(depth)) * 74 * 74 / b.choice((20, 60))
    y = b.output([*outer, rows, columns], spread, b.zero())
    b.model.operator("BATCH_MATMUL", [x, w], [y], adj_x=swap[0], adj_y=swap[1])


def transpose_conv(b: Batch) -> None:
    batches, ic, oc = b.integer(1, 2), b.integer(1, 6), b.integer(1, 6)
    kernel, stride = (b.integer(1, 4), b.integer(1, 4)), (b.integer(1, 3), b.integer(1, 3))
    extent = b.integer(1, 6), b.integer(1, 6)
    padding = b.choice(("SAME", "VALID"))
    if padding == "SAME":
        out = [n * s for n, s in zip(extent, stride, strict=True)]
    else:
        out = [(n - 1) * s + k for n, s, k in zip(extent, stride, kernel, strict=True)]
    scale, spread = b.scale(), float(np.sqrt(kernel[0] * kernel[1] * ic)) * 74 * 74
    x = b.input([batches, *extent, ic], scale, b.zero())
    w, scales = b.weights([oc, *kernel, ic], 0)
    bias = b.bias(oc, scale, scales, spread)
    shape = b.integers([batches, *out, oc])
    y = b.output([batches, *out, oc], scale * scales[0] * spread / b.choice((20, 60)), b.zero())
    inputs = [shape, w, x] if bias < 0 else [shape, w, x, bias]
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1], "fused_activation_function": "NONE"}
    b.model.operator("TRANSPOSE_CONV", inputs, [y], **options)


def svdf(b: Batch) -> None:
    rank, units, memory, inputs, batches = (b.integer(1, most) for most in (3, 5, 6, 12, 2))
    filters = rank * units
    dtype = b.choice(("int8", "int16"))
    scale = b.scale()
    x = b.input([batches, inputs], scale, b.zero())
    features, (feature_scale,) = b.weights([filters, inputs], None)
    limit = 127 if dtype == "int8" else 2000
    data = b.draw.integers(-limit, limit + 1, [filters, memory]).astype("<i1" if dtype == "int8" else "<i2")
    time_scale = b.scale()
    times = b.model.tensor([filters, memory], dtype, scale=time_scale, zero_point=0, data=data.tobytes())
    state_scale = scale * feature_scale * float(np.sqrt(inputs)) * 74 * 74 / (40 if dtype == "int8" else 8000)
    zero = b.zero() if dtype == "int8" else 0
    state = b.model.tensor([batches, filters * memory], dtype, scale=state_scale, zero_point=zero, variable=True)
    spread = float(np.sqrt(memory * rank)) * 40 * limit / 2 * (1 if dtype == "int8" else 200)
    values = np.round(b.draw.normal(0, spread / 4, units)).astype("<i4")
    product = float(np.float32(state_scale) * np.float32(time_scale))
    bias = b.model.tensor([units], "int32", scale=product, zero_point=0, data=values.tobytes())
    y = b.output([batches, units], state_scale * time_scale * spread / 50, b.zero())
    inputs_ = [x, features, times, bias, state]
    b.model.operator("SVDF", inputs_, [y], rank=rank, fused_activation_function="RELU")


def lstm(b: Batch) -> None:
    batches, moments, inputs, units = (b.integer(1, most) for most in (2, 4, 8, 8))
    major = bool(b.integer(0, 1))
    lead = [moments, batches] if major else [batches, moments]
    scale, zero = b.scale(5e-3, 0.05), b.zero()
    x = b.input([*lead, inputs], scale, zero)
    like = float(np.float32(1 / b.choice((90, 128, 160)))), b.choice((0, b.integer(-40, 40)))

    def matrix(columns: int, target: float) -> tuple[int, float]:
        data = b.draw.integers(-127, 128, [units, columns], dtype=np.int8)
        spread = float(np.float32(target / (74 * np.sqrt(columns))))
        return b.model.tensor([units, columns], scale=spread, zero_point=0, data=data.tobytes()), spread

    weights = [matrix(inputs, 2.0 / (scale * 74)) for _ in range(4)]
    recurrent = [matrix(units, 3.0) for _ in range(4)]
    biases = []
    for _, weight_scale in weights:
        product = float(np.float32(scale) * np.float32(weight_scale))
        values = np.round(b.draw.normal(0, 0.5 / product, units)).astype("<i4")
        biases.append(b.model.tensor([units], "int32", scale=product, zero_point=0, data=values.tobytes()))
    hidden = b.model.tensor([batches, units], scale=like[0], zero_point=like[1], variable=True)
    cell_scale = 2.0 ** -b.integer(9, 14)
    cells = b.model.tensor([batches, units], "int16", scale=cell_scale, zero_point=0, variable=True)
    y = b.output([*lead, units], *like)
    tensors = [x, *(w for w, _ in weights), *(r for r, _ in recurrent), -1, -1, -1, *biases, -1, -1, hidden, cells]
    options = {"fused_activation_function": "TANH", "cell_clip": b.choice((0.0, 10.0, 0.5)), "time_major": major}
    b.model.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [*tensors, -1, -1, -1, -1], [y], **options)


KINDS: Mapping[str, Callable[[Batch], None]] = {
    **{name: partial(reduction, name=name) for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")},
    "ARG_MAX": arg_max,
    "BATCH_MATMUL": batch_matmul,
    "SVDF": svdf,
    "TRANSPOSE_CONV": transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}
