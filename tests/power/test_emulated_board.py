"""Energy per inference of a model on an emulated board, through the virtual PPK2 and our driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.inventory import BenchFileError, load_bench
from harness.bench.local import LocalHold
from harness.bench.provider import BoardLease, MonitorPlace
from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.image.build import build
from harness.plan.freeze import freeze
from harness.power.gating import GatePlan
from harness.power.monitor import MonitorSettings, get_driver
from harness.power.recording import Recording
from harness.power.report import analyse
from harness.runner.board import flash_board, lease_board
from harness.runner.deadlines import Deadlines
from harness.runner.measure import capture_request, measure
from harness.virtual.command import EVENTS
from harness.virtual.ppk2_signal import LogReader, SignalOptions

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.tflite"
INFERENCES = 40


def logged(lease: BoardLease) -> tuple[float, float]:
    """Joules and seconds between the gate's edges of the one window in a board's log."""
    log = lease._hold.emulator.directory / EVENTS  # type: ignore[attr-defined]
    (records,) = LogReader(log, SignalOptions(25_000_000, 1.8, 0.0)).windows()
    first, last = records[0], records[-1]
    energy = (int(last["energy_fj"]) - int(first["energy_fj"])) * 1e-15
    return energy, (int(last["cycles"]) - int(first["cycles"])) / 25e6


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
def test_energy_per_inference_is_what_the_emulator_counted(board: str, tmp_path: Path) -> None:
    plan = freeze(DIGITS, board=board, iterations=INFERENCES, warmup=1, per_layer=False, window_mode="fixed")
    made = build(plan, tmp_path / "build")
    deadlines = Deadlines.of({})
    with lease_board(load_bench(None), made, serial=None, holder="test", deadlines=deadlines) as lease:
        place = lease.power_monitor(Deadline(20, "the power monitor"))
        assert place is not None and lease.power_monitor(Deadline(20, "the power monitor")) == place
        settings = MonitorSettings(
            volts=place.volts,
            gate_line=place.gate_line,
            source=lease.board_type.source,
            accuracy={"relative": place.relative_error, "basis": place.basis},
        )
        ready = flash_board(lease, made, deadlines)
        with get_driver(place.driver).open(place.address, settings, Deadline(20, "the monitor")) as monitor:
            with Recording(monitor, tmp_path / "w") as recording:
                recording.wait_samples(3000, Deadline(20, "idle samples"))
                said = measure(ready, capture_request(made, (), ()), deadlines)
                recording.wait_windows(1, Deadline(30, "the window"))
                waveform = recording.finish()
        counted_j, seconds = logged(lease)
    assert not Path(place.address).exists()
    clean = said.clean
    assert clean is not None
    # The firmware reads the emulator's totals outside of the gate, so they hold a little more than the window.
    assert counted_j < clean.observed["emulator.energy_fj"] * 1e-15 < counted_j * (1 + 1e-3)
    report = analyse(waveform, GatePlan(inferences=clean.iterations, completed=clean.iterations))
    assert report.issues == ()
    (line,) = report.per_inference
    assert line.energy_j == pytest.approx(counted_j / clean.iterations, rel=1e-3)
    assert abs(line.energy_j - counted_j / clean.iterations) <= 2 * line.u95_j
    assert line.duration_s == pytest.approx(seconds / clean.iterations, abs=2e-5)
    assert report.header.source == "emulated"


def test_bench_file_names_the_monitor_of_a_board(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    text = (
        "version: 1\nboards:\n  - serial: 12345\n    board: mps2_an386\n"
        "    power: {driver: ppk2, address: /dev/ttyACM9, volts: 3}\n"
    )
    file.write_text(text)
    (local,) = (provider for provider in load_bench(file).providers if provider.name == "local")
    hold = LocalHold(local._boards[0], load_board_type("mps2_an386"), local._usb)  # type: ignore[attr-defined]
    assert hold.power_monitor(Deadline(1, "it")) == MonitorPlace("ppk2", "/dev/ttyACM9", 3.0)
    file.write_text(text.replace("volts: 3", "volts: -3"))
    with pytest.raises(BenchFileError):
        load_bench(file)
