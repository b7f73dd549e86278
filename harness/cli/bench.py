"""`harness bench`: the file that registers this host's boards."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Register the boards on this host."""


@app.command()
def init(
    output: Path = typer.Option(Path("bench.yaml"), "-o", "--output", help="File to write."),
    board: list[str] = typer.Option([], "--board", help="SERIAL=TYPE of a board; may be repeated."),
    force: bool = typer.Option(False, "--force", help="Replace an existing file."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Write bench.yaml: the boards named, else a commented entry for each J-Link on USB, and emulated boards."""
    from harness.bench.init import bench_text, parse_boards
    from harness.cli._output import emit_json
    from harness.core.errors import UsageError
    from harness.core.files import atomic_write
    from harness.probe.listing import list_usb_probes

    if output.exists() and not force:
        raise UsageError(f"{output} exists already.", todo="Name another file with -o, or replace it with --force.")
    named = parse_boards(board)
    listing = list_usb_probes()
    if not output.parent.is_dir():
        raise UsageError(f"The directory {output.parent} does not exist.", todo="Create it first.")
    atomic_write(output, bench_text(named, listing.probes))
    if as_json:
        emit_json({"path": str(output), "boards": {str(serial): kind for serial, kind in named.items()}})
        return
    typer.echo(f"Wrote {output}: {len(named)} board(s) registered, emulated boards on demand.")
    if listing.problem:
        typer.echo(listing.problem, err=True)
