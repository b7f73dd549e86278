"""`harness build`: a plan becomes a firmware image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from harness.image.record import Build

app = typer.Typer(add_completion=False)


@app.command()
def build(
    plan: Annotated[Path, typer.Argument(help="the plan, from `harness freeze`")],
    out: Annotated[Path, typer.Option("--out", help="directory to make; new or empty")],
    inputs: Annotated[
        list[Path] | None, typer.Option("--input", help="file of a model input, raw or .npy; once per input, in order")
    ] = None,
    lifecycle: Annotated[
        Literal["carry", "single"], typer.Option(help="the plan's counts in one boot, or one inference a boot")
    ] = "carry",
    timing_scope: Annotated[
        Literal["invoke_only", "restore_and_invoke"] | None,
        typer.Option(help="what the clean window spans (default: invoke_only)", show_default=False),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="the model file, when it moved since freezing")] = None,
    runtimes: Annotated[
        list[Path] | None, typer.Option("--runtime", help="directory of the plan's runtime, when it moved")
    ] = None,
    cache: Annotated[bool, typer.Option(help="use and fill the cache of objects and images")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Build the firmware image of a plan into a new directory."""
    from harness.image.build import build as build_image

    made = build_image(
        plan,
        out,
        model=model,
        inputs=inputs or (),
        lifecycle=lifecycle,
        timing_scope=timing_scope,
        cache=cache,
        runtimes=runtimes or (),
    )
    print_build(made, out, as_json=as_json)


def print_build(made: Build, directory: Path, *, as_json: bool) -> None:
    """Print the summary of a build."""
    if as_json:
        emit_json(summary(made, directory))
        return
    typer.echo(f"{made.build_hash}\n{directory / made.elf_file.name}: build {made.build_id} for {made.plan.board}")
    rows = [
        (use.region, use.text, use.data, use.bss, use.initial_values, use.used, use.length)
        for use in made.memory.values()
    ]
    emit_table(("memory", "text", "data", "bss", "initial values", "used", "of"), rows)


def summary(made: Build, directory: Path) -> dict[str, Any]:
    """A build for machines."""
    tensors = made.engine.input_tensors
    return {
        "build": str(directory / "build.json"),
        "build_hash": made.build_hash,
        "build_id": made.build_id,
        "intent_hash": made.plan.intent_hash,
        "board": made.plan.board,
        "lifecycle": made.lifecycle,
        "timing_scope": made.timing_scope,
        "elf": {"path": str(directory / made.elf_file.name), "sha256": made.sha256},
        "inputs": [
            {"name": tensor.name, "bytes": tensor.nbytes, "path": item.file.name, "source": item.source}
            for tensor, item in zip(tensors, made.inputs, strict=True)
        ],
        "memory": {name: {"used": use.used, "length": use.length} for name, use in made.memory.items()},
    }
