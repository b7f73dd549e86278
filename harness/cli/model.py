"""`harness model fit|show`: cost models, fitted from bundles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.predict.record import CostModel, FittedModel

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Fit cost models, and show what is in them.")


@app.command()
def fit(
    bundles: Annotated[list[Path], typer.Argument(help="bundles of models measured on silicon or emulated boards")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file to write")],
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Fit a cost model: one fit for each board, kernel set, counter model, toolchain and placement that occur."""
    from harness.core.errors import UsageError
    from harness.predict.record import fit_models
    from harness.predict.training import read_measured

    if out.exists() or not out.parent.is_dir():
        raise UsageError(f"{out} cannot be written.", why="It exists, or its directory does not.")
    costs = fit_models([read_measured(path) for path in bundles])
    costs.save(out)
    _emit(costs, as_json)
    if not as_json:
        typer.echo(f"\nwritten: {out}")


@app.command()
def show(
    file: Annotated[Path | None, typer.Argument(help="a cost model; the packaged one by default")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Show what a cost model was fitted from, for which conditions, and how far it is off."""
    from harness.predict.record import load_cost_model, packaged

    _emit(load_cost_model(file) if file is not None else packaged(), as_json)


def _names(models: Sequence[FittedModel]) -> str:
    shown = ", ".join(model.name for model in models[:3])
    return f"{len(models)} models: {shown}, ..." if len(models) > 3 else shown


def _emit(costs: CostModel, as_json: bool) -> None:
    from harness.cli._output import emit_json, emit_table
    from harness.predict.features import MEANING

    if as_json:
        emit_json(costs.to_dict())
        return
    for number, found in enumerate(costs.fits):
        where = found.conditions
        typer.echo(
            ("\n" if number else "")
            + f"{where['board']} [{where['source']}], {where['engine']} {where['engine_backend']}, "
            f"{where['toolchain']} {where['optimization']}, {where['counter_model']}"
        )
        typer.echo(
            f"{found.layers} layers of {_names(found.models)}\n"
            f"{found.scored} shapes left out and predicted: median error {found.median_error:.1%}, "
            f"{found.level:.0%} within {found.p90_error:.1%}"
        )
        rows = [
            (
                kind.kind,
                kind.layers,
                f"{kind.noise:.1%}",
                ", ".join(f"{value:.3g} a {name}" for name, value in kind.costs.items() if value),
            )
            for kind in found.kinds
        ]
        emit_table(("kind", "layers", "spread", "cycles"), rows)
    typer.echo("\n" + "\n".join(f"{name}: {text}" for name, text in MEANING.items()))
