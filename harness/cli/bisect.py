"""`harness bisect --good REF --bad REF --metric M`: find the commit that made a metric worse, on a board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def bisect(
    good: Annotated[str, typer.Option("--good", help="A git ref whose figures are good.")],
    bad: Annotated[str, typer.Option("--bad", help="A later ref whose figures are worse.")],
    metric: Annotated[str, typer.Option("--metric", help="The metric, as in clean.cycles or layer[3].cycles.")],
    model: Annotated[Path, typer.Option("--model", help="The .tflite file; looked for in each tree first.")],
    board: Annotated[str, typer.Option("--board", help="Board type.")],
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, repeatable.")] = None,
    repository: Annotated[Path, typer.Option("--repository", help="Where refs are looked up.")] = Path(),
    serial: Annotated[int | None, typer.Option("--serial", help="Serial of the probe.")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="Bench description (default: bench.yaml).")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Directory of the bundles; must not exist.")] = None,
    margin: Annotated[float, typer.Option("--margin-pct", help="What a noisy regression must reach for sure.")] = 3.0,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the commit that made a metric worse. Exit 7 when commits that cannot be judged leave several suspects."""
    import time

    from harness.bench.inventory import load_bench
    from harness.cli._output import PhaseLog, emit_json
    from harness.cli._settings import named_settings
    from harness.core.errors import UsageError
    from harness.judge.bisect import bisect as find
    from harness.judge.bisect import metric_profile
    from harness.judge.metrics import METRICS, is_selector, selector_unit
    from harness.runner.trees import git

    known = METRICS.get(metric)
    if known is None and (not is_selector(metric) or "[*]" in metric):
        raise UsageError(f"There is no metric {metric!r} to bisect.", todo="`harness metrics list` lists them.")
    place = out or Path("hil-results").absolute() / f"bisect-{time.strftime('%Y%m%d-%H%M%S')}"
    if place.exists():
        raise UsageError(f"There is something at {place} already.", todo="Name another directory.")
    unit = known.unit if known is not None else selector_unit(metric)
    larger = known is not None and not known.smaller_is_better
    outcome = find(
        good,
        bad,
        metric_profile(metric, unit, larger=larger, margin_pct=margin),
        metric,
        repository=repository,
        model=model,
        settings={**named_settings(setting or ()), "board": board},
        bench=load_bench(bench),
        out=place,
        serial=serial,
        log=PhaseLog(not json_),
    )
    if json_:
        emit_json(outcome.to_dict())
    else:
        for commit in outcome.suspects:
            typer.echo(git(repository, "log", "-1", "--format=%h %an, %as: %s", commit))
        typer.echo(f"{len(outcome.tested) + 1} commits measured" + ("" if outcome.commit else "; several are left"))
    raise typer.Exit(0 if outcome.commit is not None else 7)
