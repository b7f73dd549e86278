"""Energy per inference of a model on an emulated board, through the virtual PPK2 and our driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.core.deadline import Deadline
from harness.image.build import build
from harness.plan.freeze import freeze
from harness.power.gating import GatePlan
from harness.power.monitor import MonitorSettings
from harness.power.recording import Recording
from harness.power.report import analyse
from harness.runner.board import flash_board, lease_board
from harness.runner.deadlines import Deadlines
from harness.runner.measure import capture_request, measure
from harness.virtual.launcher import EVENTS
from harness.virtual.registry import places
from tests.power.devices import virtual_ppk2

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.tflite"
VOLTS = 1.8
INFERENCES = 40


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
def test_energy_per_inference_is_what_the_emulator_counted(board: str, tmp_path: Path) -> None:
    plan = freeze(DIGITS, board=board, iterations=1, warmup=1, per_layer=False, window_mode="fixed",
                  window_min=INFERENCES, window_max=INFERENCES)  # fmt: skip
    made = build(plan, tmp_path / "build")
    deadlines = Deadlines.of({})
    with lease_board(load_bench(None), made, serial=None, holder="test", deadlines=deadlines) as lease:
        log = places(lease.serial).directory / EVENTS
        more = ("--log", str(log), "--volts", str(VOLTS), "--idle-a", "0.0005")
        settings = MonitorSettings(volts=VOLTS, source="emulated", accuracy={"relative": 0.0, "basis": "modelled"})
        ready = flash_board(lease, made, deadlines)
        with virtual_ppk2(tmp_path, *more) as device, device.open(settings) as monitor:
            with Recording(monitor, tmp_path / "w") as recording:
                recording.wait_samples(3000, Deadline(20, "idle samples"))
                said = measure(ready, capture_request(made, (), ()), deadlines)
                recording.wait_windows(1, Deadline(30, "the window"))
                waveform = recording.finish()
    clean = said.clean
    assert clean is not None
    counted_j = clean.observed["emulator.energy_fj"] * 1e-15
    report = analyse(waveform, GatePlan(inferences=clean.iterations, completed=clean.iterations))
    assert report.issues == ()
    (line,) = report.per_inference
    assert line.energy_j == pytest.approx(counted_j / clean.iterations, rel=2e-3)
    assert abs(line.energy_j - counted_j / clean.iterations) <= 2 * line.u95_j
    assert line.duration_s == pytest.approx(clean.observed["emulator.cycles"] / 25e6 / clean.iterations, rel=5e-3)
    assert report.header.source == "emulated"
