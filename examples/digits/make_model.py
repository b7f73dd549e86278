"""Makes the digits model: trains a small CNN with numpy, quantises it to int8, writes `digits.tflite`.

    python make_model.py            train from scratch; writes weights.npz, held_out.npz and digits.tflite
    python make_model.py --check    derive digits.tflite from the committed weights and compare it byte for byte

The images are scikit-learn's digits: 1,797 of 8 x 8 pixels with values 0 to 16. Training needs scikit-learn, the check
needs only numpy and the harness.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.model.writer import ModelBuilder

HERE = Path(__file__).parent
WEIGHTS, HELD_OUT, MODEL = HERE / "weights.npz", HERE / "held_out.npz", HERE / "digits.tflite"
Array = NDArray[np.float64]

HELD_OUT_IMAGES = 400
EPOCHS, BATCH, SEED = 60, 32, 7
LAYERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("conv1", "conv", (12, 3, 3, 1)),
    ("dw1", "depthwise", (1, 3, 3, 12)),
    ("pw1", "conv", (24, 1, 1, 12)),
    ("pool1", "max", ()),
    ("dw2", "depthwise", (1, 3, 3, 24)),
    ("pw2", "conv", (32, 1, 1, 24)),
    ("pool2", "average", ()),
    ("fc", "dense", (10, 128)),
)
"""Name, kind and weight shape of each layer; every convolution keeps the size and ends in ReLU, every pool is 2 x 2."""


# -- the float network: forward and backward -------------------------------------------------------------------------


def patches(x: Array, size: int) -> Array:
    """All size x size neighbourhoods under zero padding: shape (n, h, w, size, size, c)."""
    pad = size // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))
    return np.ascontiguousarray(windows.transpose(0, 1, 2, 4, 5, 3))


def unpatch(grad: Array, size: int) -> Array:
    """The adjoint of `patches`."""
    n, h, w, _, _, c = grad.shape
    pad = size // 2
    out = np.zeros((n, h + 2 * pad, w + 2 * pad, c))
    for dy in range(size):
        for dx in range(size):
            out[:, dy : dy + h, dx : dx + w] += grad[:, :, :, dy, dx]
    return out[:, pad : pad + h, pad : pad + w]


def blocks(x: Array) -> Array:
    """2 x 2 blocks: shape (n, h/2, w/2, 4, c)."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4, c)


def unblock(grad: Array) -> Array:
    """The adjoint of `blocks`."""
    n, h, w, _, c = grad.shape
    return grad.reshape(n, h, w, 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c)


Backward = Callable[[Array], tuple[Array, dict[str, Array]]]


def layer_forward(kind: str, name: str, weights: dict[str, Array], x: Array) -> tuple[Array, Backward]:
    """One layer's output and its gradient function."""
    if kind == "max":
        group = blocks(x)
        best = group.argmax(axis=3, keepdims=True)
        mask = np.zeros_like(group)
        np.put_along_axis(mask, best, 1.0, axis=3)
        return group.max(axis=3), lambda g: (unblock(mask * g[:, :, :, None]), {})
    if kind == "average":
        return blocks(x).mean(axis=3), lambda g: (unblock(np.repeat(g[:, :, :, None] / 4, 4, axis=3)), {})
    w, b = weights[f"{name}.w"], weights[f"{name}.b"]
    if kind == "dense":
        flat = x.reshape(len(x), -1)
        return flat @ w.T + b, lambda g: (
            (g @ w).reshape(x.shape),
            {f"{name}.w": g.T @ flat, f"{name}.b": g.sum(axis=0)},
        )
    size = w.shape[1]
    near = patches(x, size)
    if kind == "conv":
        y = np.tensordot(near, w, axes=([3, 4, 5], [1, 2, 3])) + b
    else:
        y = np.einsum("nhwijc,ijc->nhwc", near, w[0], optimize=True) + b
    positive = y > 0

    def backward(g: Array) -> tuple[Array, dict[str, Array]]:
        g = g * positive
        if kind == "conv":
            dw = np.tensordot(g, near, axes=([0, 1, 2], [0, 1, 2]))
            dx = unpatch(np.tensordot(g, w, axes=([3], [0])), size)
        else:
            dw = np.einsum("nhwc,nhwijc->ijc", g, near, optimize=True)[None]
            dx = unpatch(np.einsum("nhwc,ijc->nhwijc", g, w[0], optimize=True), size)
        return dx, {f"{name}.w": dw, f"{name}.b": g.sum(axis=(0, 1, 2))}

    return y * positive, backward


