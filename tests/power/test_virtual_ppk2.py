"""The virtual PPK2 through our driver and through the real ppk2-api: same process, same pty."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.core.deadline import Deadline
from harness.power.errors import MonitorError, MonitorGoneError, PowerCaptureError
from harness.power.gating import GatePlan
from harness.power.monitor import MonitorSettings
from harness.power.ppk2_decode import Decoder, StreamParser
from harness.power.recording import Recording
from harness.power.report import analyse
from harness.power.waveform import Waveform
from harness.virtual.ppk2_signal import KIND_GATE, RECORD, Encoder, LogReader, SignalOptions, play
from tests.power.devices import Virtual, virtual_ppk2
from tests.power.support import CLOCK_HZ, IDLE_A, RATE, VOLTS, calibration, options, window

PEER = Path(__file__).parents[2] / ".peers" / "ppk2" / "bin" / "python"


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Virtual]:
    with virtual_ppk2(tmp_path, "--power-file", str(tmp_path / "power")) as running:
        yield running


def test_whole_chain_from_log_to_energy(device: Virtual, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    truths = [window(rng, 0.15, 12e-3), window(rng, 0.12, 30e-3)]
    with device.open() as monitor, Recording(monitor, tmp_path / "w") as recording:
        recording.wait_samples(5_000, Deadline(20, "idle samples"))
        for number, truth in enumerate(truths):
            device.add(truth)
            recording.wait_windows(number + 1, Deadline(20, "a window"))
        waveform = recording.finish()
    plan = GatePlan(windows=2, inferences=8, firmware_s=tuple(t.duration_s for t in truths), labels=("a", "b"))
    report = analyse(waveform, plan, 1.0)
    assert report.issues == ()
    for found, truth in zip(report.windows, truths, strict=True):
        assert found.energy_j == pytest.approx(truth.energy_j, rel=1e-3)
        assert abs(found.energy_j - truth.energy_j) < 2 * found.energy_u95_j
    assert report.idle_a == pytest.approx(IDLE_A, rel=1e-3)
    assert [line.label for line in report.per_inference] == ["a", "b"]


def test_it_sends_100_000_samples_a_second(device: Virtual, tmp_path: Path) -> None:
    with device.open() as monitor, Recording(monitor, tmp_path / "w") as recording:
        recording.wait_samples(1, Deadline(20, "the first samples"))
        start, first = time.monotonic(), recording.samples
        recording.wait_samples(first + 60_000, Deadline(20, "samples"))
        seconds = time.monotonic() - start
        waveform = recording.finish()
    assert seconds > 0.5
    late = [value for _, value in waveform.footer.lateness]
    # The earliest samples of each while keep to the rate within what a busy host delays them.
    assert abs(min(late[-3:]) - min(late[:3])) < 0.05
    assert waveform.footer.gaps == ()


def test_the_real_ppk2_api_uses_it_as_it_is_and_agrees(device: Virtual, tmp_path: Path) -> None:
    code = """
import json, sys, time
import numpy as np
from ppk2_api.ppk2_api import PPK2_API
device = PPK2_API(sys.argv[1])
assert device.get_modifiers()
device.set_source_voltage(3300)
device.use_source_meter()
device.toggle_DUT_power("ON")
device.start_measuring()
print("measuring", flush=True)
raw, samples, logic = b"", [], []
end = time.monotonic() + 20
while time.monotonic() < end and not (logic and sum(l & 1 for l in logic[-4000:]) == 0 and any(l & 1 for l in logic)):
    data = device.get_data()
    if data:
        raw += data
        got, bits = device.get_samples(data)
        samples += got
        logic += bits
    time.sleep(0.005)
