"""Faults of the virtual bench, one place each: the run ends as it must, in time, with evidence; no board is lost."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

import pytest

from harness.core.errors import HarnessError
from harness.results.issues import ISSUES
from harness.virtual.faults import FAULTS, PASSES
from tests.campaigns.faults import BOARDS, ROOT, Campaign, Scenario, scenarios

SLOW = {"emulator-stopped", "wire-dead", "stale-result", "every-second-run", "rtt-unplugged", "flash-unplugged"}
"""Left to the campaign: each waits for a deadline or has a sibling here."""


def subset() -> list[Scenario]:
    """Each fault once, boards in turn, and one of those that pass when tried again."""
    chosen = []
    boards = cycle(BOARDS)
    every = {item.name: item for item in scenarios()}
    for spec in FAULTS.values():
        board = "mps3_an547" if spec.pmu else next(boards)
        if spec.name not in SLOW:
            # A frame in the middle: the loss of an early one is told by silence alone.
            place = "@9" if spec.unit.startswith("frame") else ""
            named = f"{board} {spec.name}{place}"
            chosen.append(next(item for item in every.values() if item.name.startswith(named)))
    return [*chosen, every["mps2_an386 frame-dropped/once retries=1"]]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("scenario", subset(), ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_a_fault_ends_as_the_catalogue_says(campaign: Campaign, scenario: Scenario) -> None:
    assert campaign.run(scenario).wrong == ()


def test_the_catalogue_names_real_ends() -> None:
    def codes(kind: type[HarnessError]) -> set[str]:
        return {kind.code}.union(*(codes(sub) for sub in kind.__subclasses__()))

    known = codes(HarnessError) | ISSUES.keys() | {PASSES}
    assert {end for spec in FAULTS.values() for end in spec.ends} <= known


def test_the_campaigns_table_is_of_the_present_scenarios() -> None:
    rows = re.findall(r"^\| (\w+) \| `([^`]+)` \| (\d) \| (\d) \|", (ROOT / "docs/fault-campaign.md").read_text(), re.M)
    wanted = [
        (item.board, item.fault or f"firmware: {item.firmware}", str(item.retries), str(item.earlier_runs))
        for item in scenarios()
    ]
    assert rows == wanted, "run scripts/campaign faults docs"
    assert len(wanted) >= 100


def test_the_library_knows_every_fault_at_probe_and_target() -> None:
    source = (Path(ROOT) / "harness/virtual/native/jlink/faults.c").read_text()
    named = set(re.findall(r'\[FAULT_\w+\] = "([a-z-]+)"', source))
    assert named == {spec.name for spec in FAULTS.values() if spec.place in ("probe", "target")} - {"probe-grabbed"}
