"""The whole chain: an emulated core's gate log, a virtual PPK2's bytes, our decoder, the gate, energy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.power.gating import GatePlan
from harness.power.report import analyse
from harness.virtual.ppk2_signal import KIND_GATE, KIND_SAMPLE, RECORD, Encoder, LogReader, SignalOptions, play
from tests.counters import rig
from tests.power.support import calibration, capture, header, idle_words

CLOCK_HZ = 25_000_000
VOLTS = 1.8
SCALE = 5
"""The log's energy times this makes a mean of more than 5 mA, as cores at higher clocks draw."""


@pytest.mark.parametrize("name", rig.BOARDS)
def test_energy_of_the_plugins_log_comes_out_of_the_decoder(name: str, tmp_path: Path) -> None:
    board = rig.board_type(name)
    elf = rig.build(board, Path(__file__).with_name("gate.c"), tmp_path, flags=("-DROUNDS=300000u",))
    log = tmp_path / "events"
    seen = rig.run(board, elf, options=f"events={log}").values
    records = np.fromfile(log, RECORD)
    assert list(records["arg"][records["kind"] == KIND_GATE]) == [1, 0]
    assert np.count_nonzero(records["kind"] == KIND_SAMPLE) > 100
    for field in ("cycles", "instructions", "energy_fj"):
        assert np.all(np.diff(records[field].astype(np.int64)) >= 0)
    exact_j = int(records["energy_fj"][-1] - records["energy_fj"][0]) * 1e-15
    # The observer's span is the gate's and its own reads around it.
    assert exact_j == pytest.approx(seen["energy"] * 1e-15, rel=1e-3)
    assert int(records["cycles"][-1] - records["cycles"][0]) == pytest.approx(seen["cycles"], rel=1e-3)

    options = SignalOptions(CLOCK_HZ, VOLTS / SCALE, idle_a=1e-3, seed=1)
    (window,) = LogReader(log, options).windows()
    encoder = Encoder(options)
    played = play(window, options, encoder.phase())
    words = np.concatenate(
        (idle_words(encoder, 5000, 1e-3), encoder.encode(played.amperes, played.gate), idle_words(encoder, 5000, 1e-3))
    )
    seconds = int(records["cycles"][-1] - records["cycles"][0]) / CLOCK_HZ
    waveform = capture(words.tobytes(), tmp_path / "w", of=header(volts=VOLTS / SCALE, calibration=calibration()))
    report = analyse(waveform, GatePlan(firmware_s=(seconds,)))
    found = report.windows[0]
    assert report.issues == ()
    assert seconds >= 0.1 and found.mean_a >= 5e-3 and found.range_changes <= 10
    assert found.energy_j == pytest.approx(exact_j, rel=1e-3)
