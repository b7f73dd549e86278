"""Compare what the target computed with the reference, tensor by tensor and layer by layer."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.results.outputs import LayerCheck, OutputsCheck, TensorCheck

Tensors = tuple[bytes, ...]
_NUMBERS = ("int8", "uint8", "int16", "int32", "int64", "uint32", "bool", "float16", "float32")


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


class LayerLike(Protocol):
    """What is needed of a layer: its operator and the dtypes of what it gives; none: its bytes are compared alone."""

    @property
    def op(self) -> str: ...
    @property
    def output_dtypes(self) -> tuple[str, ...]: ...


def check_outputs(
    tensors: Sequence[TensorLike],
    layers_run: Sequence[LayerLike],
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
        tensors: the model's outputs.
        layers_run: the operators, in execution order.
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
        _layer_check(number, layer, [case[number] for case in inspected], [case[number] for case in expected_layers])
        for number, layer in enumerate(layers_run)
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
    differs, error, strange = _difference(got, want)
    return TensorCheck(
        name=tensor.name,
        index=tensor.index,
        dtype=tensor.dtype,
        shape=tuple(tensor.shape),
        elements=max(got.size, want.size),
        mismatched=differs,
        max_abs_error=error,
        non_finite=strange,
    )


def _difference(got: NDArray[np.generic], want: NDArray[np.generic]) -> tuple[int, float | None, int]:
    """How many elements differ, the largest error, and in how many of the differing ones there is no finite error.

    Equal infinities, and two elements that are not a number, do not differ.
    """
    if got.size != want.size:
        return max(got.size, want.size), None, 0
    if got.size == 0:
        return 0, 0.0, 0
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    strange = int(np.count_nonzero(~np.isfinite(error)))
    return int(np.count_nonzero(~same)), None if strange else float(error.max()), strange


def _layer_check(layer: int, run: LayerLike, observed: Sequence[Tensors], expected: Sequence[Tensors]) -> LayerCheck:
    elements = mismatched = 0
    first: int | None = None
    worst: float | None = 0.0
    for case, (got, want) in enumerate(zip(observed, expected, strict=True)):
        a, b = b"".join(got), b"".join(want)
        elements += max(len(a), len(b))
        if a != b:
            first = case if first is None else first
            x, y = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
            shared = min(x.size, y.size)
            mismatched += int(np.count_nonzero(x[:shared] != y[:shared])) + abs(x.size - y.size)
            error = _layer_error(run, got, want)
            worst = None if worst is None or error is None else max(worst, error)
    return LayerCheck(layer, run.op, elements, mismatched, first, max_abs_error=worst)


def _layer_error(run: LayerLike, got: Tensors, want: Tensors) -> float | None:
    """Largest error over the outputs of a layer; None when it cannot be said."""
    if not len(run.output_dtypes) == len(got) == len(want):
        return None
    worst = 0.0
    for dtype, a, b in zip(run.output_dtypes, got, want, strict=True):
        if dtype not in _NUMBERS or len(a) != len(b):
            return None
        stored = np.dtype(dtype).newbyteorder("<")
        error = _difference(np.frombuffer(a, stored), np.frombuffer(b, stored))[1]
        if error is None:
            return None
        worst = max(worst, error)
    return worst
