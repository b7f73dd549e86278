"""`harness ports`: probes, serial ports, power monitors and hubs, listed without opening any."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer()


@app.command()
def ports(
    bench: Path | None = typer.Option(
        None, "--bench", help="Bench file; default: bench.yaml here, else emulated boards."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List what boards are plugged into, and which board the bench says it is. Opens none, so it disturbs no run."""
    from harness.bench.inventory import load_bench
    from harness.bench.ports import list_ports
    from harness.cli._output import emit_json, emit_table

    found, problem = list_ports(load_bench(bench))
    if as_json:
        emit_json({"ports": [port.to_dict() for port in found], "problem": problem or None})
        return
    if found:
        rows = [(p.kind, p.device, p.location, p.serial, p.product, p.board, p.use) for p in found]
        emit_table(("kind", "device", "location", "serial", "product", "board", "use"), rows)
    else:
        typer.echo("Nothing is plugged in. Emulated boards have ports while a run uses them.")
    if problem:
        typer.echo(problem, err=True)
