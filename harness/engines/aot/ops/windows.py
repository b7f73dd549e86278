"""Windows over images, as convolutions and pools use them, checked against the tensors' shapes."""

from __future__ import annotations

from collections.abc import Mapping

from harness.engines.aot.lowering import OpView
from harness.engines.aot.quant import pad_before, window_outputs

MAX_REACH = 1 << 20


def window(op: OpView, kernel: tuple[int, int], dilation: tuple[int, int] = (1, 1)) -> Mapping[str, int]:
    """Fields of `nn_window_t` for the operator's first input and its output.

    `kernel` and `dilation` are (height, width).
    """
    batches, in_h, in_w, in_channels = op.shape4(op.input(0), "the input")
    out_batches, out_h, out_w, out_channels = op.shape4(op.output(), "the output")
    padding = op.option("padding")
    if padding not in ("SAME", "VALID"):
        op.refuse(f"option padding is {padding}")
    stride = op.positive("stride_h"), op.positive("stride_w")
    if any((k - 1) * d >= MAX_REACH for k, d in zip(kernel, dilation, strict=True)):
        op.refuse(f"the window reaches over {MAX_REACH} pixels")
    expected = tuple(
        window_outputs(padding, extent, k, s, d)
        for extent, k, s, d in zip((in_h, in_w), kernel, stride, dilation, strict=True)
    )
    if expected != (out_h, out_w) or out_batches != batches:
        op.refuse(f"the output has shape {list(op.output().shape)}; expected {[batches, *expected, out_channels]}")
    pads = [
        pad_before(extent, outputs, k, s, d)
        for extent, outputs, k, s, d in zip((in_h, in_w), expected, kernel, stride, dilation, strict=True)
    ]
    return {
        "batches": batches,
        "in_h": in_h,
        "in_w": in_w,
        "in_channels": in_channels,
        "out_h": out_h,
        "out_w": out_w,
        "out_channels": out_channels,
        "kernel_h": kernel[0],
        "kernel_w": kernel[1],
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h": dilation[0],
        "dilation_w": dilation[1],
        "pad_top": pads[0],
        "pad_left": pads[1],
    }