def forward(weights: dict[str, Array], x: Array) -> tuple[dict[str, Array], list[Backward]]:
    """Outputs of all layers by name, and the gradient functions in order."""
    outputs: dict[str, Array] = {"input": x}
    chain: list[Backward] = []
    for name, kind, _ in LAYERS:
        x, backward = layer_forward(kind, name, weights, x)
        outputs[name] = x
        chain.append(backward)
    return outputs, chain


def shifted(x: Array, draw: np.random.Generator) -> Array:
    """The images moved by up to one pixel each way, background coming in at the edges."""
    dy, dx = draw.integers(0, 3, 2)
    return np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))[:, dy : dy + x.shape[1], dx : dx + x.shape[2]]


def train(images: Array, labels: NDArray[np.int64]) -> dict[str, Array]:
    """Weights and biases after Adam on the cross entropy, with images shifted by up to one pixel."""
    draw = np.random.default_rng(SEED)
    weights: dict[str, Array] = {}
    for name, kind, shape in LAYERS:
        if shape:
            fan_in = np.prod(shape[1:3]) if kind == "depthwise" else np.prod(shape[1:])
            weights[f"{name}.w"] = draw.normal(0, np.sqrt(2 / fan_in), shape)
            weights[f"{name}.b"] = np.zeros(shape[-1] if kind == "depthwise" else shape[0])
    first = {key: np.zeros_like(value) for key, value in weights.items()}
    second = {key: np.zeros_like(value) for key, value in weights.items()}
    step = 0
    for epoch in range(EPOCHS):
        order = draw.permutation(len(images))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            x = shifted(images[chosen], draw) if epoch % 3 else images[chosen]
            outputs, chain = forward(weights, x)
            logits = outputs["fc"] - outputs["fc"].max(axis=1, keepdims=True)
            grad = np.exp(logits)
            grad /= grad.sum(axis=1, keepdims=True)
            grad[np.arange(len(chosen)), labels[chosen]] -= 1
            grad /= len(chosen)
            grads: dict[str, Array] = {}
            for backward in reversed(chain):
                grad, own = backward(grad)
                grads |= own
            step += 1
            rate = 3e-3 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
            for key, g in grads.items():
                first[key] = 0.9 * first[key] + 0.1 * g
                second[key] = 0.999 * second[key] + 0.001 * g * g
                weights[key] -= (
                    rate * (first[key] / (1 - 0.9**step)) / (np.sqrt(second[key] / (1 - 0.999**step)) + 1e-8)
                )
    return weights


# -- quantisation: float weights and recorded ranges to int8 ---------------------------------------------------------


