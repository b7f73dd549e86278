"""`harness probes`: debug probes, listed without opening any."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer()


@app.command()
def probes(
    bench: Path | None = typer.Option(
        None, "--bench", help="Bench file; default: bench.yaml here, else emulated boards."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List J-Links on USB and emulated boards that are alive. Opens none, so it never disturbs a run."""
    from harness.bench.inventory import load_bench
    from harness.bench.probes import list_probes
    from harness.cli._output import emit_json, emit_table

    found, problem = list_probes(load_bench(bench))
    if as_json:
        emit_json({"probes": [probe.to_dict() for probe in found], "problem": problem or None})
        return
    if found:
        emit_table(
            ("serial", "probe", "link", "board type", "holder"),
            [
                (probe.serial or "not told", probe.product, probe.link, probe.board_type, probe.holder or "")
                for probe in found
            ],
        )
    else:
        typer.echo("No probes. Emulated boards start when a run asks for them: `harness boards`.")
    if problem:
        typer.echo(problem, err=True)
