"""Every time carries how it was taken; a window clock that stands still or runs at another rate is an issue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.capture.record import Capture
from harness.results.assemble import assemble_context
from tests.results.builders import SELF_TEST, make_capture, make_context


def codes(capture: Capture, **context: object) -> list[str]:
    made = assemble_context(capture, make_context(**context), run_id="r")
    return [item.code for item in made.evaluation.issues]


def with_samples(*ticks: int, warm: int = 0) -> Capture:
    capture = make_capture(window=len(ticks))
    assert capture.clean is not None
    samples = np.array(ticks, dtype=np.uint64)
    return replace(capture, clean=replace(capture.clean, samples=samples, ticks=int(samples.sum()), warm_ticks=warm))


def test_the_window_states_how_it_was_timed() -> None:
    made = assemble_context(make_capture(), make_context(), run_id="r")
    window = made.content.extensions["harness"]["clean_window"]
    facts = ("timing_scope", "clock", "clock_hz", "statistic", "lifecycle", "instance_boundary", "first_invoke_window")
    assert [window[name] for name in facts] == ["invoke_only", "cpu", 25_000_000, "mean", "carry", "boot", "warmup"]
    assert window["first_invoke_initializer"] is False
    assert window["stalled_iterations"] == window["partial_iterations"] == 0
    assert made.content.comparability["first_invoke_window"] == "warmup"


@pytest.mark.parametrize(("warmup", "lifecycle"), [(0, "carry"), (0, "single")])
def test_without_warm_ups_the_first_inference_is_measured(warmup: int, lifecycle: str) -> None:
    capture = make_capture()
    assert capture.clean is not None
    capture = replace(capture, clean=replace(capture.clean, warmup=warmup, lifecycle=lifecycle))
    made = assemble_context(capture, make_context(lifecycle=lifecycle), run_id="r")
    assert made.content.comparability["first_invoke_window"] == "measured"


def test_an_engine_that_does_not_say_is_not_answered_for() -> None:
    made = assemble_context(make_capture(), make_context(engine="external"), run_id="r")
    assert made.content.extensions["harness"]["clean_window"]["first_invoke_initializer"] is None


def test_stalled_and_partial_inferences() -> None:
    assert codes(with_samples(800, 800, 100, 800, warm=800)) == []
    assert codes(with_samples(800, 800, 99, 800, warm=800)) == ["clean.partial"]
    assert codes(with_samples(800, 800, 0, 800)) == ["profile.clean_window_stalled"]
    assert codes(with_samples(800, 0, 99, 800, warm=800)) == ["profile.clean_window_stalled", "clean.partial"]


@pytest.mark.parametrize(
    ("source", "window", "second", "issue"),
    [
        ("silicon", 1000, 1000, False),
        ("silicon", 949, 1000, True),
        ("silicon", 1051, 1000, True),
        ("emulated", 2000, 1000, False),
        ("emulated", 499, 1000, True),
        ("emulated", 0, 0, False),
    ],
)
def test_the_window_clock_against_a_second_one(source: str, window: int, second: int, issue: bool) -> None:
    capture = make_capture()
    answers = {**SELF_TEST, "rate_window_ticks": window, "rate_second_ticks": second}
    capture = replace(capture, hello=replace(capture.hello, self_test=answers))
    assert codes(capture, source=source) == (["clean.clock_rate"] if issue else [])
    stated = assemble_context(capture, make_context(source=source), run_id="r").content.extensions["harness"]
    if second:
        assert stated["clock_rate"]["ratio"] == window / second and stated["clock_rate"]["agrees"] is not issue
    else:
        assert stated["clock_rate"] is None
