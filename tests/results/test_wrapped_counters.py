"""A counter that wrapped costs that counter of that layer, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.capture.record import Capture
from harness.results.manifest import ResultValidity
from harness.results.reader import read_bundle
from harness.results.recompute import check_recomputed
from tests.results.builders import make_bundle, make_capture, make_run


def with_wrap(capture: Capture, *cells: tuple[int, int, int], row_flag: bool = True) -> Capture:
    """The capture with (iteration, layer, counter) wrapped."""
    record = capture.passes[0]
    wrapped = np.zeros(record.samples.shape, dtype=bool)
    overflow = record.overflow.copy()
    for iteration, layer, counter in cells:
        wrapped[iteration, layer, counter] = True
        overflow[iteration, layer] |= row_flag
    return replace(capture, passes=(replace(record, wrapped=wrapped, overflow=overflow),))


def test_one_counter_of_one_layer_is_unavailable(tmp_path: Path) -> None:
    capture = with_wrap(make_capture(), (1, 2, 1))
    run = make_run(capture)
    assert run.evaluation.validity is ResultValidity.DEGRADED
    assert [item.code for item in run.evaluation.issues] == ["counter.wrapped"]
    assert "ARM_PMU_INST_RETIRED" not in run.result.layers[2].counters
    assert run.result.layers[2].cycles == 2500 and run.result.layers[1].counters["ARM_PMU_INST_RETIRED"] == 1500
    bundle = make_bundle(tmp_path / "run", capture)
    own = read_bundle(bundle).harness
    (cell,) = own["unavailable_in_layers"]
    assert (cell["layer"], cell["counter"], cell["iterations"]) == (2, "ARM_PMU_INST_RETIRED", 1)
    assert "wrapped" in cell["reason"]
    assert json.loads((bundle / "summary.json").read_text())["overflow_detected"] is True, "hpx looks here"
    assert check_recomputed(bundle) > 0


def test_wrapped_cycles_leave_no_total() -> None:
    run = make_run(with_wrap(make_capture(), (0, 0, 0)))
    assert run.result.layers[0].cycles is None
    (summary,) = (file.data for file in run.content.files if file.path == "summary.json")
    assert json.loads(summary or b"")["total_cycles"] is None
    assert {item.code for item in run.evaluation.issues} == {"counter.wrapped", "counter.cycles_missing_in_layer"}


def test_a_small_counter_that_may_have_wrapped_is_no_issue(tmp_path: Path) -> None:
    cycles = (5000, 200)
    capture = make_capture(cycles, counters={"DWT_LSUCNT": (7, 90)}, clean_cycles=5100)
    capture = with_wrap(capture, *((n, 0, 1) for n in range(3)), row_flag=False)
    run = make_run(capture, outputs_check=None)
    assert run.evaluation.validity is ResultValidity.VALID and not run.result.pmu.overflow_detected
    assert [layer.counters.get("DWT_LSUCNT") for layer in run.result.layers] == [None, 90]
    own = run.content.extensions["harness"]
    assert own["counter_bits"] == {"DWT_LSUCNT": 8}
    assert "256 cycles or more" in own["unavailable_in_layers"][0]["reason"]
    everywhere = with_wrap(capture, *((0, layer, 1) for layer in range(2)), row_flag=False)
    assert "256 cycles" in make_run(everywhere, outputs_check=None).result.facts.unavailable["DWT_LSUCNT"]
