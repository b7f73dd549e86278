"""The registry of monitors, file replay, and each optional driver against a stand-in of what it talks to."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.deadline import Deadline
from harness.power import monitor as monitors
from harness.power.errors import MonitorError, MonitorGoneError
from harness.power.gating import GatePlan
from harness.power.ina228 import Ina228Reading, Ina228Settings, evaluate
from harness.power.joulescope import JoulescopeDriver
from harness.power.monitor import MONITORS, MonitorSettings, get_driver, monitor_names
from harness.power.otii import OtiiDriver
from harness.power.replay import ReplayDriver
from harness.power.report import analyse
from harness.power.waveform import Gap, Waveform, WaveformWriter
from harness.virtual.ppk2_signal import Encoder
from tests.power.support import capture, header, options, window, words_of


def soon() -> Deadline:
    return Deadline(20, "a stand-in")


# --- registry ---


@pytest.mark.parametrize("name", MONITORS)
def test_every_monitor_opens_up_without_its_library(name: str) -> None:
    driver = get_driver(name)
    assert driver.name == name and driver.title
    assert isinstance(driver.find(), tuple)
    assert json.dumps(driver.capabilities.to_dict())


def test_names_people_say_find_their_driver() -> None:
    assert get_driver("js220").name == "joulescope"
    with pytest.raises(MonitorError, match="'ppk2'"):
        get_driver("ppk3")


def test_a_third_party_registers_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs:
        name = "theirs"

    class Point:
        name, value = "theirs", "theirs:Driver"

        def load(self) -> type:
            return Theirs

    class Broken(Point):
        name = "broken"

        def load(self) -> type:
            raise ImportError("no module named theirs")

    monkeypatch.setattr(monitors, "entry_points", lambda group: [Point(), Broken()])
    assert {"theirs", "ppk2"} <= set(monitor_names())
    assert isinstance(get_driver("theirs"), Theirs)
    with pytest.raises(MonitorError, match="cannot be loaded"):
        get_driver("broken")


# --- replay ---


def replayed(path: Path, to: Path, **changes: Any) -> Waveform:
    with ReplayDriver().open(str(path), MonitorSettings(**{"volts": 3.3, **changes}), soon()) as opened:
        return opened.copy(to)


def test_our_own_file_replays_to_the_same_numbers(tmp_path: Path) -> None:
    truth = window(np.random.default_rng(1), 0.05, 1e-2)
    first = capture(words_of([truth], Encoder(options())).tobytes(), tmp_path / "w.hwf")
    again = replayed(tmp_path / "w.hwf", tmp_path / "copy.hwf")
    assert analyse(again, GatePlan()).windows == analyse(first, GatePlan()).windows
    with ReplayDriver().open(str(tmp_path / "w.hwf"), MonitorSettings(), soon()) as opened:
        opened.start()
        writer = WaveformWriter(tmp_path / "pumped", opened.header())
        with pytest.raises(MonitorGoneError, match="end"):
            while opened.pump(writer, 0.0):
                pass
        writer.abandon()


def test_csv_with_gaps_in_time_and_missing_values(tmp_path: Path) -> None:
    rows = ["time_s,current_a,gate"]
    for index in range(2000):
        if 700 <= index < 705:
            continue
        current = "" if index == 300 else "nan" if index == 301 else "0.01"
        rows.append(f"{index / 10_000:.6f},{current},{int(500 <= index < 1500)}")
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    waveform = replayed(tmp_path / "t.csv", tmp_path / "w")
    assert waveform.header.rate_hz == pytest.approx(10_000)
    assert waveform.footer.gaps == (Gap(300, 2, "lost"), Gap(698, 5, "lost"))
    found = analyse(waveform, GatePlan()).windows[0]
    assert found.duration_s == pytest.approx(0.1)
    assert found.energy_j == pytest.approx(0.01 * 3.3 * 0.1, rel=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "time_s,current_a\n1,x\n",
        "time_s,current_a\n1,1\n0,1\n",
        "time_s,current_a\n1\n",
        "time_s,current_a\n\xff",
    ],
)
def test_a_bad_csv_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(MonitorError):
        replayed(tmp_path / "t.csv", tmp_path / "w")
    assert not (tmp_path / "w").exists()


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,current_a,gate\n" + text, encoding="utf-8")
    (tmp_path / "w").unlink(missing_ok=True)
    try:
        replayed(tmp_path / "t.csv", tmp_path / "w")
    except MonitorError:
        assert not (tmp_path / "w").exists()


def test_jls_that_pyjls_wrote(tmp_path: Path) -> None:
    from pyjls import DataType, SignalType, Writer

    count, rate = 200_000, 100_000
    gate = np.zeros(count, np.uint8)
    gate[50_000:150_000] = 1
    current = np.where(gate, 0.02, 0.001).astype(np.float32)
    current[120_000:120_010] = np.nan
    writer = Writer(str(tmp_path / "t.jls"))
    writer.source_def(source_id=1, name="JS220-1", vendor="v", model="JS220", version="1", serial_number="1")
    signals = (("current", DataType.F32, "A"), ("voltage", DataType.F32, "V"), ("gpi[0]", DataType.U1, ""))
    for number, (name, kind, units) in enumerate(signals, 1):
        writer.signal_def(
            signal_id=number,
            source_id=1,
            signal_type=SignalType.FSR,
            data_type=kind,
            sample_rate=rate,
            name=name,
            units=units,
        )
    writer.fsr(1, 0, current)
    writer.fsr(2, 0, np.full(count, 3.0, np.float32))
    writer.fsr(3, 0, np.packbits(gate, bitorder="little"))
    writer.close()
    waveform = replayed(tmp_path / "t.jls", tmp_path / "w", volts=None)
    assert waveform.footer.gaps == (Gap(120_000, 10, "lost"),)
    found = analyse(waveform, GatePlan(firmware_s=(1.0,))).windows[0]
    assert (found.lost, found.duration_s) == (10, pytest.approx(1.0))
    assert found.energy_j == pytest.approx(0.02 * 3.0 * 1.0, rel=1e-5)
    (tmp_path / "bad.jls").write_bytes(b"not a jls")
    with pytest.raises(MonitorError, match=r"bad\.jls"):
        replayed(tmp_path / "bad.jls", tmp_path / "x")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(MonitorError, match="not a file"):
        replayed(tmp_path / "none.csv", tmp_path / "w")


# --- Joulescope, against a stand-in driver object ---


class JoulescopeStandIn:
    """Has the calls of pyjoulescope-driver's Driver; publishes what the test tells it to."""

    def __init__(self, paths: tuple[str, ...] = ("u/js220/000123",), *, fails: str = "") -> None:
        self.paths = paths
        self.fails = fails
        self.published: list[tuple[str, Any]] = []
        self.subscribers: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        self.finalized = False

    def device_paths(self) -> list[str]:
        return list(self.paths)

    def open(self, path: str, mode: str, timeout: float) -> None:
        if self.fails:
            raise RuntimeError(self.fails)

    def close(self, path: str) -> None:
        self.published.append(("closed", path))

    def finalize(self) -> None:
        self.finalized = True

    def publish(self, topic: str, value: Any, timeout: float = 0.0) -> None:
        self.published.append((topic, value))

    def subscribe(self, topic: str, flags: list[str], callback: Callable[[str, dict[str, Any]], None]) -> None:
        self.subscribers[topic] = callback

    def unsubscribe(self, topic: str, callback: Callable[[str, dict[str, Any]], None]) -> None:
        assert self.subscribers.pop(topic) == callback

    def send(self, name: str, first: int, data: np.ndarray) -> None:
        topic = f"{self.paths[0]}/s/{name}/!data"
        self.subscribers[topic](topic, {"sample_id": first * 2, "decimate_factor": 2, "data": data})


