"""The pages behave as the registers they stand for."""

from __future__ import annotations

import re

import pytest

from harness.virtual.counters import OBSERVER_COUNTERS, modelled_events
from harness.virtual.pmu_events import EVENTS
from tests.counters.conftest import Probe
from tests.counters.rig import BOARDS, OTHER_CORES, board_type

M55 = "mps3_an547"
NO_PROFILE_COUNTERS = 1 << 24


@pytest.mark.parametrize("name", [*BOARDS, *OTHER_CORES])
def test_cycle_counter(name: str, probe: Probe) -> None:
    values = probe(name, "dwt").values
    assert values["ctrl_off"] == NO_PROFILE_COUNTERS
    assert values["off_first"] == values["off_second"] == 0
    assert values["ctrl_on"] == NO_PROFILE_COUNTERS | 1
    emulator = board_type(name).emulator
    assert emulator is not None
    costs = emulator.cost_table.cycles
    call_and_return = costs["call"] + costs["return"]
    assert values["hundred"] == values["idle"] + 100 + call_and_return
    assert values["frozen"] == 0
    assert 0 < values["resumed"] < 50
    assert 100 - 16 <= values["wrapped"] < 150
    assert values["other"] == 0


@pytest.mark.parametrize("name", BOARDS)
def test_observer_page_header(name: str, probe: Probe) -> None:
    values = probe(name, "dwt").values
    assert values["magic"] == values["magic_kept"] == int.from_bytes(b"HBS1", "little")
    assert values["version"] == 1
    assert values["count"] == len(OBSERVER_COUNTERS)


def test_observer_order_is_that_of_the_quantities(probe: Probe) -> None:
    # The sequences' own names follow the page's order; here the two totals that no other value can equal.
    run = probe(M55, "vectors")
    assert run.values["copy.mve"] == 2
    assert OBSERVER_COUNTERS.index("mve_instructions") == 5
    assert run.values["copy.instructions"] == 3 and OBSERVER_COUNTERS[0] == "instructions"


@pytest.fixture(scope="module")
def pmu(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], list[int]]:
    from tests.counters import rig

    board = board_type(M55)
    run = rig.run(board, rig.build(board, "pmu", tmp_path_factory.mktemp("pmu")))
    events = [int(number, 16) for number in re.findall(r"^event=([0-9a-f]+)$", run.output, re.MULTILINE)]
    return dict(run.values), events


def test_identification_and_selection(pmu: tuple[dict[str, int], list[int]]) -> None:
    values, _ = pmu
    assert values["type"] & 0xFF == 8
    assert values["supported"] == 0x08
    assert values["unsupported"] == 0xFFFF
    assert values["implemented"] == values["implemented_clr"] == 0x800000FF
    assert values["none_enabled"] == 0
    assert values["ctrl"] == 1


def test_counting_and_freezing(pmu: tuple[dict[str, int], list[int]]) -> None:
    values, _ = pmu
    assert values["disabled"] == 0
    assert 1000 < values["inst"] < 1020
    assert values["frozen"] == 0
    assert values["unit_off"] == 0
    assert values["reset_is_small"] == 1
    assert values["cycles_kept"] == 1
    assert values["cycles_reset"] == 0


def test_wrap_chain_and_overflow(pmu: tuple[dict[str, int], list[int]]) -> None:
    values, _ = pmu
    # The loop alone is 200,000 instructions; the rest is calls of register accessors.
    assert 200_000 <= values["pair"] < 200_040
    assert values["narrow"] == values["pair"] & 0xFFFF
    # Counters 0, 2, 4 and 5 wrapped; 3 counts the wraps of 2 and did not.
    assert values["overflow"] == 0b110101
    assert values["overflow_cleared"] == 0b110100
    assert values["overflow_set"] == 0b110110
    assert 1000 - 16 <= values["pair_wrapped"] < 1030
    assert values["pair_overflow"] == 0b1100
    assert 1000 - 0x100 <= values["cycles_wrapped"] < 1000
    assert values["cycles_overflow"] == 1 << 31


def test_software_increments(pmu: tuple[dict[str, int], list[int]]) -> None:
    values, _ = pmu
    assert values["software_off"] == 0
    assert values["software"] == 2
    assert values["software_pair"] == 0x10000


def test_table_of_events_is_what_the_plugin_does(pmu: tuple[dict[str, int], list[int]]) -> None:
    _, events = pmu
    assert events == [event.number for event in modelled_events(board_type(M55))]


def test_table_of_events_is_in_order_and_unique() -> None:
    numbers = [event.number for event in EVENTS]
    assert numbers == sorted(set(numbers))
    assert len({event.name for event in EVENTS}) == len(EVENTS)
    assert all(event.basis for event in EVENTS)
