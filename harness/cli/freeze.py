"""`harness freeze`: a model and settings become a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli._output import emit_json
from harness.cli._settings import with_settings

app = typer.Typer(add_completion=False)


@app.command()
@with_settings
def freeze(
    output: Annotated[Path, typer.Option("-o", "--output", help="file to write the plan to")],
    settings: dict[str, Any],
    model: Annotated[Path | None, typer.Argument(help="the .tflite file", show_default=False)] = None,
    config: Annotated[Path | None, typer.Option("-c", "--config", help="YAML file of settings")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Freeze a model and settings to a plan.

    Opens and checks the model, finds the compiler, and writes every setting that decides the firmware and what it
    measures. Options win over the configuration file.
    """
    from harness.plan.freeze import freeze as freeze_plan

    plan = freeze_plan(model, config=config, **settings)
    plan.save(output)
    if as_json:
        emit_json(
            {"intent_hash": plan.intent_hash, "plan": str(output), "board": plan.board, "model": plan.model.sha256}
        )
    else:
        typer.echo(
            f"{plan.intent_hash}\n{output}: {Path(plan.model.path).name} on {plan.board}, {plan.toolchain.version}"
        )