def test_joulescope_joins_signals_and_lists_what_is_lost(tmp_path: Path) -> None:
    stand_in = JoulescopeStandIn()
    driver = JoulescopeDriver(lambda: stand_in)
    assert driver.find()[0].product == "JS220"
    rate, count = 100_000, 40_000
    with driver.open("000123", MonitorSettings(rate_hz=rate), soon()) as opened:
        writer = WaveformWriter(tmp_path / "w", opened.header())
        opened.start()
        current, gate = np.full(count, 2e-3, np.float32), np.zeros(count, np.uint8)
        gate[10_000:30_000] = 1
        current[5_000] = np.nan
        for at in range(0, count, 1000):
            if at == 15_000:
                continue
            # Blocks of the signals begin at different samples.
            stand_in.send("i", at, current[at : at + 1000])
            stand_in.send("v", max(at - 300, 0), np.full(700 if at == 0 else 1000, 3.0, np.float32))
            stand_in.send("gpi/0", at, gate[at : at + 1000])
            opened.pump(writer, 0.1)
        ending = opened.stop(writer)
        waveform = Waveform(writer.close(gaps=ending.gaps))
    assert stand_in.subscribers == {} and stand_in.finalized
    assert ("u/js220/000123/s/i/range/mode", "off") in stand_in.published
    assert waveform.footer.gaps[0] == Gap(5_000, 1, "lost")
    assert sum(gap.lost for gap in waveform.footer.gaps) == pytest.approx(1301, abs=1)
    found = analyse(waveform, GatePlan()).windows[0]
    assert found.duration_s == pytest.approx(0.2, abs=2e-5)
    assert found.energy_j == pytest.approx(2e-3 * 3.0 * 0.2, rel=1e-3)


