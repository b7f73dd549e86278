"""`harness metrics list`: every metric that a profile may name."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Metrics that a profile may name.")


@app.callback()
def metrics() -> None:
    """Metrics that a profile may name."""


@app.command("list")
def list_(
    bundle: Path | None = typer.Argument(None, help="Also show the values of this bundle, and how they repeat."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List metrics with unit and direction, and the forms of selectors."""
    from harness.cli._output import emit_json, emit_table
    from harness.judge.metrics import METRICS, SELECTORS, repeatability
    from harness.judge.numbers import to_float
    from harness.results.reader import read_bundle

    run = read_bundle(bundle) if bundle is not None else None
    entries = []
    for metric in METRICS.values():
        entry: dict[str, object] = {
            "name": metric.name,
            "unit": metric.unit,
            "better": "smaller" if metric.smaller_is_better else "larger",
            "part": "metrics" if metric.hpx else "harness",
        }
        if run is not None:
            entry["value"] = to_float(metric.read(run), finite=True)
            entry["repeatability"] = repeatability(run, metric)
        entries.append(entry)
    if json_:
        forms = [{"form": form, "unit": unit, "meaning": text} for form, unit, text in SELECTORS]
        emit_json({"metrics": entries, "selectors": forms})
        return
    columns = list(entries[0])
    emit_table(columns, [["-" if entry[name] in (None, "") else entry[name] for name in columns] for entry in entries])
    typer.echo("")
    emit_table(("selector", "unit", "meaning"), SELECTORS)
