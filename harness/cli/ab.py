"""`harness ab BASE HEAD`: build two firmware trees, measure them in pairs on one board, judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def ab(
    base: Annotated[str, typer.Argument(help="Directory or git ref of the firmware to compare with.")],
    head: Annotated[str, typer.Argument(help="Directory or git ref of the firmware to judge.")],
    model: Annotated[Path, typer.Option("--model", help="The .tflite file; looked for in each tree first.")],
    board: Annotated[str, typer.Option("--board", help="Board type.")],
    profile: Annotated[str, typer.Option("-p", "--profile", help="Comparison profile: a file or a name.")],
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, repeatable.")] = None,
    repository: Annotated[Path, typer.Option("--repository", help="Where refs are looked up.")] = Path(),
    serial: Annotated[int | None, typer.Option("--serial", help="Serial of the probe.")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="Bench description (default: bench.yaml).")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Directory of the bundles; must not exist.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Of the order in pairs; drawn by default.")] = None,
    reference: Annotated[
        str, typer.Option("--reference", help="What outputs are compared with: 'host', 'none'.")
    ] = "host",
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Also write a comment for a merge.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say what happens.")] = False,
) -> None:
    """Judge the firmware of HEAD against that of BASE.

    Exit codes: 0 pass, improved or warn; 1 fail; 2 usage; 4 not comparable; 5 runs do not repeat; 6 bench;
    7 inconclusive.
    """
    import time

    from harness.bench.inventory import load_bench
    from harness.cli._output import PhaseLog, emit_json
    from harness.cli._settings import named_settings
    from harness.core.errors import UsageError
    from harness.core.files import atomic_write
    from harness.judge.profile import ComparisonProfile
    from harness.judge.profile_file import find_profile
    from harness.judge.report import paired_markdown
    from harness.judge.trees import compare_trees

    if reference not in ("host", "none"):
        raise UsageError(f"--reference {reference!r} is unknown.", todo="Use 'host' or 'none'.")
    place = out or Path("hil-results").absolute() / f"ab-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**6:06}"
    if place.exists():
        raise UsageError(f"There is something at {place} already.", todo="Name another directory.")
    outcome = compare_trees(
        base,
        head,
        ComparisonProfile.load(find_profile(profile)),
        model=model,
        settings={**named_settings(setting or ()), "board": board},
        bench=load_bench(bench),
        out=place,
        repository=repository,
        serial=serial,
        seed=seed,
        expect="reference" if reference == "host" else "none",
        log=PhaseLog(verbose),
    )
    if markdown is not None:
        atomic_write(markdown, paired_markdown(outcome))
    if json_:
        emit_json(outcome.to_dict())
    else:
        typer.echo(outcome.explain())
        typer.echo(f"\nbundles: {place}")
    raise typer.Exit(outcome.exit_code)
