"""`harness advice BUNDLE`: what the rules say of a run, with the figures they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def advice(
    bundle: Annotated[Path, typer.Argument(help="a bundle's directory, measured or predicted")],
    as_json: Annotated[bool, typer.Option("--json", help="print all of it as JSON")] = False,
) -> None:
    """Show the most weighty advice on a run, at most three; `--json` has all."""
    from harness.advice.advise import advice_for, advice_text
    from harness.cli._output import emit_json
    from harness.core.errors import UsageError
    from harness.results.operators import NAME, operators_of
    from harness.results.reader import read_bundle

    run = read_bundle(bundle)
    if not operators_of(run):
        raise UsageError(
            f"{bundle} does not say what its operators are.",
            why=f"It has no {NAME}: the run failed, or another tool or an earlier version wrote it.",
            todo="Measure the model again with this version.",
        )
    found = advice_for(run)
    if as_json:
        emit_json({"bundle": str(bundle), "source": run.source, "advice": [item.to_dict() for item in found]})
        return
    typer.echo(advice_text(found))
