"""`--hil-base`: the firmware of this checkout against that of another tree or ref, in pairs on the test's board."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.hooks import mark_of
from harness.pytest_plugin.options import get_option
from harness.pytest_plugin.outcome import record_of

if TYPE_CHECKING:
    from harness.judge.paired import PairedOutcome


def judge_trees(request: pytest.FixtureRequest, profile: Path) -> PairedOutcome:
    """Build the base, measure it against the test's image in pairs, and judge."""
    from harness.judge.paired import run_paired
    from harness.judge.profile import ComparisonProfile
    from harness.pytest_plugin.session import _deadlines, _unique, asked_settings, faults, item_of, out_dir
    from harness.runner.trees import build_tree, tree_of

    item = item_of(request)
    mark = mark_of(item)
    image, lease = request.getfixturevalue("image"), request.getfixturevalue("board")
    loaded = ComparisonProfile.load(profile)
    limits = _deadlines(request.config)
    parent = request.getfixturevalue("tmp_path_factory").mktemp("hil-base")
    assert mark.model is not None
    settings = {**asked_settings(request), "board": image.plan.board}
    with faults(request):
        with tree_of(get_option(request.config, "base"), Path(request.config.rootpath)) as tree:
            base = build_tree(tree, mark.model, settings, parent / "build", seconds=limits["build"])
        outcome = run_paired(
            base,
            image,
            loaded,
            lease=lease,
            seed=_seed(request.config),
            out=out_dir(request.config) / _unique(request, f"{image.plan.board}-pairs"),
            inputs=request.getfixturevalue("hil_inputs"),
            inspect=mark.inspect,
            deadlines=limits,
        )
    record_of(item)["bundles"] += [
        {"role": role, "path": path}
        for pair in outcome.bundles
        for role, path in zip(("base", "head"), pair, strict=True)
    ]
    return outcome


def _seed(config: pytest.Config) -> int:
    text = get_option(config, "seed")
    if text is None:
        return secrets.randbits(32)
    if not text.isdigit():
        raise pytest.UsageError(f"--hil-seed {text!r} is not a whole number from 0.")
    return int(text)
