"""The end of a session: one row per test that touched a board, counts by class, and the same as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.core.files import atomic_write
from harness.core.strict_json import pretty

SCHEMA = "harness.session-summary"
COUNTED = {
    "regression": "regressions",
    "inconclusive": "inconclusive",
    "outputs": "output mismatches",
    "infrastructure": "infrastructure faults",
    "blocked": "blocked tests",
    "usage": "usage errors",
}
HEADINGS = ("test", "board", "source", "cycles/inference", "energy/inference", "outputs", "verdict", "bundle")

ENERGY_COLUMN = HEADINGS.index("energy/inference")
"""Shown when some test measured energy."""


def counts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many tests ended in each class, every class present; and how many, in whatever class, were flaky."""
    seen = Counter(record["class"] for record in records)
    return (
        {"passed": seen["passed"], "skipped": seen["skipped"], "failed": seen["failed"]}
        | {name: seen[name] for name in COUNTED}
        | {"flaky": sum(bool(record.get("flaky")) for record in records)}
    )


def write_table(terminal: pytest.TerminalReporter, records: Sequence[dict[str, Any]]) -> None:
    """Print the table of runs and the counts."""
    terminal.section("hardware in the loop")
    rows = [_row(record) for record in records if record["bundles"]]
    if rows:
        table = [HEADINGS, *rows]
        if not any(record.get("energy_j") is not None for record in records):
            table = [tuple(cell for i, cell in enumerate(row) if i != ENERGY_COLUMN) for row in table]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
        for row in table:
            cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
            terminal.write_line("  ".join([*cells, row[-1]]).rstrip())
    tally = counts(records)
    text = ", ".join(
        f"{tally[name]} {label}"
        for name, label in COUNTED.items()
        if name not in ("usage", "inconclusive") or tally[name]
    )
    terminal.write_line(f"{len(records)} tests on boards: {text}")
    if tally["flaky"]:
        terminal.write_line(
            f"{tally['flaky']} flaky: their runs succeeded only when they were tried again", yellow=True
        )
    for record in records:
        for attempt in record.get("flaky", ()):
            where = f"{record['test']}: attempt {attempt['number']} failed"
            terminal.write_line(f"  {where}: {attempt['what']} [{attempt['code']}]; evidence in {attempt['bundle']}")


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    name = record["test"].rsplit("::", 1)[-1].replace(f"[{record.get('board')}]", "")
    verdicts = ", ".join(verdict["status"] for verdict in record["verdicts"]) or "-"
    cycles = record.get("cycles")
    match, energy = record.get("outputs_match"), record.get("energy_j")
    bundle = record["bundles"][0]
    return (
        name,
        record.get("board", "-"),
        record.get("source", "-"),
        "-" if cycles is None else f"{cycles:,.0f}",
        "-" if energy is None else f"{energy * 1e6:,.3f} uJ",
        {True: "match", False: "DIFFER", None: "-"}[match],
        verdicts,
        bundle["path"],
    )


def write_json(path: str, records: Sequence[dict[str, Any]]) -> None:
    """Write the summary file, replacing an older one in one step."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    body = {"schema": SCHEMA, "schema_version": 1, "counts": counts(records), "tests": list(records)}
    atomic_write(target, pretty(body))
