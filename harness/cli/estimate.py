"""`harness estimate MODEL --board B`: what a model would cost on a board, predicted from fitted coefficients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.predict.against import Report
    from harness.predict.estimate import Estimate, Predicted

app = typer.Typer(add_completion=False)


@app.command()
def estimate(
    model: Annotated[Path, typer.Argument(help="the .tflite file")],
    board: Annotated[str, typer.Option("--board", help="board type")],
    kernels: Annotated[str | None, typer.Option("--kernels", help="kernel library, as the setting `backend`")] = None,
    cost_model: Annotated[
        Path | None, typer.Option("--model", "--cost-model", help="file of `harness model fit`; the packaged one")
    ] = None,
    against: Annotated[Path | None, typer.Option("--against", help="a bundle to put the prediction beside")] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, repeatable")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="publish a bundle of source `predicted`")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Predict cycles of each operator and of the whole, with their intervals; nothing is built or run."""
    from harness.cli._output import emit_json
    from harness.cli._settings import named_settings
    from harness.core.errors import UsageError
    from harness.interop.attach import with_standardized
    from harness.plan.freeze import prepare
    from harness.predict.against import beside
    from harness.predict.bundle import predicted_content
    from harness.predict.estimate import estimate as predict
    from harness.predict.record import load_cost_model, packaged
    from harness.predict.training import read_measured
    from harness.results.bundle import publish

    settings: dict[str, Any] = named_settings(setting or ())
    if kernels is not None:
        settings["backend"] = kernels
    if out is not None and out.exists():
        raise UsageError(f"There is something at {out} already.", todo="Name another directory.")
    costs = load_cost_model(cost_model) if cost_model is not None else packaged()
    found = predict(prepare(model, board=board, **settings), costs)
    report = beside(found, read_measured(against)) if against is not None else None
    if out is not None:
        publish(out, with_standardized(predicted_content(found, costs.identity)))
    if as_json:
        told = {**found.to_dict(), "bundle": str(out) if out is not None else None}
        emit_json(told if report is None else {**told, "against": report.to_dict()})
        return
    _print(found)
    if report is not None:
        _print_report(report)
    if out is not None:
        typer.echo(f"\nbundle: {out}")


def _range(found: Predicted) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:,.0f} .. {found.high:,.0f}"


def _cycles(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _print(found: Estimate) -> None:
    from harness.cli._output import emit_table

    fit = found.fit
    typer.echo(
        f"{found.model_name} on {found.board} (predicted, from {fit.layers} layers measured on "
        f"{fit.conditions['source']} {fit.conditions['board']}; kernels {fit.conditions['engine_backend']})\n"
    )
    emit_table(
        ("op", "name", "cycles (predicted)", f"{fit.level:.0%} interval", "why not"),
        [
            (i.index, i.op, _cycles(i.predicted.cycles), _range(i.predicted), i.predicted.reason)
            for i in found.operators
        ],
    )
    total, time = found.total, found.milliseconds
    if total.cycles is None or time.cycles is None or time.low is None or time.high is None:
        typer.echo(f"\ntotal (predicted): unavailable. {total.reason}")
    else:
        typer.echo(
            f"\ntotal (predicted): {total.cycles:,.0f} cycles, {_range(total)}; at {found.clock_hz / 1e6:g} MHz "
            f"{time.cycles:.3f} ms, {time.low:.3f} .. {time.high:.3f}"
        )
    typer.echo(f"arena: {found.arena_bytes:,} bytes, weights: {_cycles(found.weights_bytes)} bytes")
    for text in found.warnings:
        typer.echo(f"warning: {text}")


def _print_report(report: Report) -> None:
    from harness.cli._output import emit_table

    typer.echo(f"\npredicted beside measured ({report.measured_source}, run {report.run_id}); no verdict:")
    emit_table(
        ("op", "name", "predicted", "measured", "error", "in interval"),
        [
            (
                "" if row.index is None else row.index,
                row.op,
                _cycles(row.predicted.cycles),
                _cycles(row.measured),
                "-" if row.error is None else f"{row.error:+.1%}",
                {True: "yes", False: "no", None: "-"}[row.inside],
            )
            for row in (*report.rows, report.total)
        ],
    )
    inside, known = report.inside
    median = report.median_error
    typer.echo(
        f"\nmedian absolute error {'-' if median is None else f'{median:.1%}'}, {inside} of {known} operators in their "
        "interval"
    )
    for text in report.notes:
        typer.echo(f"conditions differ: {text}")
