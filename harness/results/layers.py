"""The per-layer table of a bundle, `profile_results.csv`: one row a layer, one column a counter."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

IDENTITY_COLUMNS = ("id", "op", "source_index")
DERIVED_COLUMNS = ("cycles", "cycles_pct", "overflow", "macs", "ops", "cycles_per_mac")
NOT_COUNTERS = frozenset({*IDENTITY_COLUMNS, *DERIVED_COLUMNS, "kernel_calls"})
"""Columns that are no measured counter; `kernel_calls` is a count of hpx's that we never write."""


def table_columns(counters: Sequence[str]) -> tuple[str, ...]:
    """Column names in file order for the given counters."""
    return (*IDENTITY_COLUMNS, *counters, *DERIVED_COLUMNS)


def write_layers(rows: Iterable[Mapping[str, Any]], counters: Sequence[str]) -> bytes:
    """The table as CSV bytes; absent values are empty cells, floats in their shortest exact form."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, fieldnames=list(table_columns(counters)), restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    return out.getvalue().encode("utf-8")


def read_layers(data: bytes) -> tuple[dict[str, Any], ...]:
    """Rows of a table with numbers and booleans as such. Cells beyond the header are dropped.

    Raises:
        ValueError: not UTF-8, or not CSV.
    """
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""))
        return tuple({key: _cell(value) for key, value in row.items() if key is not None} for row in reader)
    except csv.Error as error:
        raise ValueError(f"not a CSV table: {error}") from None


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value in ("True", "False"):
        return value == "True"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