def test_a_joulescope_that_falls_silent_or_is_in_use_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.power import joulescope

    monkeypatch.setattr(joulescope, "SILENCE_S", 0.05)
    driver = JoulescopeDriver(JoulescopeStandIn)
    with driver.open("u/js220/000123", MonitorSettings(keep_supply=True), soon()) as opened:
        writer = WaveformWriter(tmp_path / "w", opened.header())
        opened.start()
        late = soon()
        with pytest.raises(MonitorGoneError, match="stopped"):
            while not late.expired:
                opened.pump(writer, 0.06)
        with pytest.raises(MonitorError, match="feed"):
            opened.set_volts(3.0)
        writer.abandon()
    for stand_in, words in ((JoulescopeStandIn(fails="in use"), "in use"), (JoulescopeStandIn(()), "none")):
        with pytest.raises(MonitorError, match=words):
            JoulescopeDriver(lambda s=stand_in: s).open("000123", MonitorSettings(), soon())  # type: ignore[misc]
        assert stand_in.finalized


# --- Otii, against a stand-in TCP server ---


class OtiiStandIn(threading.Thread):
    """Answers the requests of otii-tcp-client on a loopback port from a dictionary of commands."""

    def __init__(self, answers: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(daemon=True)
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def run(self) -> None:
        try:
            client, _ = self.server.accept()
        except OSError:
            return
        with client, client.makefile("rw", newline="\r\n") as stream:
            self._say(stream, {"type": "information", "info": "connected", "data": {}})
            for line in stream:
                request = json.loads(line)
                command, data = request["cmd"], request.get("data", {})
                self.asked.append((command, data))
                answer = self.answers.get(command, lambda _: {})(data)
                kind = "error" if answer is None else "response"
                self._say(stream, {"type": kind, "trans_id": request["trans_id"], "cmd": command,
                                   "errorcode": "refused", "payload": {}, "data": answer or {}})  # fmt: skip

    @staticmethod
    def _say(stream: Any, message: dict[str, Any]) -> None:
        stream.write(json.dumps(message) + "\r\n")
        stream.flush()


RATE, COUNT = 50_000, 90_000


def otii_answers() -> dict[str, Callable[[dict[str, Any]], Any]]:
    def samples(data: dict[str, Any]) -> dict[str, Any]:
        if data["channel"] == "i1":
            edges = [(0.4 - 1e-9, True), (1.4 - 1e-9, False)]
            return {"data_type": "digital", "values": [{"timestamp": t, "value": v} for t, v in edges]}
        value = 0.005 if data["channel"] == "mc" else 3.0
        # After 40,000 samples 100 are missing.
        at = data["index"] + (100 if data["index"] >= 40_000 else 0)
        return {"data_type": "analog", "timestamp": at / RATE, "interval": 1 / RATE, "values": [value] * data["count"]}

    device = {"device_id": "AB12", "name": "Ace", "type": "Ace"}
    return {
        "otii_get_devices": lambda _: {"devices": [device]},
        "otii_get_active_project": lambda _: {"project_id": 7},
        "arc_get_channel_samplerate": lambda _: {"value": RATE},
        "project_get_last_recording": lambda _: {"recording_id": 3, "name": "r"},
        "recording_get_channel_data_count": lambda data: {"count": 2 if data["channel"] == "i1" else COUNT},
        "recording_get_channel_data": samples,
    }


@pytest.fixture
def otii() -> Iterator[OtiiStandIn]:
    stand_in = OtiiStandIn(otii_answers())
    stand_in.start()
    yield stand_in
    stand_in.server.close()
    stand_in.join(10)


def test_otii_records_and_fetches(otii: OtiiStandIn, tmp_path: Path) -> None:
    with OtiiDriver().open(f"127.0.0.1:{otii.port}/Ace", MonitorSettings(), soon()) as opened:
        opened.supply(True)
        opened.set_volts(3.0)
        opened.start()
        writer = WaveformWriter(tmp_path / "w", opened.header())
        assert opened.pump(writer, 0.0) == 0
        ending = opened.stop(writer)
        with pytest.raises(MonitorError, match="9 V"):
            opened.set_volts(9.0)
    waveform = Waveform(writer.close(gaps=ending.gaps))
    assert waveform.footer.gaps == (Gap(40_000, 100, "lost"),)
    found = analyse(waveform, GatePlan(firmware_s=(1.0,))).windows[0]
    assert found.duration_s == pytest.approx(1.0, abs=1e-4)
    assert found.energy_j == pytest.approx(0.005 * 3.0 * 1.0, rel=1e-3)
    assert [data["enable"] for command, data in otii.asked if command == "arc_set_main"] == [True, False]


def test_an_otii_server_that_refuses_is_told(otii: OtiiStandIn, tmp_path: Path) -> None:
    otii.answers["project_start_recording"] = lambda _: None
    with OtiiDriver().open(f"127.0.0.1:{otii.port}", MonitorSettings(), soon()) as opened:
        with pytest.raises(MonitorGoneError, match="start a recording"):
            opened.start()


def test_another_device_than_asked_for_is_not_taken(otii: OtiiStandIn) -> None:
    with pytest.raises(MonitorError, match="Found: Ace"):
        OtiiDriver().open(f"127.0.0.1:{otii.port}/Arc", MonitorSettings(), soon())


def test_no_server_and_no_address_are_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "host:x"):
        with pytest.raises(MonitorError, match="Otii"):
            OtiiDriver().open(address, MonitorSettings(), soon())


