"""Documentation tables written from the registries: `python -m harness.judge.tables docs` rewrites them in place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.core.files import atomic_write
from harness.judge.comparability import CODES
from harness.judge.metrics import METRICS, SELECTORS
from harness.judge.status import STATUSES
from harness.results.dimensions import DIMENSIONS
from harness.results.issues import ISSUES

NOTE = "<!-- Written by `python -m harness.judge.tables docs` from the registries; edit those. -->"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [
        "| " + " | ".join(headings) + " |",
        "|" + "---|" * len(headings),
        *("| " + " | ".join(row) + " |" for row in cells),
    ]


def issue_codes() -> str:
    """`docs/issue-codes.md`: codes of validity and of comparability, and dimensions."""
    lines = ["# Issue codes", "", NOTE, "", "## Validity of one run", ""]
    lines += [
        "An error makes a run invalid, a warning degraded. Invalid runs are compared only in what no error blocks.",
        "",
    ]
    lines += _table(
        ("code", "severity", "blocks", "meaning"),
        ((f"`{item.code}`", item.severity.value, item.blocks.value, item.text) for item in ISSUES.values()),
    )
    lines += ["", "## Comparability of two runs", ""]
    lines += [
        "`*` stands for a dimension. `blocking` refuses the comparison (exit 4), `layer_blocking` drops the layers,",
        "`metric_blocking` drops one group of metrics, `informative` is shown.",
        "",
    ]
    lines += _table(
        ("code", "severity", "drops", "meaning"),
        ((f"`{item.code}`", item.severity.value, item.group or "-", _words(item.text)) for item in CODES.values()),
    )
    lines += ["", "## Dimensions", "", "A value that one side does not state is no difference, except where noted.", ""]
    lines += _table(
        ("dimension", "a difference", "read from", "notes"),
        ((f"`{item.name}`", item.effect.value, item.where.value, _notes(item.name)) for item in DIMENSIONS.values()),
    )
    return "\n".join(lines) + "\n"


def _words(text: str) -> str:
    for name in ("role", "status", "codes", "state", "dimension", "baseline", "candidate"):
        text = text.replace("{" + name + "}", f"*{name}*")
    return text


def _notes(name: str) -> str:
    item = DIMENSIONS[name]
    notes = []
    if item.one_sided:
        notes.append("a value on one side only differs too")
    if not item.manifest:
        notes.append("the manifest does not override it")
    if item.scoped_to:
        notes.append("looked at only where " + ", ".join(item.scoped_to) + " agree")
    return "; ".join(notes) or "-"


def metrics() -> str:
    """`docs/metrics.md`: every metric and selector."""
    lines = ["# Metrics", "", NOTE, "", "## Metrics of the `metrics` map", ""]
    lines += ["Judged exactly as hpx 0.4.1 judges them.", ""]
    head = ("metric", "unit", "better", "dropped with", "repeats as")
    lines += _table(head, (_metric_row(name) for name, item in METRICS.items() if item.hpx))
    lines += ["", "## Metrics of the `harness` part", ""]
    lines += _table(head, (_metric_row(name) for name, item in METRICS.items() if not item.hpx))
    lines += ["", "## Selectors", "", "For metrics that exist only in a given bundle.", ""]
    lines += _table(("form", "unit", "meaning"), ((f"`{form}`", unit, text) for form, unit, text in SELECTORS))
    lines += [
        "",
        "A metric repeats *exactly* where the bundle's `extensions.harness.repeatability` says so for its family",
        "(`counters`, `window`); sizes always do.",
    ]
    return "\n".join(lines) + "\n"


def _metric_row(name: str) -> tuple[str, ...]:
    item = METRICS[name]
    better = "smaller" if item.smaller_is_better else "larger"
    return (f"`{name}`", item.unit or "-", better, item.group.value if item.group else "-", item.family)


def statuses() -> str:
    """`docs/statuses.md`: what every status means to a test and to a script."""
    lines = [
        "# Statuses",
        "",
        NOTE,
        "",
        "The first of the list that occurs among metrics decides the whole. A pytest session in which nothing failed",
        "but inconclusive verdicts ends with 7 too, any other failed one with 1.",
        "",
    ]
    head = ("status", "in a test", "exit code", "class in the session summary", "when")
    lines += _table(
        head,
        (
            (
                f"`{name}`",
                "true" if rule.true else "raises" if name == "error" else "false",
                "its error's" if rule.exit_code is None else str(rule.exit_code),
                rule.test_class,
                rule.when,
            )
            for name, rule in STATUSES.items()
        ),
    )
    return "\n".join(lines) + "\n"


DOCUMENTS: Mapping[str, str] = {
    "issue-codes.md": issue_codes(),
    "metrics.md": metrics(),
    "statuses.md": statuses(),
}
"""File name in `docs/` and its text."""


def write(directory: Path) -> list[Path]:
    """Write every document; returns the paths."""
    for name, text in DOCUMENTS.items():
        atomic_write(directory / name, text)
    return [directory / name for name in DOCUMENTS]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
