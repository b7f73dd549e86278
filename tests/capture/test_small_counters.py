"""The 8-bit counters of a DWT: read where they count, given only where they cannot have come round."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.capture.conversation import capture
from harness.capture.events import SMALL_EVENTS
from harness.capture.passes import SMALL_ABSENT, SMALL_STILL, SMALL_WITH_PMU, plan_passes, small_state
from harness.capture.record import Capture
from harness.capture.wire import Source
from tests.capture.wires import EXPECTED, PATIENT, REQUEST, wire
from tests.firmware.host_build import host_firmware

NAMES = tuple(event.name for event in SMALL_EVENTS)


def run(*defines: str, chosen: str | list[str] = "default") -> Capture:
    with wire(host_firmware("HOST_WITHOUT_EVENTS=1", *defines)) as board:
        return capture(board, EXPECTED, replace(REQUEST, counters={"dwt": chosen}), PATIENT, nonce=5)


def test_short_layers_have_figures() -> None:
    got = run("HOST_SMALL_STEP=3", "CYCLES_PER_READ=20u")
    dwt = got.passes[0]
    assert dwt.name == "dwt_0" and dwt.counters == ("ARM_PMU_CPU_CYCLES", *NAMES)
    assert dwt.samples[:, :, 1:].tolist() == [[[0, 3, 6, 9, 12]] * 3] * REQUEST.iterations
    assert dwt.wrapped is not None and not dwt.wrapped.any()
    assert got.hello.self_test["small_advance"] == 0b11110, "the first one never moves"


def test_long_layers_have_none_and_are_no_overflow() -> None:
    dwt = run("HOST_SMALL_STEP=3").passes[0]
    assert dwt.wrapped is not None
    assert dwt.wrapped[:, :, 1:].all() and not dwt.wrapped[:, :, 0].any()
    assert not dwt.overflow.any()


@pytest.mark.parametrize(("defines", "reason"), [((), SMALL_ABSENT), (("HOST_SMALL_STEP=0",), SMALL_STILL)])
def test_where_they_do_not_count_there_is_a_reason_and_no_zero(defines: tuple[str, ...], reason: str) -> None:
    got = run(*defines)
    assert [got.unavailable[name] for name in NAMES] == [reason] * 5
    assert not {name for record in got.passes for name in record.counters} & set(NAMES)


def test_a_list_is_read_in_its_order() -> None:
    got = run("HOST_SMALL_STEP=3", "CYCLES_PER_READ=20u", chosen=["LSUCNT", "DWT_EXCCNT"])
    assert got.passes[0].counters == ("ARM_PMU_CPU_CYCLES", "DWT_LSUCNT", "DWT_EXCCNT")
    assert got.passes[0].samples[0, 0, 1:].tolist() == [9, 3]


def test_a_core_with_a_pmu_counts_there() -> None:
    reason = small_state({"event_slots": 4, "small_present": 0})
    plan = plan_passes({"dwt": "all"}, cycles=True, slots=4, observer=False, no_small=reason)
    assert {plan.unavailable[name] for name in NAMES} == {SMALL_WITH_PMU}
    assert not [column for item in plan.passes for column in item.columns if column.source == Source.SMALL]
