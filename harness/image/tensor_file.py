"""A tensor's bytes from a file: raw, or NumPy's `.npy`."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import numpy as np

from harness.core.errors import UsageError
from harness.engines.base import TensorFacts

_WIDEST, _HEADER = 16, 1 << 16
"""Bytes of NumPy's widest element, and more than any header of a .npy file takes."""


def read_tensor(path: Path | str, tensor: TensorFacts, role: str) -> bytes:
    """The bytes that a file gives a tensor, little-endian, rows last.

    A file whose name ends in `.npy` must hold an array of the tensor's element type and shape, leading extents of 1
    left out or added; any other file is taken as raw bytes.

    Args:
        path: the file.
        tensor: what it is for.
        role: how messages call the tensor, as in `input 0`.

    Raises:
        UsageError: it cannot be read, or does not fit; `OSError` when it is not there.
    """
    source = Path(path)
    facts = source.stat()
    if not stat.S_ISREG(facts.st_mode):
        # A pipe may never end, and a device never does.
        raise UsageError(
            f"{source} is no regular file.", why=f"It is for {role} ({tensor.name}).", todo="Name a file of bytes."
        )
    if source.suffix != ".npy":
        if facts.st_size != tensor.nbytes:
            raise UsageError(
                f"{source} has {facts.st_size} bytes, {role} ({tensor.name}) takes {tensor.nbytes}.",
                why=f"Its shape is {list(tensor.shape)} of {tensor.dtype}.",
                todo="Write the raw bytes of the tensor, without any header, or an array as .npy.",
            )
        return source.read_bytes()
    if facts.st_size > _WIDEST * tensor.nbytes + _HEADER:
        raise UsageError(
            f"{source} has {facts.st_size} bytes, more than any array for {role} ({tensor.name}).",
            why=f"Its shape is {list(tensor.shape)} of {tensor.dtype}.",
            todo="Write an array of that shape.",
        )
    try:
        array = np.load(io.BytesIO(source.read_bytes()), allow_pickle=False)
    # NumPy meets damaged files with whatever its parsing runs into.
    except Exception as fault:
        raise UsageError(
            f"{source} cannot be read as .npy.", why=f"{fault}".splitlines()[0] if str(fault) else "It is cut off."
        ) from None
    wanted = np.dtype(tensor.dtype)
    if not isinstance(array, np.ndarray) or array.dtype.newbyteorder("=") != wanted:
        raise UsageError(
            f"{source} holds {getattr(array, 'dtype', 'no array')}, {role} ({tensor.name}) is {tensor.dtype}.",
            todo=quantise_hint(tensor),
        )
    if _bare(array.shape) != _bare(tensor.shape):
        raise UsageError(
            f"{source} has shape {list(array.shape)}, {role} ({tensor.name}) has {list(tensor.shape)}.",
            todo="Write an array of that shape.",
        )
    return np.ascontiguousarray(array.astype(wanted.newbyteorder("<"))).tobytes()


def quantise_hint(tensor: TensorFacts) -> str:
    """How real numbers become the tensor's stored ones, in a sentence that says what to do."""
    if tensor.quantization is None or not tensor.quantization.scales or tensor.dtype == "float32":
        return f"Convert it to {tensor.dtype}."
    scale, zero = tensor.quantization.scales[0], tensor.quantization.zero_points[0]
    return f"Quantise it: round(x / {scale:.9g}) + {zero}, clipped to {tensor.dtype}."


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    extents = list(shape)
    while extents and extents[0] == 1:
        del extents[0]
    return tuple(extents)