device.stop_measuring()
np.save(sys.argv[2] + "/samples.npy", np.array(samples))
np.save(sys.argv[2] + "/logic.npy", np.array(logic))
open(sys.argv[2] + "/raw", "wb").write(raw)
print(json.dumps(device.modifiers), flush=True)
"""
    child = subprocess.Popen(
        [PEER, "-c", code, device.path, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "measuring\n", child.communicate(timeout=20)[1]
        truth = window(np.random.default_rng(3), 0.1, 20e-3, steps=3)
        device.add(truth)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0, err
    assert float(json.loads(out)["R"]["0"]) == pytest.approx(calibration().r[0])
    parser, decoder = StreamParser(), Decoder(calibration(), VOLTS)
    raw = (tmp_path / "raw").read_bytes()
    words = np.concatenate([parser.feed(raw), parser.finish()])
    display = decoder.decode(words)[1]
    theirs = np.load(tmp_path / "samples.npy") * 1e-6
    assert parser.events == []
    assert len(words) > 10_000 and len(theirs) == len(words)
    assert np.count_nonzero(np.diff(words >> 14 & 7)) >= 2
    assert np.all(np.abs(display - theirs) <= 1e-9 * np.abs(theirs))
    assert np.count_nonzero(words >> 24 & 1) == pytest.approx(truth.duration_s * RATE, abs=1)


@pytest.mark.parametrize("change_every", [7, 1000])
def test_display_series_is_that_of_ppk2_api_in_all_ranges(change_every: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(change_every)
    count = 60_000
    ranges = rng.integers(0, 5, count)[np.cumsum(rng.random(count) < 1 / change_every)]
    words = (rng.integers(0, 1 << 14, count) | ranges << 14 | np.arange(count) % 64 << 18).astype("<u4")
    (tmp_path / "raw").write_bytes(words.tobytes())
    code = """
import os, sys
import numpy as np
from ppk2_api.ppk2_api import PPK2_API
master, slave = os.openpty()
device = PPK2_API(os.ttyname(slave))
device.current_vdd = 3300
data, out = open(sys.argv[1] + "/raw", "rb").read(), []
for at in range(0, len(data), 4093):
    out += device.get_samples(data[at:at + 4093])[0]
