"""`harness power` against the virtual PPK2."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from harness.cli._main import run_cli
from harness.power.calibrate import calibrate
from harness.power.errors import MonitorError
from harness.power.waveform import Waveform, WaveformWriter
from harness.virtual.ppk2_signal import Encoder
from tests.power.devices import virtual_ppk2
from tests.power.support import IDLE_A, VOLTS, header, idle_words, options, window


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in this process: a new one for each would cost seconds of start-up."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_cli(["power", *arguments])
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def test_list_names_drivers_and_what_they_can() -> None:
    done = harness("list", "--json")
    assert done.returncode == 0, done.stderr
    drivers = {item["name"]: item["capabilities"] for item in json.loads(done.stdout)["drivers"]}
    assert drivers["ppk2"]["rate_hz"] == 100_000
    assert drivers["joulescope"]["qualification"] == "unverified"
    assert drivers["replay"]["qualification"] == "no device"


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path: Path) -> None:
    done = harness("show", str(tmp_path / "absent.hwf"))
    assert (done.returncode, "Check the path." in done.stderr, "cut short" in done.stderr) == (5, True, False)


def test_capture_then_show_say_the_same(tmp_path: Path) -> None:
    truth = window(np.random.default_rng(6), 0.1, 15e-3)
    with virtual_ppk2(tmp_path, "--earlier") as device:
        device.add(truth)
        done = harness("capture", str(tmp_path / "w.hwf"), "--address", device.path, "--volts", str(VOLTS),
                       "--inferences", "5", "--seconds", "20", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    captured = json.loads(done.stdout)
    assert captured["per_inference"][0]["energy_j"] == pytest.approx(truth.energy_j / 5, rel=1e-3)
    assert captured["uncertainty_covers_calibration"] is False
    shown = harness("show", str(tmp_path / "w.hwf"), "--inferences", "5")
    assert shown.returncode == 0, shown.stderr
    assert "uJ per inference" in shown.stdout and "not calibrated" in shown.stdout
    assert harness("show", str(tmp_path / "w.hwf"), "--windows", "2").returncode == 1


def test_errors_are_lines_not_tracebacks(tmp_path: Path) -> None:
    for arguments, status in (
        (("capture", str(tmp_path / "w"), "--address", "/dev/null", "--volts", "3.3"), 6),
        (("capture", str(tmp_path / "w"), "--address", "x", "--monitor", "none"), 6),
        (("capture", str(tmp_path / "w"), "--address", "x", "--mode", "sideways"), 2),
        (("show", str(tmp_path / "missing")), 5),
    ):
        done = harness(*arguments)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr and done.stderr.strip()
    assert not (tmp_path / "w").exists()


def stored(path: Path, amperes: float, count: int = 20_000) -> Waveform:
    writer = WaveformWriter(path, header())
    writer.append_words(idle_words(Encoder(options()), count, amperes))
    return Waveform(writer.close())


def test_calibration_states_what_a_measurement_may_be_off(tmp_path: Path) -> None:
    ohms = VOLTS / 10e-3
    found = calibrate(stored(tmp_path / "w", 10.1e-3), volts=VOLTS, ohms=ohms, tolerance=0.002)
    assert found.measured_a == pytest.approx(10.1e-3, rel=1e-3)
    assert found.accuracy["relative"] == pytest.approx(0.012, abs=2e-4)
    with pytest.raises(MonitorError, match="resistor"):
        calibrate(stored(tmp_path / "idle", IDLE_A), volts=VOLTS, ohms=ohms, tolerance=0.002)
    with pytest.raises(MonitorError, match="not fit"):
        calibrate(stored(tmp_path / "few", 10e-3, 500), volts=VOLTS, ohms=ohms, tolerance=0.002)
    with pytest.raises(MonitorError):
        calibrate(stored(tmp_path / "bad", 10e-3), volts=VOLTS, ohms=0.0, tolerance=0.002)


def test_calibrate_command_keeps_its_evidence(tmp_path: Path) -> None:
    with virtual_ppk2(tmp_path) as device:
        done = harness("calibrate", str(tmp_path / "c.hwf"), "--address", device.path, "--volts", str(VOLTS),
                       "--ohms", str(VOLTS / IDLE_A), "--seconds", "0.3", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"]["relative"] == pytest.approx(0.01, abs=1e-3)
    assert len(Waveform(tmp_path / "c.hwf")) >= 30_000
