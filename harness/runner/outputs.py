"""Compare what the target computed with the reference, tensor by tensor and layer by layer."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.results.outputs import LayerCheck, OutputsCheck, TensorCheck

Tensors = tuple[bytes, ...]


class TensorLike(Protocol):
    """What is needed of a model output: its name, index, dtype and shape."""

    @property
    def name(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


def check_outputs(
    tensors: Sequence[TensorLike],
    layer_ops: Sequence[str],
    *,
    observed: Sequence[Tensors],
    expected: Sequence[Tensors],
    inspected: Sequence[Sequence[Tensors]] = (),
    expected_layers: Sequence[Sequence[Tensors]] = (),
    reference: Mapping[str, str],
    tolerance: float = 0.0,
    windows: Mapping[str, int] | None = None,
    expected_windows: Tensors | None = None,
) -> OutputsCheck:
    """Compare every output of every inference, and every layer of every inspected input.

    Args:
        observed, expected: for each inference, the bytes of each output.
        inspected, expected_layers: for each inspected input and layer, the bytes of each output of that operator.
        tolerance: largest allowed absolute error of a model output, in stored units. With one, only model outputs
            decide; without one every layer must be equal byte for byte, too. Differing layers are listed in any case.
        windows: CRC-32 of the outputs that the last inference of the clean window and of each pass left in memory.
        expected_windows: the reference's outputs for the inputs of those; not compared within a tolerance.
    """
    checks = tuple(
        _tensor_check(tensor, [outs[i] for outs in observed], [outs[i] for outs in expected])
        for i, tensor in enumerate(tensors)
    )
    layers = tuple(
        _layer_check(layer, op, [case[layer] for case in inspected], [case[layer] for case in expected_layers])
        for layer, op in enumerate(layer_ops)
        if inspected
    )
    close = all(c.identical or (c.max_abs_error is not None and c.max_abs_error <= tolerance) for c in checks)
    differing: tuple[str, ...] = ()
    if windows and expected_windows is not None and tolerance == 0:
        checksum = zlib.crc32(b"".join(expected_windows))
        differing = tuple(name for name, found in windows.items() if found != checksum)
    match = close and not differing and (tolerance > 0 or all(layer.identical for layer in layers))
    return OutputsCheck(
        match=match,
        reference=dict(reference),
        tolerance=tolerance,
        inferences=len(observed),
        inspected=len(inspected),
        tensors=checks,
        layers=layers,
        differing_windows=differing,
    )


def _tensor_check(tensor: TensorLike, observed: Sequence[bytes], expected: Sequence[bytes]) -> TensorCheck:
    dtype = np.dtype(tensor.dtype).newbyteorder("<")
    got = np.frombuffer(b"".join(observed), dtype)
    want = np.frombuffer(b"".join(expected), dtype)
    differs, error = _difference(got, want)
    return TensorCheck(
        name=tensor.name,
        index=tensor.index,
        dtype=tensor.dtype,
        shape=tuple(tensor.shape),
        elements=max(got.size, want.size),
        mismatched=differs,
        max_abs_error=error,
    )


def _difference(got: NDArray[np.generic], want: NDArray[np.generic]) -> tuple[int, float | None]:
    if got.size != want.size:
        return max(got.size, want.size), None
    if got.size == 0:
        return 0, 0.0
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    worst = float(error.max())
    return int(np.count_nonzero(~same)), worst if np.isfinite(error).all() else None


def _layer_check(layer: int, op: str, observed: Sequence[Tensors], expected: Sequence[Tensors]) -> LayerCheck:
    elements = mismatched = 0
    first: int | None = None
    for case, (got, want) in enumerate(zip(observed, expected, strict=True)):
        a, b = b"".join(got), b"".join(want)
        elements += max(len(a), len(b))
        if a != b:
            first = case if first is None else first
            x, y = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
            shared = min(x.size, y.size)
            mismatched += int(np.count_nonzero(x[:shared] != y[:shared])) + abs(x.size - y.size)
    return LayerCheck(layer=layer, op=op, elements=elements, mismatched=mismatched, first_input=first)
