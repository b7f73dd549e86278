"""`harness compare BASE CAND --profile P`: judge a candidate bundle against a baseline."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command()
def compare(
    base: Path = typer.Argument(help="The baseline's bundle directory."),
    cand: Path = typer.Argument(help="The candidate's bundle directory."),
    profile: str = typer.Option(
        "", "--profile", "-p", help="Comparison profile: a file, or the name of a shipped one."
    ),
    metrics: bool = typer.Option(False, "--metrics", help="Also list every metric of both bundles."),
    json_: bool = typer.Option(False, "--json", help="Print the whole outcome as JSON."),
) -> None:
    """Compare two bundles.

    Exit codes: 0 pass, warn, skip or no profile; 1 the verdict is fail; 2 the profile cannot be used; 4 the bundles are
    not comparable; 5 a bundle is broken.
    """
    from harness.judge.compare import try_compare
    from harness.judge.profile_file import find_profile

    outcome = try_compare(base, cand, find_profile(profile) if profile else None)
    if json_:
        from harness.cli._output import emit_json

        emit_json(outcome.to_dict())
    elif outcome.error is not None:
        raise outcome.error
    else:
        typer.echo(outcome.explain())
        if metrics:
            _emit_metrics(outcome)
    raise typer.Exit(outcome.exit_code)


def _emit_metrics(outcome: object) -> None:
    from harness.cli._output import emit_table
    from harness.judge.compare import CompareOutcome
    from harness.judge.explain import number, percent

    assert isinstance(outcome, CompareOutcome)
    typer.echo(f"\nmetrics ({outcome.source or 'source not stated'}):")
    rows = []
    for row in outcome.metrics:
        old, new = (value if isinstance(value, int | float) else None for value in (row.baseline, row.candidate))
        rows.append((row.name, number(old), number(new), percent(row.delta, old), row.unit))
    emit_table(("metric", "baseline", "candidate", "change", "unit"), rows)
