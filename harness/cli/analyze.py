"""`harness analyze`: what a model costs, without hardware."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from harness.engines.aot.analyze import Analysis

app = typer.Typer(add_completion=False)
BAR = 40


@app.command()
def analyze(
    model: Annotated[Path, typer.Argument(help="the .tflite file")],
    tensors: Annotated[bool, typer.Option("--tensors", help="list every tensor too")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Operators, MACs, parameters, tensor sizes and the arena over time, as engine aot compiles the model."""
    from harness.engines.aot.analyze import analyze as analyze_model
    from harness.engines.base import EngineOptions
    from harness.model.load import load_model

    found = analyze_model(load_model(model), EngineOptions({}))
    if as_json:
        emit_json(found.to_dict())
    else:
        _print(found)
        if tensors:
            _print_tensors(found)


def _print(found: Analysis) -> None:
    most = max(found.arena_peak_bytes, 1)
    rows = [
        (
            row.index,
            row.name,
            " ".join("x".join(map(str, shape)) or "scalar" for shape in row.output_shapes),
            row.macs,
            row.parameters,
            row.parameter_bytes,
            row.input_bytes,
            row.output_bytes,
            row.scratch_bytes,
            row.arena_bytes,
            "#" * max(1, round(BAR * row.arena_bytes / most)),
        )
        for row in found.operators
    ]
    headings = ("op", "name", "output", "MACs", "parameters", "bytes", "in", "out", "scratch", "arena", "arena in use")
    emit_table(headings, rows)
    typer.echo(
        f"\ntotal: {len(found.operators)} operators, {found.macs:,} MACs, {found.parameters:,} parameters in "
        f"{found.parameter_bytes:,} bytes\narena: {found.arena_bytes:,} bytes planned, "
        f"{found.arena_peak_bytes:,} in use at most\nmodel: {found.model_bytes:,} bytes, sha256 {found.model_sha256}"
    )


def _print_tensors(found: Analysis) -> None:
    rows = [
        (
            t.index,
            t.name,
            t.dtype,
            "x".join(map(str, t.shape)) or "scalar",
            t.nbytes,
            "constant" if t.constant else "arena",
        )
        for t in found.tensors
    ]
    typer.echo()
    emit_table(("tensor", "name", "type", "shape", "bytes", "kind"), rows)
