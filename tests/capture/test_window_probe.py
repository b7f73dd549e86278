"""Busy loops in place of inferences, and the quiet before a window, on the app as a process of this machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.capture.conversation import capture
from harness.capture.record import Capture
from harness.capture.request import WindowRequest
from harness.capture.wire import BUSY_ROUND_INSTRUCTIONS, BUSY_ROUNDS
from tests.capture.wires import EXPECTED, PATIENT, REQUEST, wire
from tests.firmware.host_build import host_firmware

READ = 1000
"""Cycles that the process' clock advances at each read."""


def run(window: WindowRequest) -> Capture:
    with wire(host_firmware()) as transport:
        return capture(transport, EXPECTED, replace(REQUEST, window=window), PATIENT, nonce=5)


def test_a_probe_times_loops_and_no_inference() -> None:
    got = run(WindowRequest("fixed", probe="busy_loop"))
    assert got.clean is None and got.probe is not None
    assert got.unavailable["clean window"].startswith("not measured: the clean window timed a busy loop")
    length = READ + BUSY_ROUNDS * BUSY_ROUND_INSTRUCTIONS
    assert got.probe.samples.tolist() == [length] * REQUEST.iterations
    assert got.probe.ticks == REQUEST.iterations * length
    assert len(got.inferences) == len(REQUEST.inference_inputs), "what follows the window is as ever"


def test_an_automatic_probe_is_sized_by_the_loop() -> None:
    got = run(WindowRequest("auto", target_ms=10, probe="busy_loop"))
    assert got.probe is not None
    assert got.probe.iterations == 250_000 // (READ + BUSY_ROUNDS * BUSY_ROUND_INSTRUCTIONS)


@pytest.mark.parametrize("milliseconds", [0, 1, 7])
def test_the_window_waits_as_long_as_asked(milliseconds: int) -> None:
    got = run(WindowRequest("fixed", settle_ms=milliseconds))
    assert got.clean is not None
    assert (got.clean.settle_ms, got.clean.settle_ticks) == (milliseconds, 25_000 * milliseconds)


def test_a_pause_does_not_change_the_window() -> None:
    quiet, paused = run(WindowRequest("fixed")).clean, run(WindowRequest("fixed", settle_ms=3)).clean
    assert quiet is not None and paused is not None
    assert quiet.samples.tolist() == paused.samples.tolist()
