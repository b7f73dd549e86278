"""How commands print: JSON for machines, tables for people, progress lines on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def emit_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, sort_keys=True, allow_nan=False))


def emit_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print an aligned plain-text table; numbers to the right, never cut at the terminal's width."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(headings)]
    numeric = [bool(cells) and all(_is_number(row[i]) for row in cells) for i in range(len(headings))]

    def line(row: Sequence[str]) -> str:
        parts = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True)]
        return "  ".join(parts).rstrip()

    typer.echo(line(list(headings)))
    typer.echo("  ".join("-" * width for width in widths))
    for row in cells:
        typer.echo(line(row))


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).lstrip("+-").rstrip("%").isdigit() or text == "-"


class PhaseLog:
    """Prints each phase of a run with the seconds since the start; silent unless verbose."""

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose
        self.start = time.monotonic()

    def __call__(self, text: str) -> None:
        """Report one phase."""
        if self.verbose:
            typer.echo(f"[{time.monotonic() - self.start:8.3f} s] {text}", err=True)


def emit_run(outcome: Any) -> None:
    """Print a run for people: the number to publish, the layers that explain it, outputs, issues, bundle."""
    source = outcome.source
    cycles = outcome.clean_cycles
    clean = outcome.result.facts.clean
    board = f"{outcome.build.plan.board} {outcome.serial} ({source})"
    probe = outcome.result.facts.probe
    if probe is not None:
        each = probe.ticks / probe.count if probe.count else 0
        typer.echo(f"{board}: busy loop in place of inferences, {each:,.1f} ticks each ({source}, {probe.count} loops)")
    elif cycles is None or clean is None:
        typer.echo(f"{board}: no clean-window cycles")
    else:
        typer.echo(f"{board}: {cycles:,.1f} cycles per inference ({source}, clean window, {clean.count} inferences)")
    if outcome.power is not None:
        typer.echo(energy_line(outcome.power, source))
    rows = [
        (layer.id, layer.op, "-" if layer.cycles is None else f"{layer.cycles:,.0f}") for layer in outcome.result.layers
    ]
    if rows:
        typer.echo(f"\nlayers, instrumented passes ({source}):")
        emit_table(("id", "op", "cycles"), rows)
    typer.echo(f"\n{outcome.outputs.explain()}")
    for issue in outcome.evaluation.issues:
        typer.echo(f"{issue.severity}: {issue.message} [{issue.code}]")
    typer.echo(f"validity: {outcome.evaluation.validity}")
    typer.echo(f"bundle: {outcome.bundle}")


def energy_line(power: Any, source: str) -> str:
    """Energy of one inference with its interval, or why there is none."""
    line = power.inference
    if line is None:
        return f"energy per inference: none, because of {', '.join(power.suppressed)}"
    share = line.u95_j / line.energy_j * 100 if line.energy_j else 0.0
    return (
        f"{line.energy_j * 1e6:,.3f} uJ per inference, +- {line.u95_j * 1e6:,.3f} uJ ({share:.2f} %) at 95 %"
        f" ({source}, {power.monitor}, {line.windows} windows of {line.inferences} inferences)"
    )


def finish_run(outcome: Any, as_json: bool) -> None:
    """Print a run and end with its exit code: 3 when outputs differ, 1 when the measurements do not count."""
    if as_json:
        emit_json(outcome.to_dict())
    else:
        emit_run(outcome)
    if outcome.outputs.match is False:
        raise typer.Exit(3)
    if not outcome.valid:
        raise typer.Exit(1)
