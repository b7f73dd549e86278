"""Passes that time the same layer must agree; an event that silicon never counts is unavailable, not zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.capture.record import Capture, PassRecord
from harness.results.assemble import assemble_context
from harness.results.crosscheck import BOUND_CYCLES, BOUND_PCT
from harness.results.measured import STILL
from tests.results.builders import CYCLES, make_capture, make_context


def with_second_pass(extra: tuple[float, ...], counter: int = 7) -> Capture:
    """A capture whose second pass found so many cycles more for each layer."""
    capture = make_capture()
    row = np.array([[base + more, counter] for base, more in zip(CYCLES, extra, strict=True)], dtype=np.uint64)
    second = PassRecord(
        "memory_0", ("ARM_PMU_CPU_CYCLES", "ARM_PMU_MEM_ACCESS"), 3, 1, np.repeat(row[np.newaxis], 3, axis=0),
        np.zeros((3, len(CYCLES)), dtype=bool),
    )  # fmt: skip
    return replace(capture, passes=(*capture.passes, second))


@pytest.mark.parametrize(
    ("extra", "apart"),
    [
        ((0, 0, 0, 0, 0), []),
        ((BOUND_CYCLES, 0, 0, 0, BOUND_CYCLES), []),
        ((0, BOUND_CYCLES + 1, 0, 0, 0), [1]),
        ((BOUND_CYCLES + 1, 0, 0, 0, 600), [0, 4]),
    ],
)
def test_passes_that_disagree_are_an_issue(extra: tuple[float, ...], apart: list[int]) -> None:
    made = assemble_context(with_second_pass(extra), make_context(), run_id="r")
    codes = [item.code for item in made.evaluation.issues]
    assert codes == (["counter.passes_disagree"] if apart else [])
    check = made.content.extensions["harness"]["cross_pass"]
    assert (check["bound_pct"], check["bound_cycles"], check["layers"]) == (BOUND_PCT, BOUND_CYCLES, len(CYCLES))
    assert [item["layer"] for item in check["disagreeing"]] == apart
    assert str(made.evaluation.validity) == ("degraded" if apart else "valid")


def test_long_layers_may_differ_by_a_share() -> None:
    capture = with_second_pass((0, 0, 0, 0, 0))
    scaled = [replace(item, samples=item.samples * np.uint64(1000)) for item in capture.passes]
    scaled[1] = replace(scaled[1], samples=scaled[1].samples * np.uint64(1015) // np.uint64(1000))
    made = assemble_context(replace(capture, passes=tuple(scaled)), make_context(), run_id="r")
    assert made.evaluation.issues == ()


@pytest.mark.parametrize(("source", "kept"), [("silicon", False), ("emulated", True)])
def test_an_event_of_silicon_that_never_moved_is_unavailable(source: str, kept: bool) -> None:
    made = assemble_context(with_second_pass((0, 0, 0, 0, 0), counter=0), make_context(source=source), run_id="r")
    layer = made.result.pmu.layers[0]
    assert ("ARM_PMU_MEM_ACCESS" in layer.counters) is kept
    assert made.result.facts.unavailable.get("ARM_PMU_MEM_ACCESS") == (None if kept else STILL)
    assert layer.cycles == CYCLES[0] and layer.counters["ARM_PMU_INST_RETIRED"] == CYCLES[0] // 2
