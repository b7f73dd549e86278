"""`harness profile`: freeze, build and run in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli._settings import named_settings, with_settings
from harness.cli._tensors import (
    EXPECT_OPTION,
    INPUT_OPTION,
    REFERENCE_OPTION,
    SEED_OPTION,
    TOLERANCE_OPTION,
    tensor_arguments,
)

app = typer.Typer(add_completion=False)


@app.command()
@with_settings
def profile(
    settings: dict[str, Any],
    model: Annotated[Path | None, typer.Argument(help="The .tflite file.")] = None,
    config: Annotated[Path | None, typer.Option("-c", "--config", help="YAML file of settings.")] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, repeatable.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Directory of the bundle; must not exist.")] = None,
    serial: Annotated[int | None, typer.Option("--serial", "--jlink-serial", help="Serial of the probe.")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="Bench description (default: bench.yaml).")] = None,
    inputs: Annotated[list[str] | None, INPUT_OPTION] = None,
    input_seed: Annotated[int | None, SEED_OPTION] = None,
    inspect: Annotated[int, typer.Option("--inspect", min=0, help="Inputs to check layer by layer.")] = 1,
    reference: Annotated[str, REFERENCE_OPTION] = "host",
    expect: Annotated[list[str] | None, EXPECT_OPTION] = None,
    tolerance: Annotated[float, TOLERANCE_OPTION] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Freeze, build and run in one go; publishes a bundle.

    Settings as for `harness freeze`, exit codes and inputs as for `harness run`.
    """
    from harness.cli._output import finish_run
    from harness.runner.api import profile_run

    given = {"model": model, "out": out, "serial": serial, "bench": bench}
    named = {name: value for name, value in given.items() if value is not None}
    wanted = tensor_arguments(inputs, input_seed, reference, expect, tolerance)
    merged = named_settings(setting or ()) | settings | named
    outcome = profile_run(config, {"inspect": inspect, **wanted}, **merged)
    finish_run(outcome, as_json)
