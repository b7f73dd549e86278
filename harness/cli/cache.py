"""`harness cache`: the compile cache of this host."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli._output import emit_json

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def cache() -> None:
    """Show or shrink the cache of compiled objects and images."""


@app.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """Where the cache lies, how many entries it has, how large it is."""
    from harness.image.compile import image_store

    found = image_store().info()
    if as_json:
        emit_json({"path": str(found.root), "entries": found.entries, "size_bytes": found.size_bytes})
    else:
        typer.echo(f"{found.root}: {found.entries} entries, {found.size_bytes} bytes")


@app.command()
def purge(
    max_size: Annotated[
        str, typer.Option(help="bytes to keep at most, as in 500M; the least recently used go first")
    ] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Remove entries until the cache is at most so large."""
    from harness.core.errors import UsageError
    from harness.image.compile import image_store
    from harness.plan.checks import size

    try:
        limit = size(0, 1 << 50)(max_size)
    except ValueError as fault:
        raise UsageError(f"--max-size {fault}.", why=f"It is {max_size!r}.") from None
    store = image_store()
    removed = store.purge(limit)
    left = store.info()
    if as_json:
        emit_json({"path": str(left.root), "removed": removed, "entries": left.entries, "size_bytes": left.size_bytes})
    else:
        typer.echo(f"Removed {removed} entries; {left.entries} entries, {left.size_bytes} bytes are left.")
