"""`harness boards`: the boards of the bench and the board types; `harness boards new`: a type of one's own."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(invoke_without_command=True)


@app.callback(invoke_without_command=True)
def boards(
    context: typer.Context,
    bench: Path | None = typer.Option(
        None, "--bench", help="Bench file; default: bench.yaml here, else emulated boards."
    ),
    types: bool = typer.Option(False, "--types", help="List board types instead of boards."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the boards of the bench, or all board types, without opening anything."""
    if context.invoked_subcommand is not None:
        return
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
                "qualification": str(item.qualification),
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
                "boards": [
                    {
                        **info.to_dict(),
                        "source": known[info.board_type].source,
                        "qualification": str(known[info.board_type].qualification),
                    }
                    for info in infos
                ],
            }
        )
        return
    emit_table(
        ("serial", "type", "qualification", "probe", "transport", "state", "holder"),
        [
            (
                info.serial,
                info.board_type,
                str(known[info.board_type].qualification),
                info.probe,
                info.transport,
                "on demand" if info.on_demand else info.state,
                info.holder or "",
            )
            for info in infos
        ],
    )


@app.command()
def new(
    name: str = typer.Argument(..., help="Name of the new board type, lower case."),
    core: str | None = typer.Option(None, "--core", help="Its core, as cortex-m4; not needed with --based-on."),
    based_on: str | None = typer.Option(None, "--based-on", help="Board type to inherit from."),
    code: str | None = typer.Option(None, "--code", help="Code memory as ORIGIN:LENGTH, e.g. 0x08000000:1M."),
    ram: str | None = typer.Option(None, "--ram", help="RAM as ORIGIN:LENGTH, e.g. 0x20000000:128K."),
    device: str | None = typer.Option(None, "--device", help="What the J-Link calls the chip."),
    out: Path = typer.Option(Path("boards"), "--out", help="Directory of descriptors; made when missing."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Write a board type that validates and links: a descriptor, and a port to fill in."""
    from harness.board.skeleton import Skeleton, parse_region, write_skeleton
    from harness.cli._output import emit_json

    wish = Skeleton(
        name=name,
        core=core,
        based_on=based_on,
        code=parse_region(code, "--code") if code else None,
        ram=parse_region(ram, "--ram") if ram else None,
        device=device,
    )
    files = write_skeleton(wish, out)
    if as_json:
        emit_json({"board_type": name, "files": [str(path) for path in files]})
        return
    for path in files:
        typer.echo(path)
    typer.echo(f"\nNext: export HIL_BOARDS_PATH={out.absolute()}, fill in what is marked, and")
    typer.echo(f"harness freeze MODEL.tflite --board {name} -o plan.json; harness build plan.json --out build")


def _type_row(row: dict[str, str]) -> tuple[str, ...]:
    return (row["name"], row["core"], row["source"], row["qualification"], row["title"])
