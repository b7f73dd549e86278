"""`harness export PATH --format F --out FILE`: a result in another format, with what does not survive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="a bundle, or anything that can be imported")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file to write; for hpx the directory")],
    form: Annotated[str, typer.Option("--format", "-f", help="mlia, hpx, csv or model-explorer")] = "mlia",
    compat: Annotated[bool, typer.Option("--compat", help="mlia: as the reference, no extensions")] = False,
    metric: Annotated[str, typer.Option("--metric", help="model-explorer: which metric")] = "op_cycles",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Export a result, and print what does not survive."""
    from harness.cli._output import emit_json, emit_table
    from harness.interop.export import export as write
    from harness.interop.formats import import_paths

    done = write(import_paths([path]), path, out, form, compatible=compat, metric=metric)
    if as_json:
        emit_json({"path": str(done.path), "format": done.format, "losses": [list(row) for row in done.losses]})
        return
    typer.echo(f"written: {done.path} ({done.format})\n\nwhat does not survive:")
    emit_table(("what", "why, or where it is"), done.losses)
