"""`harness run`: flash a build, measure one boot, publish a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
def run(
    build: Annotated[Path, typer.Argument(help="Build directory or its build.json.")],
    board: Annotated[str, typer.Option("--board", help="Board type; must be the build's.")],
    serial: Annotated[int | None, typer.Option("--serial", "--jlink-serial", help="Serial of the probe.")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="Bench description (default: bench.yaml).")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Directory of the bundle; must not exist.")] = None,
    inputs: Annotated[list[str] | None, INPUT_OPTION] = None,
    input_seed: Annotated[int | None, SEED_OPTION] = None,
    inspect: Annotated[int, typer.Option("--inspect", min=0, help="Inputs to check layer by layer.")] = 1,
    reference: Annotated[str, REFERENCE_OPTION] = "host",
    expect: Annotated[list[str] | None, EXPECT_OPTION] = None,
    tolerance: Annotated[float, TOLERANCE_OPTION] = 0.0,
    power: Annotated[
        str | None, typer.Option("--power", help="Power monitor: its name, any, or none (default: the plan's).")
    ] = None,
    deadline: Annotated[list[str] | None, typer.Option("--deadline", help="PHASE=SECONDS, repeatable.")] = None,
    retries: Annotated[
        int, typer.Option("--retries", min=0, max=10, help="Try again after failures of bench, link or wire.")
    ] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Verify and find a board; touch nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Log phases with times.")] = False,
) -> None:
    """Flash a build, measure one boot, compare outputs with the host reference, publish a bundle.

    Without `--input`, the build's own inputs are used, zero bytes unless it was given some. The bundle's inputs.json
    says where all bytes came from.

    Exit codes: 0 captured and outputs match, 1 capture failed or measurements invalid, 3 outputs differ, 6 no board.
    """
    from harness.cli._output import PhaseLog, emit_json, finish_run
    from harness.core.errors import HarnessError
    from harness.runner.deadlines import Deadlines
    from harness.runner.run import run as run_build

    limits = Deadlines.of(deadline or ())
    if dry_run:
        tensors = tensor_arguments(inputs, input_seed, reference, expect, tolerance)
        _dry_run(build, board, serial, bench, out, tensors, as_json)
        return
    try:
        outcome = run_build(
            build,
            board=board,
            serial=serial,
            bench=bench,
            out=out,
            inspect=inspect,
            power=power,
            deadlines=limits,
            retries=retries,
            log=PhaseLog(verbose),
            **tensor_arguments(inputs, input_seed, reference, expect, tolerance),
        )
    except HarnessError as error:
        if not as_json:
            raise
        emit_json(
            {"succeeded": False, "bundle": error.context.get("bundle"), "outputs": None, "error": error.to_dict()}
        )
        raise typer.Exit(error.exit_code) from None
    finish_run(outcome, as_json)


def _dry_run(
    build: Path,
    board: str,
    serial: int | None,
    bench: Path | None,
    out: Path | None,
    tensors: dict[str, Any],
    as_json: bool,
) -> None:
    from harness.bench.inventory import load_bench
    from harness.cli._output import emit_json
    from harness.core.errors import BoardBusyError, NoBoardError, WrongBoardError
    from harness.image.record import load_build
    from harness.runner.run import check_tensors, refuse_existing

    loaded = load_build(build)
    if board != loaded.plan.board:
        raise WrongBoardError(f"The build is for {loaded.plan.board}, not for {board}.", todo="Name the build's board.")
    refuse_existing(out)
    check_tensors(loaded, **tensors)
    boards = [
        info
        for info in load_bench(bench).boards()
        if info.board_type == board and (serial is None or info.serial == serial)
    ]
    if not boards:
        raise NoBoardError(
            f"No {board}{f' with serial {serial}' if serial else ''} on the bench.", todo="`harness boards` lists it."
        )
    free = [info for info in boards if info.state == "free"]
    if not free:
        raise BoardBusyError(
            f"Every {board} is in use.",
            why=", ".join(f"{b.serial}: {b.holder}" for b in boards),
            todo="Wait, then run.",
        )
    if as_json:
        emit_json({"build": loaded.build_id, "would_use": free[0].to_dict(), "dry_run": True})
    else:
        typer.echo(f"build {loaded.build_id} verifies; would run on {board} {free[0].serial} ({free[0].provider})")
