"""`profile`: freeze, build and run in one call."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.results.types import ProfileResult
    from harness.runner.run import RunOutcome


def profile(
    config: Path | str | Mapping[str, Any] | None = None,
    run_arguments: Mapping[str, Any] | None = None,
    /,
    **settings: Any,
) -> ProfileResult:
    """Measure a model on a board and return the typed result.

    Args:
        config: a YAML file or a mapping of settings.
        run_arguments: arguments of `harness.run` that are no settings: `inputs`, `timed`, `inspect`, `expect`,
            `expected`, `tolerance`.
        **settings: settings by keyword, over the configuration: `model`, `board`, `engine_config`, `iterations`, ...,
            and those of this host: `serial`, `bench`, `out`, `deadlines`.

    Returns:
        The result; its `report_paths` name the bundle's files.

    Raises:
        HarnessError: any stage failed; the type says which.
    """
    return profile_run(config, run_arguments, **settings).result


def profile_run(
    config: Path | str | Mapping[str, Any] | None = None,
    run_arguments: Mapping[str, Any] | None = None,
    /,
    **settings: Any,
) -> RunOutcome:
    """Like `profile`, returning the whole outcome: bundle, outputs, evaluation."""
    from harness.bench.inventory import load_bench
    from harness.image.build import build
    from harness.plan.freeze import freeze
    from harness.plan.settings import HOST_SETTINGS, SEARCH_SETTINGS, resolve
    from harness.runner.attempts import RETRIES
    from harness.runner.deadlines import Deadlines
    from harness.runner.run import run

    host = resolve(config, settings).host
    limits = Deadlines.of(host.get("deadlines", {}))
    boards_path = tuple(map(Path, host.get("boards-path", ())))
    frozen = {
        key: value
        for key, value in settings.items()
        if (name := key.replace("_", "-")) not in HOST_SETTINGS or name in ("model", *SEARCH_SETTINGS)
    }
    plan = freeze(config=config, **frozen)
    with tempfile.TemporaryDirectory(prefix="hil-build-") as parent:
        built = build(
            plan,
            Path(parent) / "build",
            model=plan.model.path,
            boards_path=boards_path,
            runtimes=tuple(map(Path, host.get("runtimes-path", ()))),
            deadline_seconds=limits["build"],
        )
        return run(
            built,
            serial=host.get("serial"),
            bench=load_bench(Path(host["bench"]) if "bench" in host else None, boards_path=boards_path),
            out=host.get("out"),
            deadlines=limits,
            retries=host.get("retries", RETRIES),
            **dict(run_arguments or {}),
        )
