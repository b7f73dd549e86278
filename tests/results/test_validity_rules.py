"""Each rule of validity: what triggers its code, and that nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import harness
from harness.capture.record import Capture, PassRecord
from harness.results.issues import ISSUES, Severity, issue
from harness.results.manifest import ResultValidity
from harness.results.validity import evaluate_run, self_test_failures
from tests.results.builders import (
    CYCLES,
    SELF_TEST,
    bad_outputs,
    good_outputs,
    make_capture,
    make_context,
    make_run,
)


def codes(capture: Capture | None = None, context: Any = None, **more: Any) -> list[str]:
    return [item.code for item in make_run(capture, context, **more).evaluation.issues]


def with_pass(**changes: Any) -> Capture:
    capture = make_capture()
    return replace(capture, passes=(replace(capture.passes[0], **changes),))


def samples_of(capture: Capture) -> Any:
    return np.array(capture.passes[0].samples)


def test_a_good_run_is_valid_without_issues() -> None:
    evaluation = make_run().evaluation
    assert evaluation.validity is ResultValidity.VALID
    assert evaluation.issues == ()


def test_outputs_that_were_not_compared_say_nothing_about_timing() -> None:
    assert codes(outputs_check=None) == []
    assert codes(outputs_check=good_outputs()) == []


def test_output_mismatch_is_invalid_and_names_the_layer() -> None:
    evaluation = make_run(outputs_check=bad_outputs(1)).evaluation
    assert evaluation.validity is ResultValidity.INVALID
    (found,) = evaluation.issues
    assert found.code == "output.mismatch"
    assert found.context["layers"] == ({"layer": 1, "op": "DEPTHWISE_CONV_2D"},)


def test_counter_overflow_is_invalid_and_names_the_layer() -> None:
    evaluation = make_run(make_capture(overflow_layer=2)).evaluation
    assert evaluation.validity is ResultValidity.INVALID
    (found,) = evaluation.issues
    assert found.code == "pmu.counter_overflow"
    assert found.context["layers"] == (2,)


def test_frozen_cycles_are_invalid() -> None:
    assert codes(make_capture((0, 0, 0, 0, 0), clean_cycles=100)) == ["counter.frozen"]


def test_one_frozen_counter_that_must_move() -> None:
    assert codes(make_capture(counters={"ARM_PMU_INST_RETIRED": [0] * 5})) == ["counter.frozen"]


def test_a_counter_that_may_be_zero_is_no_issue() -> None:
    assert codes(make_capture(counters={"ARM_PMU_MVE_INST_RETIRED": [0] * 5})) == []


def test_no_layer_at_all() -> None:
    assert codes(replace(make_capture(), passes=())) == ["pmu.missing"]


def test_a_clean_window_without_time() -> None:
    capture = make_capture(clean_cycles=0)
    evaluation = make_run(capture).evaluation
    assert [item.code for item in evaluation.issues] == ["profile.clean_window_frozen", "clean.frozen"]
    assert evaluation.validity is ResultValidity.INVALID


def test_some_inferences_without_time() -> None:
    capture = make_capture()
    assert capture.clean is not None
    samples = np.array(capture.clean.samples)
    samples[3] = 0
    stalled = replace(capture, clean=replace(capture.clean, samples=samples))
    assert codes(stalled) == ["profile.clean_window_stalled"]


def test_a_missing_clean_window_is_an_issue_unless_it_has_a_reason() -> None:
    capture = replace(make_capture(), clean=None)
    assert codes(capture) == ["clean.missing"]
    assert codes(replace(capture, unavailable={"clean window": "not asked for"})) == []


@pytest.mark.parametrize(
    "check", ["cycles_advance", "cycles_frozen", "event_advance", "event_frozen", "observer_advance"]
)
def test_a_failed_self_test(check: str) -> None:
    capture = make_capture()
    answers = {**SELF_TEST, check: 0}
    assert codes(replace(capture, hello=replace(capture.hello, self_test=answers))) == ["counter.self_test_failed"]


def test_a_unit_that_is_absent_cannot_fail() -> None:
    absent = {**SELF_TEST, "event_slots": 0, "event_advance": 0, "event_frozen": 0}
    assert self_test_failures(absent) == []


def test_samples_over_half_the_range_are_rejected_and_reported() -> None:
    samples = samples_of(make_capture())
    samples[1, 0, 0] = 1 << 31
    run = make_run(with_pass(samples=samples))
    assert [item.code for item in run.evaluation.issues] == ["counter.samples_rejected"]
    assert run.evaluation.validity is ResultValidity.DEGRADED
    assert run.result.layers[0].cycles == CYCLES[0]


def test_a_layer_of_which_no_sample_is_left_has_no_count() -> None:
    samples = samples_of(make_capture())
    samples[:, 2, 0] = 0xFFFF_FFF0
    run = make_run(with_pass(samples=samples))
    assert {item.code for item in run.evaluation.issues} == {
        "counter.out_of_range",
        "counter.samples_rejected",
        "counter.cycles_missing_in_layer",
    }
    assert run.result.layers[2].cycles is None
    assert "ARM_PMU_CPU_CYCLES" not in run.result.layers[2].counters


def test_emulator_counts_may_be_large() -> None:
    assert codes(make_capture(counters={"emulator.energy_fj": [1 << 40] * 5})) == []


def test_another_model_on_the_target() -> None:
    capture = make_capture()
    other = replace(capture, hello=replace(capture.hello, model_sha256="cd" * 32))
    assert codes(other) == ["firmware.model_mismatch"]
    silent = replace(capture, hello=replace(capture.hello, model_sha256=""))
    assert codes(silent) == ["firmware.model_identity_unverifiable"]


def test_an_unknown_source_is_invalid() -> None:
    assert codes(context=make_context(source="")) == ["source.unknown"]


def test_layers_measured_in_several_passes_are_merged() -> None:
    capture = make_capture()
    first = capture.passes[0]
    second = PassRecord(
        "memory_0",
        ("ARM_PMU_CPU_CYCLES", "ARM_PMU_MEM_ACCESS"),
        3,
        1,
        first.samples + np.uint64(1),
        first.overflow,
    )
    result = make_run(replace(capture, passes=(first, second))).result
    assert result.layers[0].counters == {
        "ARM_PMU_CPU_CYCLES": 5000.0,
        "ARM_PMU_INST_RETIRED": 2500.0,
        "ARM_PMU_MEM_ACCESS": 2501.0,
    }
    assert set(result.pmu.groups) == {"cpu", "memory"}
    assert result.total_cycles == sum(CYCLES)


def test_a_plain_result_is_judged_on_what_it_holds() -> None:
    layer = harness.LayerResult(0, "CONV_2D", {"ARM_PMU_CPU_CYCLES": 5.0}, 5.0)
    good = harness.ProfileResult(harness.PmuResult(harness.FirmwareMeta(model_size=9), layers=[layer]))
    assert evaluate_run(good, plan=None).validity is ResultValidity.VALID
    overflow = replace(good, pmu=replace(good.pmu, overflow_detected=True))
    assert [item.code for item in evaluate_run(overflow, plan=None).issues] == ["pmu.counter_overflow"]
    empty = harness.ProfileResult(harness.PmuResult(harness.FirmwareMeta()))
    assert [item.code for item in evaluate_run(empty, plan=None).issues] == ["pmu.missing"]
    frozen = replace(good, pmu=replace(good.pmu, meta=harness.FirmwareMeta(clean_infer_count=5, clean_infer_avg_us=0)))
    assert evaluate_run(frozen, plan=None).validity is ResultValidity.INVALID


class _Plan:
    class model:
        size_bytes = 10


def test_a_plain_result_is_held_against_the_plan() -> None:
    layer = harness.LayerResult(0, "CONV_2D", {}, 5.0)
    result = harness.ProfileResult(harness.PmuResult(harness.FirmwareMeta(model_size=9), layers=[layer]))
    assert [item.code for item in evaluate_run(result, plan=_Plan).issues] == ["firmware.model_mismatch"]


@pytest.mark.parametrize("code", ISSUES)
def test_every_code_has_its_registered_severity(code: str) -> None:
    found = issue(code)
    assert found.severity == ISSUES[code].severity
    assert found.message
    assert ISSUES[code].family == code.split(".")[0]
    assert ISSUES[code].severity in (Severity.ERROR, Severity.WARNING)


def test_unregistered_codes_cannot_be_emitted() -> None:
    with pytest.raises(KeyError):
        issue("no.such_code")
