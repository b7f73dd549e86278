"""Which counters go into which pass, and what is said of the ones that go into none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capture.events import CPU_CYCLES, EVENTS, OBSERVATIONS
from harness.capture.passes import NO_COUNTERS, NO_EMULATOR, NO_PMU, Selection, plan_passes, select_events
from harness.capture.wire import Source
from harness.core.errors import SettingsError


def names(selection: Selection, slots: int = 4, observer: bool = False) -> dict[str, list[str]]:
    plan = plan_passes(selection, cycles=True, slots=slots, observer=observer)
    return {item.name: [column.name.removeprefix("ARM_PMU_") for column in item.columns] for item in plan.passes}


def test_defaults_are_one_pass_a_group() -> None:
    assert names({}) == {
        "cpu_0": ["CPU_CYCLES", "INST_RETIRED", "STALL_FRONTEND", "STALL_BACKEND"],
        "memory_0": ["CPU_CYCLES", "L1D_CACHE_REFILL", "MEM_ACCESS", "BUS_ACCESS", "BUS_CYCLES"],
        "mve_0": ["CPU_CYCLES", "MVE_INST_RETIRED", "MVE_INT_MAC_RETIRED", "MVE_LDST_RETIRED", "MVE_STALL"],
    }


def test_a_list_keeps_its_order_and_spills_into_further_passes() -> None:
    wanted = ["ST_RETIRED", "ARM_PMU_LD_RETIRED", "BR_RETIRED", "EXC_TAKEN", "STALL"]
    assert names({"cpu": wanted}) == {
        "cpu_0": ["CPU_CYCLES", "ST_RETIRED", "LD_RETIRED", "BR_RETIRED", "EXC_TAKEN"],
        "cpu_1": ["CPU_CYCLES", "STALL"],
    }


@given(st.integers(1, 4), st.sampled_from(["all", "default"]))
def test_every_event_is_measured_once_within_the_slots(slots: int, choice: str) -> None:
    selection = dict.fromkeys(("cpu", "memory", "mve"), choice)
    plan = plan_passes(selection, cycles=True, slots=slots, observer=False)
    measured = [c.name for item in plan.passes for c in item.columns if c.source == Source.EVENT]
    wanted = [event.name for events in select_events(selection).values() for event in events]
    assert sorted([*measured, CPU_CYCLES]) == sorted(wanted)
    assert all(len(item.columns) <= slots + 1 and item.columns[0].name == CPU_CYCLES for item in plan.passes)


def test_only_cycles_is_a_pass_of_its_own() -> None:
    assert names({"cpu": ["CPU_CYCLES"]}) == {"cpu_0": ["CPU_CYCLES"]}


def test_core_without_pmu() -> None:
    plan = plan_passes({}, cycles=True, slots=0, observer=False)
    assert [(item.name, len(item.columns)) for item in plan.passes] == [("cpu_0", 1)]
    assert plan.unavailable["ARM_PMU_INST_RETIRED"] == NO_PMU
    assert plan.unavailable["emulator.loads"] == NO_EMULATOR
    assert CPU_CYCLES not in plan.unavailable


def test_emulator_adds_its_own_family() -> None:
    assert names({"cpu": "none"}, observer=True) == {"emulator": ["CPU_CYCLES", *OBSERVATIONS]}


def test_nothing_counts() -> None:
    plan = plan_passes({}, cycles=False, slots=0, observer=False)
    assert plan.passes == ()
    assert set(plan.unavailable.values()) == {NO_COUNTERS}


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        ({"cpus": "all"}, "Did you mean 'cpu'"),
        ({"cpu": "some"}, "default, all, none or a list"),
        ({"cpu": ["INST_RETIERD"]}, "Did you mean 'ARM_PMU_INST_RETIRED'"),
        ({"cpu": ["MEM_ACCESS"]}, "belongs to group 'memory'"),
    ],
)
def test_mistakes_are_explained(selection: Selection, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        select_events(selection)
    assert says in str(caught.value)


def test_event_numbers_are_distinct() -> None:
    assert len({event.number for event in EVENTS.values()}) == len(EVENTS) == 130
