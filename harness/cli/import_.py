"""`harness import PATH...`: read a foreign result and write it as one standardized document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(add_completion=False)


def read(paths: list[Path], **options: Any) -> Any:
    """Import paths with the options of the command line."""
    from harness.interop.formats import ImportOptions, import_paths

    return import_paths(paths, ImportOptions(**options))


@app.command()
def import_(
    paths: Annotated[list[Path], typer.Argument(help="the result; several for dispatches, or an ETDump with ETRecord")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="where to write the document")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="refuse unknown keys in captures")] = False,
    compat: Annotated[bool, typer.Option("--compat", help="post-process exactly as the reference does")] = False,
    method: Annotated[str | None, typer.Option("--method", help="method of an ETRecord that holds several")] = None,
    model: Annotated[Path | None, typer.Option("--model", help="of Vela's tables, or .vgf of a capture")] = None,
    ticks_per_ms: Annotated[float, typer.Option("--ticks-per-ms", help="time unit of an ETDump")] = 1e6,
    statistics_mode: Annotated[int | None, typer.Option("--statistics-mode", help="of VGF payloads: 0 or 1")] = None,
    generation: Annotated[str | None, typer.Option("--generation", help="of VGF payloads: G1 or G2")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the document")] = False,
) -> None:
    """Import a result; its format is recognised by its content."""
    from harness.cli._output import emit_json, emit_table
    from harness.core.errors import HarnessError, UsageError
    from harness.core.files import atomic_write
    from harness.core.strict_json import pretty
    from harness.interop.formats import failed_document
    from harness.interop.mlia.postprocess import postprocess

    if statistics_mode not in (None, 0, 1) or generation not in (None, "G1", "G2") or ticks_per_ms <= 0:
        raise UsageError("The statistics mode is 0 or 1, the generation G1 or G2, ticks per ms above 0.")
    if out is not None and (out.exists() or not out.parent.is_dir()):
        raise UsageError(f"{out} cannot be written.", why="It exists, or its directory does not.")
    try:
        found = read(
            paths,
            strict=strict,
            method=method,
            model=model,
            ticks_per_ms=ticks_per_ms,
            statistics_mode=statistics_mode,
            generation=generation,
        )
        processed = postprocess(found.document)
    except HarnessError as error:
        if out is not None:
            atomic_write(out, pretty(failed_document(error, paths)))
        raise
    document = processed.document if compat else processed.extended()
    if not compat:
        # Breakdowns stay what was supplied; what is projected is marked as such in the extension.
        document = {**document, "results": found.document["results"]}
    if out is not None:
        atomic_write(out, pretty(document))
    if as_json:
        emit_json(document)
        return
    typer.echo(f"taken for: {found.format} ({found.title})")
    for result in document["results"]:
        typer.echo(f"\n{result['kind']} by {result['producer']}: {result['status']}, {result.get('mode', 'no mode')}")
        rows = [(m["name"], m.get("value", "-"), m["unit"], m.get("reason", "")) for m in result.get("metrics", ())]
        if rows:
            emit_table(("metric", "value", "unit", "reason"), rows)
        typer.echo(f"{len(result.get('breakdowns', ()))} breakdowns, {len(result.get('entities', ()))} entities")
        for note in result.get("warnings", ()):
            typer.echo(f"warning: {note}")
    if out is not None:
        typer.echo(f"\nwritten: {out}")
