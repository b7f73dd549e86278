"""Arrays as C initialisers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PER_LINE = {1: 24, 2: 16, 4: 8, 8: 4}
"""Elements on a line, by their width."""

_BYTES = [str(value) for value in range(-128, 128)]


def array_literal(values: NDArray[Any]) -> str:
    """The values in braces, over several lines."""
    flat = values.reshape(-1)
    step = PER_LINE[flat.dtype.itemsize]
    if flat.dtype == np.int8:
        words = list(map(_BYTES.__getitem__, (flat.astype(np.int16) + 128).tolist()))
    else:
        words = list(map(_word, flat.tolist()))
    lines = [", ".join(words[start : start + step]) for start in range(0, len(words), step)]
    return "{\n    " + ",\n    ".join(lines) + ",\n}"


def _word(value: int) -> str:
    # The most negative 32-bit number is no literal of type int.
    return "-2147483647 - 1" if value == -(1 << 31) else str(value)
