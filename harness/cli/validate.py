"""`harness validate`: re-verify what is on disk, without hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def validate() -> None:
    """Re-verify records on disk without hardware."""


@app.command()
def build(
    directory: Annotated[Path, typer.Argument(help="the build directory or its build.json")],
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Re-verify a build: every pinned file, the plan, the build id, the ELF."""
    from harness.cli.build import print_build
    from harness.image.record import load_build

    print_build(load_build(directory), directory if directory.is_dir() else directory.parent, as_json=as_json)
