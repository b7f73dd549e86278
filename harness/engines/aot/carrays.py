"""Arrays as C initialisers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

PER_LINE = {1: 24, 2: 16, 4: 8, 8: 4}
"""Elements on a line, by their width."""

_BYTES = [str(value) for value in range(-128, 128)]


def array_literal(values: NDArray[Any]) -> str:
    """The values in braces, over several lines."""
    return "{\n" + "".join(_lines(values.reshape(-1))) + "}"


def _lines(flat: NDArray[Any]) -> Iterator[str]:
    step = PER_LINE[flat.dtype.itemsize]
    for start in range(0, flat.size, step):
        part = flat[start : start + step].tolist()
        words = [_BYTES[value + 128] for value in part] if flat.dtype == np.int8 else list(map(_word, part))
        yield f"    {', '.join(words)},\n"


def _word(value: int) -> str:
    # The most negative 32-bit number is no literal of type int.
    return "-2147483647 - 1" if value == -(1 << 31) else str(value)
