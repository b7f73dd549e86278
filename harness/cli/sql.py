"""`harness sql QUERY`: ask the index of runs."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False)


@app.command()
def sql(
    query: str = typer.Argument(help="SQL over the view `runs`: one row a metric and run."),
    place: Path = typer.Option(Path("hil-history"), "--index", help="Directory of the index."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Run a query over every figure of every indexed run (extra `sql`)."""
    import math

    from harness.cli._output import emit_json, emit_table
    from harness.judge.history_index import existing

    names, rows = existing(place).table(query)
    if json_:

        def plain(value: object) -> object:
            if isinstance(value, float) and not math.isfinite(value):
                return None
            return value if value is None or isinstance(value, str | int | float | bool) else str(value)

        emit_json({"columns": names, "rows": [[plain(value) for value in row] for row in rows]})
    else:
        emit_table(names, [["-" if value is None else value for value in row] for row in rows])
