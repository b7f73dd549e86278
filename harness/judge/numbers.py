"""Reading numbers out of records that others wrote."""

from __future__ import annotations

import math


def to_float(value: object, *, finite: bool = False) -> float | None:
    """A number, or a string that holds one, as float; None for anything else, for booleans, and on overflow.

    With `finite`, NaN and infinities are None too.
    """
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return None if finite and not math.isfinite(number) else number
