"""A/B of two firmware trees: both built in one environment, measured in pairs on one board, judged."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.judge.paired import PairedOutcome, run_paired
from harness.runner.trees import build_tree, tree_of

if TYPE_CHECKING:
    from harness.bench.inventory import Bench
    from harness.judge.profile import ComparisonProfile


def compare_trees(
    base: str,
    head: str,
    profile: ComparisonProfile,
    *,
    model: Path,
    settings: Mapping[str, Any],
    bench: Bench,
    out: Path,
    repository: Path | None = None,
    serial: int | None = None,
    seed: int | None = None,
    expect: str = "reference",
    deadlines: Any = None,
    log: Callable[[str], None] = lambda text: None,
) -> PairedOutcome:
    """Judge the firmware of `head` against that of `base`.

    Args:
        base: a directory or a git ref.
        head: likewise.
        profile: what may change by how much.
        model: the `.tflite` file; a relative path is looked for in each tree first.
        settings: settings of the plan by keyword, `board` among them.
        bench: where a board is leased.
        out: directory of the bundles, one a run.
        repository: where refs are looked up; the working directory by default.
        serial: which board.
        seed: of the order in each pair; drawn when not given, and recorded.
        expect: `reference` checks outputs against the host, `none` does not.
        deadlines: `harness.runner.deadlines.Deadlines`, or seconds by phase.
        log: called with a line for each step.

    Raises:
        UsageError: a tree or ref does not exist or holds no firmware.
        BuildError, BenchError, TargetError, CaptureError: building or a run failed.
        NotComparableError, NotRepeatableError: see `harness.judge.paired.judge_pairs`.
    """
    from harness.runner.board import lease_board
    from harness.runner.deadlines import Deadlines

    limits = deadlines if isinstance(deadlines, Deadlines) else Deadlines.of(deadlines or {})
    place = repository or Path.cwd()
    with tempfile.TemporaryDirectory(prefix="hil-ab-") as folder:
        builds = {}
        for role, spec in (("base", base), ("head", head)):
            with tree_of(spec, place) as tree:
                builds[role] = build_tree(tree, model, settings, Path(folder) / role, seconds=limits["build"])
            log(f"{role}: {spec} built, image {builds[role].sha256[:12]}")
        with lease_board(bench, builds["head"], serial=serial, holder="harness ab", deadlines=limits) as lease:
            return run_paired(
                builds["base"],
                builds["head"],
                profile,
                lease=lease,
                seed=secrets.randbits(32) if seed is None else seed,
                out=out,
                deadlines=limits,
                expect=expect,
                log=log,
            )
