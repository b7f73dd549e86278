"""Vela's tables: one summary row, and one row per compiled operator."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.interop.errors import ForeignFormatError

MAX_BYTES = 64 * 1024 * 1024
SUMMARY_NEEDS = ("network", "accelerator_configuration", "system_config", "memory_mode", "cycles_total")
LAYER_NEEDS = ("Original Operator", "NNG Operator", "Target", "Op Cycles", "NPU", "MAC Count", "Name")


@dataclass(frozen=True)
class VelaLayer:
    """One operator of the compiled network, in order. `figures` are the numeric columns as written."""

    original: str
    compiled: str
    target: str
    name: str
    figures: Mapping[str, float]


@dataclass(frozen=True)
class VelaTables:
    """A compilation's estimates: configuration texts and figures of the whole, and the rows."""

    texts: Mapping[str, str]
    figures: Mapping[str, float]
    layers: tuple[VelaLayer, ...]


def looks_like_vela(head: bytes) -> bool:
    """Whether a file begins like one of the two tables."""
    first = head.split(b"\n", 1)[0]
    return first.startswith((b"experiment,network,accelerator_configuration", b"Original Operator,NNG"))


def _rows(path: Path, needs: tuple[str, ...]) -> list[dict[str, str]]:
    file = str(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ForeignFormatError("The table is too large.", file=file)
        text = path.read_bytes().decode("utf-8")
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = list(reader)
    except OSError as error:
        raise ForeignFormatError("The table cannot be read.", file=file, why=str(error)) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ForeignFormatError("The table is no CSV.", file=file, why=str(error)[:200]) from None
    missing = [name for name in needs if name not in (reader.fieldnames or ())]
    if missing:
        raise ForeignFormatError("The table lacks columns.", file=file, field="heading", why=", ".join(missing))
    for number, row in enumerate(rows):
        if None in row or any(value is None for value in row.values()):
            raise ForeignFormatError("A row has another width than the heading.", file=file, field=f"row {number + 2}")
    return rows


def _number(text: str, file: Path, field: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ForeignFormatError("A figure is no number.", file=str(file), field=field, why=repr(text)[:60]) from None
    if not math.isfinite(value) or value < 0:
        raise ForeignFormatError("A figure is no finite number from 0.", file=str(file), field=field, why=text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


_TEXTS = ("experiment", "network", "accelerator_configuration", "system_config", "memory_mode", "weights_storage_area",
          "feature_map_storage_area")  # fmt: skip


def read_tables(summary: Path, layers: Path) -> VelaTables:
    """Read both tables of one compilation.

    Raises:
        ForeignFormatError: a table is missing, cut short or holds something else; it names file and column.
    """
    heads = _rows(summary, SUMMARY_NEEDS)
    if len(heads) != 1:
        raise ForeignFormatError("The summary has to hold one row.", file=str(summary), why=f"{len(heads)} rows")
    texts = {name: value for name, value in heads[0].items() if name in _TEXTS}
    figures = {name: _number(value, summary, name) for name, value in heads[0].items() if name not in _TEXTS}
    found: list[VelaLayer] = []
    for number, row in enumerate(_rows(layers, LAYER_NEEDS)):
        numbers = {
            name: _number(value, layers, f"row {number + 2}, {name}")
            for name, value in row.items()
            if name not in ("Original Operator", "NNG Operator", "Target", "Name")
        }
        found.append(VelaLayer(row["Original Operator"], row["NNG Operator"], row["Target"], row["Name"], numbers))
    return VelaTables(texts, figures, tuple(found))


def find_tables(path: Path) -> tuple[Path, Path]:
    """Summary and per-layer table, given either of them or their directory."""
    if not path.exists():
        raise ForeignFormatError("There is no such file or directory.", file=str(path), todo="Check the path.")
    directory = path if path.is_dir() else path.parent
    summaries = sorted(directory.glob("*_summary_*.csv"))
    layers = sorted(directory.glob("*_per-layer.csv"))
    if path.is_file() and path in summaries:
        summaries = [path]
    stem = summaries[0].name.split("_summary_")[0] if len(summaries) == 1 else ""
    layers = [item for item in layers if item.name == f"{stem}_per-layer.csv"] or layers
    if len(summaries) != 1 or len(layers) != 1:
        raise ForeignFormatError(
            "The two Vela tables are not there.",
            file=str(directory),
            why=f"{len(summaries)} summaries and {len(layers)} per-layer tables",
            todo="Compile one model into an empty directory with --verbose-performance.",
        )
    return summaries[0], layers[0]
