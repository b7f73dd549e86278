"""The 8-bit counters of a DWT on emulated boards, which model none: unavailable with the reason, never zero."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.capture.events import SMALL_EVENTS
from harness.capture.passes import SMALL_ABSENT, SMALL_WITH_PMU
from harness.results.reader import read_bundle
from harness.runner.run import RunOutcome
from tests.e2e.conftest import DIGITS


@pytest.mark.parametrize(("board", "reason"), [("mps2_an386", SMALL_ABSENT), ("mps3_an547", SMALL_WITH_PMU)])
def test_small_counters_are_unavailable(measured: Callable[..., RunOutcome], board: str, reason: str) -> None:
    outcome = measured(DIGITS, board, pmu_counters={"dwt": "all"})
    bundle = read_bundle(outcome.bundle)
    assert {bundle.harness["unavailable"][event.name] for event in SMALL_EVENTS} == {reason}
    assert bundle.harness["self_test"]["small_present"] == 0
    assert not [name for row in bundle.layers for name in row if name.startswith("DWT_") and name != "DWT_CYCCNT"]
    assert not outcome.evaluation.issues
