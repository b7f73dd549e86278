"""Input bytes for inferences, from whatever a caller has: arrays, bytes, or one array for many inferences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.core.errors import SettingsError

Tensors = tuple[bytes, ...]


def input_cases(inputs: Any, sizes: Sequence[int], dtypes: Sequence[str]) -> tuple[Tensors, ...]:
    """Bytes of each model input for each inference.

    Args:
        inputs: empty; one array of shape (N, ...) for a model with one input; or a sequence with one entry per
            inference, each a sequence with one array or bytes per model input (or, with one input, that alone).
        sizes: bytes of each model input.
        dtypes: element type of each model input.

    Raises:
        SettingsError: the array is empty, or an entry has another number of tensors,
            element type or size than the model.
    """
    if isinstance(inputs, np.ndarray) and inputs.shape[:1] == (0,):
        raise SettingsError(
            f"The inputs are an array of shape {inputs.shape}: no inference at all.",
            why="Zero bytes would be run in place of a data set that failed to load.",
            todo="Give at least one, or `()` for one inference on zero bytes.",
        )
    cases: list[Tensors] = []
    for number, case in enumerate(_sequence(inputs, "The inputs")):
        alone = len(sizes) == 1 and not isinstance(case, list | tuple)
        tensors = [case] if alone else _sequence(case, f"Inference {number}")
        if len(tensors) != len(sizes):
            raise SettingsError(
                f"Inference {number} has {len(tensors)} input tensors; the model has {len(sizes)}.",
                todo="Give one array or bytes per model input, in model order.",
            )
        cases.append(
            tuple(
                _bytes(tensor, size, dtype, f"Inference {number}, input {index}")
                for index, (tensor, size, dtype) in enumerate(zip(tensors, sizes, dtypes, strict=True))
            )
        )
    return tuple(cases)


def _sequence(value: Any, where: str) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise SettingsError(
            f"{where}: {type(value).__name__} is no sequence.", todo="Give one array or bytes per model input."
        ) from None


def _bytes(tensor: Any, size: int, dtype: str, where: str) -> bytes:
    if isinstance(tensor, bytes | bytearray | memoryview):
        data = bytes(tensor)
    else:
        array = np.asarray(tensor)
        if array.dtype != np.dtype(dtype):
            raise SettingsError(
                f"{where} is of type {array.dtype}; the model takes {dtype}.",
                todo="Quantise the input with the scale and zero point that `harness freeze` reports.",
            )
        data = np.ascontiguousarray(array.astype(np.dtype(dtype).newbyteorder("<"))).tobytes()
    if len(data) != size:
        raise SettingsError(
            f"{where} has {len(data)} bytes; the model takes {size}.", todo="Give exactly the tensor's bytes."
        )
    return data