np.save(sys.argv[1] + "/samples.npy", np.array(out))
"""
    subprocess.run([PEER, "-c", code, str(tmp_path)], check=True, timeout=60)
    from harness.power.ppk2_wire import Calibration

    display = Decoder(Calibration(), 3.3).decode(words)[1]
    theirs = np.load(tmp_path / "samples.npy") * 1e-6
    assert np.all(np.abs(display - theirs) <= 1e-9 * np.abs(theirs))


def test_supply_can_be_switched_and_is_off_after_closing(device: Virtual, tmp_path: Path) -> None:
    power = tmp_path / "power"

    def becomes(value: str) -> bool:
        deadline = Deadline(10, "the supply to switch")
        while not deadline.expired:
            if power.exists() and power.read_text() == value:
                return True
            os.sched_yield()
        return False

    with device.open() as monitor:
        monitor.supply(True)
        assert becomes("1")
        monitor.supply(False)
        assert becomes("0")
        monitor.supply(True)
        assert becomes("1")
    assert becomes("0")


def test_supply_stays_on_when_asked(device: Virtual, tmp_path: Path) -> None:
    monitor = device.open(MonitorSettings(volts=VOLTS, keep_supply=True))
    monitor.supply(True)
    monitor.close()
    monitor.close()
    with device.open(MonitorSettings(volts=VOLTS, keep_supply=True)):
        assert (tmp_path / "power").read_text() == "1"


def test_a_second_user_is_refused(device: Virtual) -> None:
    with device.open(), pytest.raises(MonitorError, match="in use"):
        device.open()


def test_a_voltage_out_of_range_is_refused(device: Virtual) -> None:
    with device.open() as monitor, pytest.raises(MonitorError, match="9 V"):
        monitor.set_volts(9.0)
    with pytest.raises(MonitorError, match="voltage"):
        device.open(MonitorSettings())
    with device.open(MonitorSettings(mode="ampere", volts=3.0)) as ampere, pytest.raises(MonitorError, match="feed"):
        ampere.set_volts(3.0)


def test_a_device_that_dies_leaves_a_waveform_that_says_so(tmp_path: Path) -> None:
    with virtual_ppk2(tmp_path) as running:
        monitor = running.open()
        with Recording(monitor, tmp_path / "w") as recording:
            recording.wait_samples(2_000, Deadline(20, "samples"))
            assert running.process.stdin is not None
            running.process.stdin.close()
            with pytest.raises(PowerCaptureError, match="a window"):
                recording.wait_windows(1, Deadline(20, "a window"))
            waveform = recording.finish()
        monitor.close()
    assert waveform.footer.gone
    report = analyse(waveform, GatePlan())
    assert {issue.code for issue in report.issues} == {"power.no_gate_rise", "power.monitor_gone"}
    assert report.per_inference == ()


def test_an_error_in_the_run_leaves_no_file(device: Virtual, tmp_path: Path) -> None:
    with device.open() as monitor:
        with pytest.raises(RuntimeError), Recording(monitor, tmp_path / "w") as recording:
            recording.wait_samples(100, Deadline(20, "samples"))
            raise RuntimeError
        assert not (tmp_path / "w").exists()
        with Recording(monitor, tmp_path / "w") as recording:
            recording.wait_samples(100, Deadline(20, "samples"))
            assert isinstance(recording.finish(), Waveform)


def test_something_else_at_the_port_is_told(tmp_path: Path) -> None:
    from harness.power.ppk2 import Ppk2Driver

    master, slave = os.openpty()
    try:
        with pytest.raises(Exception, match="metadata"):
            Ppk2Driver().open(os.ttyname(slave), MonitorSettings(volts=3.3), Deadline(0.3, "the PPK2's metadata"))
    finally:
        os.close(master)
        os.close(slave)
    with pytest.raises(MonitorError, match="serial port"):
        Ppk2Driver().open("/dev/null", MonitorSettings(volts=3.3), Deadline(1, "the PPK2's metadata"))
    with pytest.raises(MonitorError, match="no PPK2"):
        Ppk2Driver().open("C0FFEE", MonitorSettings(volts=3.3), Deadline(1, "the PPK2's metadata"))


def test_silence_is_an_end(device: Virtual, tmp_path: Path) -> None:
    from harness.power.ppk2_wire import Command
    from harness.power.waveform import WaveformWriter

    with device.open() as monitor:
        monitor.start()
        monitor._command(Command.STOP)
        writer = WaveformWriter(tmp_path / "w", monitor.header())
        with pytest.raises(MonitorGoneError, match="stopped"):
            deadline = Deadline(20, "the end")
            while not deadline.expired:
                monitor.pump(writer, 0.1)
        writer.abandon()


# --- the signal model without a process ---


def test_log_reader_waits_for_whole_windows_and_survives_a_new_boot(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    first, second = window(rng, 0.01, 1e-2), window(rng, 0.02, 1e-2)
    data = first.records.tobytes()
    reader = LogReader(tmp_path / "log", options())
    assert list(reader.windows()) == []
    (tmp_path / "log").write_bytes(data[:-40])
    assert list(reader.windows()) == []
    (tmp_path / "log").write_bytes(data)
    assert len(list(reader.windows())) == 1
    (tmp_path / "log").write_bytes(second.records.tobytes()[:320])
    assert list(reader.windows()) == []
    (tmp_path / "log").write_bytes(second.records.tobytes())
    (found,) = reader.windows()
    assert int(found["energy_fj"][-1] - found["energy_fj"][0]) * 1e-15 == pytest.approx(second.energy_j)


def test_play_keeps_energy_whatever_the_phase() -> None:
    truth = window(np.random.default_rng(4), 0.03, 7e-3)
    for phase in (0.0, 0.31, 0.99):
        played = play(truth.records, options(), phase)
        idle_s = len(played.amperes) / RATE - truth.duration_s
        assert played.amperes.sum() * VOLTS / RATE == pytest.approx(truth.energy_j + idle_s * IDLE_A * VOLTS, rel=1e-9)
        assert abs(int(played.gate.sum()) - truth.duration_s * RATE) <= 1


def test_a_window_has_its_lead(tmp_path: Path) -> None:
    truth = window(np.random.default_rng(4), 0.01, 7e-3)
    lead = np.zeros(20, RECORD)
    lead["kind"] = 3
    start = int(truth.records["cycles"][0])
    lead["cycles"] = start - np.arange(20, 0, -1) * CLOCK_HZ // 4000
    lead["energy_fj"] = int(truth.records["energy_fj"][0]) - np.arange(20, 0, -1) * 10
    (tmp_path / "log").write_bytes(np.concatenate((lead, truth.records)).tobytes())
    (found,) = LogReader(tmp_path / "log", options()).windows()
    rise = int(np.flatnonzero(found["kind"] == KIND_GATE)[0])
    assert int(found["cycles"][rise] - found["cycles"][0]) == round(0.002 * CLOCK_HZ)


def test_encoded_noise_is_what_was_asked_for() -> None:
    encoder = Encoder(options(noise_lsb=0.5))
    words = encoder.encode(np.full(200_000, 20e-3), np.zeros(200_000, "u1"))[10:]
    codes = (words & 0x3FFF).astype(float)
    assert codes.std() == pytest.approx((0.5**2 + 1 / 12) ** 0.5, rel=0.02)
    with pytest.raises(ValueError, match="noise"):
        SignalOptions(CLOCK_HZ, VOLTS, IDLE_A, noise_lsb=0.4)
