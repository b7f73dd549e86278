"""`harness runtimes`: the engines that this host can build with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from harness.engines.catalogue import RuntimeInfo
    from harness.image.prepare import Prepared

app = typer.Typer(add_completion=False, no_args_is_help=True)

Which = Annotated[str, typer.Argument(help="a name that `list` shows, or the directory of a runtime")]
Places = Annotated[
    list[Path] | None, typer.Option("--runtimes-path", help="directory of a runtime, or of several; may be repeated")
]
Board = Annotated[str | None, typer.Option("--board", help="board type", show_default=False)]
Toolchain = Annotated[str, typer.Option("--toolchain", help="compiler")]
Optimization = Annotated[str, typer.Option("--optimization", help="optimisation level, as the plans will have it")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.callback()
def runtimes() -> None:
    """The engines that this host can build with: the package's own, and those of directories."""


@app.command("list")
def list_(places: Places = None, as_json: Json = False) -> None:
    """Every engine that is known here, with version, digest and state."""
    from harness.engines.catalogue import known

    found = known(places or ())
    if as_json:
        emit_json({"runtimes": [info.to_dict() for info in found]})
        return
    rows = [(info.name, info.version or "-", info.sha256[:12] or "-", info.state, info.origin) for info in found]
    emit_table(("name", "version", "digest", "state", "from"), rows)
    for info in found:
        if info.problem:
            typer.echo(f"\n{info.name}: {info.problem}")


@app.command()
def show(
    which: Which,
    places: Places = None,
    board: Board = None,
    toolchain: Toolchain = "gcc",
    optimization: Optimization = "O2",
    as_json: Json = False,
) -> None:
    """All about one engine; with --board, how much of it is compiled already. A broken one is an error."""
    from harness.engines.catalogue import one

    info = one(which, places or ())
    state: Prepared | None = None
    if board is not None:
        from harness.image.prepare import prepared

        state = prepared(_settings(info, board, toolchain, optimization))
    if as_json:
        emit_json({**info.to_dict(), "prepared": _prepared(state)})
        return
    facts = {"name": info.name, "version": info.version, "digest": info.sha256, "from": info.origin, **info.facts}
    for name, value in facts.items():
        typer.echo(f"{name}: {', '.join(map(str, value)) or 'none' if isinstance(value, list) else value or '-'}")
    if state is not None:
        typer.echo(f"compiled for {state.board}: {state.cached} of {state.units} objects")


@app.command()
def prepare(
    which: Which,
    board: Annotated[str, typer.Option("--board", help="board type")],
    places: Places = None,
    toolchain: Toolchain = "gcc",
    optimization: Optimization = "O2",
    as_json: Json = False,
) -> None:
    """Check an engine for a board and compile what no model changes, so that the first build is quick."""
    from harness.engines.catalogue import one
    from harness.image.prepare import prepare as compile_ahead

    info = one(which, places or ())
    state = compile_ahead(_settings(info, board, toolchain, optimization))
    if as_json:
        emit_json({**info.to_dict(), "prepared": _prepared(state)})
        return
    typer.echo(
        f"{info.name} {info.version} for {state.board}: {state.compiled} objects compiled, "
        f"{state.cached} of {state.units} in the cache\ndigest: {info.sha256 or 'that of the package'}"
    )


def _settings(info: RuntimeInfo, board: str, toolchain: str, optimization: str) -> dict[str, Any]:
    return {**info.settings, "board": board, "toolchain": toolchain, "optimization": optimization}


def _prepared(state: Prepared | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {
        "board": state.board,
        "toolchain": state.toolchain,
        "objects": state.units,
        "cached": state.cached,
        "compiled": state.compiled,
    }
