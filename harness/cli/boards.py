"""`harness boards`: the boards of the bench and the board types there are."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer()


@app.command()
def boards(
    bench: Path | None = typer.Option(
        None, "--bench", help="Bench file; default: bench.yaml here, else emulated boards."
    ),
    types: bool = typer.Option(False, "--types", help="List board types instead of boards."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the boards of the bench, or all board types, without opening anything."""
    from harness.bench.inventory import load_bench
    from harness.board.descriptor import board_types
    from harness.cli._output import emit_json, emit_table

    known = board_types()
    if types:
        rows = [
            {
                "name": item.name,
                "title": item.title,
                "core": item.core.name,
                "source": item.source,
                "qualification": item.qualification.state,
            }
            for item in known.values()
        ]
        if as_json:
            emit_json({"board_types": rows})
        else:
            emit_table(("type", "core", "source", "state", "title"), [_type_row(row) for row in rows])
        return
    found = load_bench(bench)
    infos = found.boards()
    if as_json:
        emit_json(
            {
                "bench": str(found.path) if found.path else None,
                "boards": [{**info.to_dict(), "source": known[info.board_type].source} for info in infos],
            }
        )
        return
    emit_table(
        ("serial", "type", "source", "probe", "transport", "state", "holder"),
        [
            (
                info.serial,
                info.board_type,
                known[info.board_type].source,
                info.probe,
                info.transport,
                "on demand" if info.on_demand else info.state,
                info.holder or "",
            )
            for info in infos
        ],
    )


def _type_row(row: dict[str, str]) -> tuple[str, ...]:
    return (row["name"], row["core"], row["source"], row["qualification"], row["title"])