def activation_scale(low: float, high: float) -> tuple[float, int]:
    """Scale and zero point that cover a range holding 0 with 256 steps."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / 255 or 1.0))
    return scale, int(np.clip(round(-128 - low / scale), -128, 127))


def quantise_weights(w: Array, axis: int) -> tuple[NDArray[np.int8], list[float]]:
    """Symmetric int8 weights with one scale per channel of `axis`."""
    others = tuple(i for i in range(w.ndim) if i != axis)
    peak = np.maximum(np.abs(w).max(axis=others), 1e-6)
    scales = np.float32(peak / 127)
    shape = [-1 if i == axis else 1 for i in range(w.ndim)]
    q = np.clip(np.rint(w / scales.astype(np.float64).reshape(shape)), -127, 127).astype(np.int8)
    return q, [float(s) for s in scales]


def build_model(stored: dict[str, Array]) -> bytes:
    """The `.tflite` file for stored weights and ranges; no arithmetic here depends on the order of a sum."""
    model = ModelBuilder("harness digits example")
    scale, zero = 1 / 255, -128
    shape: tuple[int, ...] = (1, 8, 8, 1)
    x = model.tensor(shape, name="image", scale=scale, zero_point=zero)
    image = x
    for name, kind, _ in LAYERS:
        if kind in ("max", "average"):
            shape = (1, shape[1] // 2, shape[2] // 2, shape[3])
            y = model.tensor(shape, name=name, scale=scale, zero_point=zero)
            options: dict[str, Any] = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
            operator = "MAX_POOL_2D" if kind == "max" else "AVERAGE_POOL_2D"
            model.operator(operator, [x], [y], padding="VALID", fused_activation_function="NONE", **options)
            x = y
            continue
        if kind == "dense":
            flat = model.tensor((1, int(np.prod(shape))), name="flat", scale=scale, zero_point=zero)
            target = model.tensor((2,), "int32", name="flat_shape", data=np.array([1, np.prod(shape)], "<i4").tobytes())
            model.operator("RESHAPE", [x, target], [flat], new_shape=[1, int(np.prod(shape))])
            x = flat
        weights = stored[f"{name}.w"]
        axis = 3 if kind == "depthwise" else 0
        if kind == "dense":
            peak = float(np.float32(np.abs(weights).max() / 127))
            q, scales = np.clip(np.rint(weights / peak), -127, 127).astype(np.int8), [peak]
        else:
            q, scales = quantise_weights(weights, axis)
        bias_scales = [scale * s for s in scales]
        bias = np.rint(stored[f"{name}.b"] / np.array(bias_scales)).astype("<i4")
        w = model.tensor(
            q.shape, name=f"{name}_weights", scale=scales, zero_point=[0] * len(scales), axis=axis, data=q.tobytes()
        )
        b = model.tensor(
            bias.shape,
            "int32",
            name=f"{name}_bias",
            scale=bias_scales,
            zero_point=[0] * len(scales),
            data=bias.tobytes(),
        )
        scale, zero = activation_scale(*map(float, stored[f"{name}.range"]))
        if kind == "dense":
            shape = (1, 10)
            y = model.tensor(shape, name=name, scale=scale, zero_point=zero)
            model.operator("FULLY_CONNECTED", [x, w, b], [y], version=4, fused_activation_function="NONE")
        else:
            shape = (*shape[:3], bias.size)
            y = model.tensor(shape, name=name, scale=scale, zero_point=zero)
            common: dict[str, Any] = {
                "padding": "SAME",
                "stride_w": 1,
                "stride_h": 1,
                "fused_activation_function": "RELU",
            }
            common |= {"dilation_w_factor": 1, "dilation_h_factor": 1}
            if kind == "depthwise":
                model.operator("DEPTHWISE_CONV_2D", [x, w, b], [y], version=3, depth_multiplier=1, **common)
            else:
                model.operator("CONV_2D", [x, w, b], [y], version=3, **common)
        x = y
    scores = model.tensor((1, 10), name="scores", scale=1 / 256, zero_point=-128)
    model.operator("SOFTMAX", [x], [scores], version=2, beta=1.0)
    return model.build([image], [scores])


# -- command line ----------------------------------------------------------------------------------------------------


def make() -> int:
    """Train, record ranges, write everything."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = data.images.astype(np.float64)[..., None] / 16
    order = np.random.default_rng(SEED).permutation(len(images))
    test, rest = order[:HELD_OUT_IMAGES], order[HELD_OUT_IMAGES:]
    weights = train(images[rest], data.target[rest])
    outputs, _ = forward(weights, images[rest])
    stored = {key: value.astype(np.float32) for key, value in weights.items()}
    for name, kind, _ in LAYERS:
        if kind not in ("max", "average"):
            stored[f"{name}.range"] = np.array([outputs[name].min(), outputs[name].max()], np.float32)
    np.savez(WEIGHTS, **stored)
    pixels = np.rint(images[test] * 255).astype(np.int16) - 128
    np.savez_compressed(HELD_OUT, images=pixels.astype(np.int8), labels=data.target[test].astype(np.uint8))
    scores, _ = forward(weights, images[test])
    print(f"float accuracy on {len(test)} held-out images: {np.mean(scores['fc'].argmax(1) == data.target[test]):.4f}")
    MODEL.write_bytes(derive())
    print(f"wrote {MODEL.name}, {MODEL.stat().st_size} bytes")
    return 0


def derive() -> bytes:
    """The model from the committed weights."""
    with np.load(WEIGHTS, allow_pickle=False) as file:
        return build_model({key: file[key].astype(np.float64) for key in file.files})


def check() -> int:
    """Compare the committed model with what the weights give."""
    same = derive() == MODEL.read_bytes()
    print(f"{MODEL.name} {'is' if same else 'is NOT'} what the committed weights give, byte for byte")
    return 0 if same else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of training")
    sys.exit(check() if parser.parse_args().check else make())
