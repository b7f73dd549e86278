"""Pairs of bundles, one a rule, that we and hpx are both asked about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.judge.figure_pairs import figure_pairs
from tests.judge.foreign import Pair, policy, profile, put
from tests.judge.record_pairs import record_pairs
from tests.results.builders import bad_outputs, make_bundle, make_capture, make_context

FOREIGN: dict[str, Pair] = {
    "plain": Pair(),
    "without_profile": Pair(judged_by=None),
    "only_the_time_differs": Pair(cand=put("metadata", "timestamp", value="2027-01-01T00:00:00Z")),
    **figure_pairs(),
    **record_pairs(),
}

OURS: dict[str, tuple[Any, Any, Any]] = {
    "ours_same": ({}, {}, profile()),
    "ours_slower_layer": ({}, {"capture": make_capture((5000, 3600, 2500, 2000, 500))}, profile()),
    "ours_faster": ({}, {"capture": make_capture((4000, 3000, 2500, 2000, 500))}, profile()),
    "ours_other_board": (
        {},
        {"context": make_context(board="mps2_an386", core="cortex-m4", has_mve=False)},
        profile({"total_cycles": policy()}, required_dimensions=["cpu_clock"]),
    ),
    "ours_other_compiler": ({}, {"context": make_context(compiler_version="13.1")}, profile()),
    "ours_invalid": ({}, {"capture": make_capture(overflow_layer=1)}, profile()),
    "ours_wrong_outputs": ({}, {"outputs_check": bad_outputs()}, profile()),
    "ours_bigger_code": (
        {},
        {"context": make_context(sections={"text": 41000, "data": 100, "bss": 20000, "total": 61100})},
        profile({"binary.text": policy(unit="bytes", max_regression_pct=1)}),
    ),
    "ours_restore_zero": (
        {"capture": make_capture(scope="restore_and_invoke")},
        {"capture": make_capture(scope="restore_and_invoke")},
        profile(),
    ),
}
"""Pairs of bundles that we wrote: what is given for each side, and the profile."""


def write_all(root: Path) -> list[str]:
    """Write every pair below a directory; returns their names."""
    for name, pair in FOREIGN.items():
        pair.write(root / name)
    for name, (base, cand, judged) in OURS.items():
        for side, given in (("baseline", base), ("candidate", cand)):
            make_bundle(root / name / side, run_id=side, **given)
        (root / name / "profile.json").write_text(json.dumps(judged))
    return [*FOREIGN, *OURS]
