"""The compiler's debug database: which stripe belongs to which chain and cascade, and which operators those hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.interop.captures.blobs import DEBUG_MAGIC, unframed
from harness.interop.errors import ForeignFormatError

_HEADERS = (
    ("id", "tosa_op", "api_labels"),
    ("id", "api_label"),
    ("id", "tosa_op_ids"),
    ("id", "fused_op_ids"),
    ("id", "cascade_op_ids"),
    ("id", "op_id", "cascade_op_id"),
    ("id", "stripe_op_id"),
)
_SPIRV = re.compile(r"_spirv_id_(\d{1,10})\Z")
MAX_ROWS = 1_000_000


@dataclass(frozen=True)
class TosaOperator:
    """One operator of the compiled graph: its type, and the SPIR-V ids that its labels name."""

    id: str
    type: str
    labels: tuple[str, ...]
    spirv_ids: tuple[int, ...]


@dataclass(frozen=True)
class Placement:
    """Where a stripe belongs. `synthetic`: the database does not say, the ids were made up."""

    chain: str
    cascade: str
    synthetic: bool = False


@dataclass(frozen=True)
class DebugDatabase:
    """The relations of a debug database, by id."""

    operators: Mapping[str, TosaOperator]
    fused: Mapping[str, tuple[str, ...]]
    chains: Mapping[str, tuple[str, ...]]
    cascades: Mapping[str, tuple[str, ...]]
    stripes: Mapping[str, Placement]

    def placement(self, stripe: int) -> Placement:
        """The chain and cascade of a stripe; made-up ids where the database has none."""
        key = str(stripe)
        return self.stripes.get(key) or Placement(f"chain_{key}", f"cascade_{key}", True)

    def operators_of_chain(self, chain: str) -> tuple[TosaOperator, ...]:
        """Operators in a chain, in order, each once."""
        found: dict[str, TosaOperator] = {}
        for fused in self.chains.get(chain, ()):
            for key in self.fused.get(fused, ()):
                if key in self.operators:
                    found[key] = self.operators[key]
        return tuple(found.values())


def read_debug_database(data: bytes, file: str) -> DebugDatabase:
    """Read a debug database.

    Raises:
        ForeignFormatError: not UTF-8, not seven sections with their headings, or a row of another width.
    """
    field = "debug_database"
    payload = unframed(data, DEBUG_MAGIC, file, field)
    try:
        lines = payload.decode("utf-8").rstrip("\0").split("\n")
    except UnicodeDecodeError as error:
        raise ForeignFormatError("The debug database is not UTF-8.", file=file, field=field, why=str(error)) from None
    sections: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == "----":
            sections.append([])
        elif line:
            sections[-1].append(line.rstrip("\r"))
    if len(sections) != len(_HEADERS):
        raise ForeignFormatError(
            "The debug database does not have seven sections.", file=file, field=field, why=f"it has {len(sections)}"
        )
    tables = [_rows(rows, header, file, f"{field} section {i + 1}") for i, (rows, header) in enumerate(_pair(sections))]
    known = frozenset(row[1] for row in tables[1])
    operators = {row[0]: _operator(row, known) for row in tables[0]}
    ops = {row[0]: (row[1], row[2]) for row in tables[5]}
    stripes: dict[str, Placement] = {}
    for stripe, op in tables[6]:
        if op not in ops:
            raise ForeignFormatError(
                "The debug database names a stripe op that it does not hold.",
                file=file,
                field=f"{field} section 7",
                why=f"stripe {stripe}, op {op}",
            )
        stripes[stripe] = Placement(*ops[op])
    fused, chains, cascades = ({row[0]: _items(row[1]) for row in tables[i]} for i in (2, 3, 4))
    return DebugDatabase(operators, fused, chains, cascades, stripes)


def _pair(sections: list[list[str]]) -> Iterable[tuple[list[str], tuple[str, ...]]]:
    return zip(sections, _HEADERS, strict=True)


def _rows(lines: list[str], header: tuple[str, ...], file: str, field: str) -> list[tuple[str, ...]]:
    if not lines or len(lines[0].split("\t")) != len(header) or lines[0].split("\t")[0] != "id":
        raise ForeignFormatError(
            "A section of the debug database has another heading.", file=file, field=field, why=f"not {header}"
        )
    rows: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for line in lines[1 : MAX_ROWS + 1]:
        cells = tuple(line.split("\t", len(header) - 1))
        if len(cells) != len(header):
            raise ForeignFormatError(
                "A row of the debug database has too few cells.", file=file, field=field, why=line[:80]
            )
        if cells[0] in seen:
            raise ForeignFormatError(
                "The debug database repeats an id.", file=file, field=field, why=f"id {cells[0][:40]}"
            )
        seen.add(cells[0])
        rows.append(cells)
    return rows


def _items(text: str) -> tuple[str, ...]:
    return tuple(item for item in text.split(";") if item)


def _operator(row: tuple[str, ...], known: frozenset[str]) -> TosaOperator:
    labels = _labels(row[2], known)
    ids = tuple(int(match.group(1)) for label in labels if (match := _SPIRV.search(label)))
    return TosaOperator(row[0], row[1], labels, ids)


def _labels(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Split a list of labels that may hold semicolons themselves: known labels first, then JSON, then plainly."""
    out: list[str] = []
    rest = text
    while rest:
        parts = rest.split(";")
        for count in range(min(len(parts) - 1, 16), 0, -1):
            candidate = ";".join(parts[:count])
            if candidate in known:
                out.append(candidate)
                rest = ";".join(parts[count:])
                break
        else:
            decoded = _json_labels(rest)
            return (*out, *(decoded if decoded is not None else _items(rest)))
    return tuple(out)


def _json_labels(text: str) -> tuple[str, ...] | None:
    try:
        value = json.loads(text.rstrip(";"))
    except (ValueError, RecursionError):
        return None
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str)) or None