# --- INA228, as firmware reports it ---

CHIP = Ina228Settings(full_scale_a=0.16384, averages=2, conversion=4)


def test_ina228_accumulators_become_energy() -> None:
    step = CHIP.current_step_a
    assert step == pytest.approx(312.5e-9)
    energy, charge = round(0.05 / (51.2 * step)), round(0.0151 / step)
    got = evaluate(Ina228Reading((1 << 40) - 1000, energy - 1000, 5, charge + 5, 1.5), CHIP)
    assert got.energy_j == pytest.approx(0.05, abs=51.2 * step)
    assert got.charge_c == pytest.approx(0.0151, abs=step)
    assert got.issues == ()
    # 0.3 % of gain, and edges of one update in 89.
    assert got.u95_j == pytest.approx(math.hypot(0.003 * 0.05, 1.96 * 0.05 * CHIP.update_s / 1.5 / 6**0.5), rel=0.02)


@pytest.mark.parametrize(
    ("reading", "code"),
    [
        (Ina228Reading(0, 1000, 0, 1000, 0.1), "power.window_short"),
        (Ina228Reading(0, 1000, 0, 1000, 2.0, overflow=True), "power.saturated"),
        (Ina228Reading(0, 1000, 1000, 0, 2.0), "power.negative_charge"),
    ],
)
def test_ina228_windows_that_cannot_be_trusted(reading: Ina228Reading, code: str) -> None:
    assert code in evaluate(reading, CHIP).suppressed


def test_ina228_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(MonitorError):
        evaluate(Ina228Reading(0, 1, 0, 1, 1.0), Ina228Settings(1.0, 9, 0))
    with pytest.raises(MonitorError):
        evaluate(Ina228Reading(0, 1, 0, 1, 0.0), CHIP)


def test_a_header_of_any_monitor_survives_its_file(tmp_path: Path) -> None:
    made = header(encoding="float32", volts=None, calibration=None, mode="ampere", gate_line=1)
    writer = WaveformWriter(tmp_path / "w", made)
    assert Waveform(writer.close()).header == made
