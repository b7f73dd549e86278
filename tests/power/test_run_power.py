"""Energy as part of a run: bundle, metrics, verdicts, and what happens when the monitor fails."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.bench.provider import BoardLease
from harness.core.errors import HarnessError, HostError
from harness.image.build import build
from harness.image.record import Build
from harness.judge.compare import compare
from harness.plan.freeze import freeze
from harness.power.errors import MonitorError, MonitorGoneError, PowerCaptureError
from harness.power.report import analyse
from harness.power.waveform import Waveform, WaveformWriter
from harness.results.errors import BundleError
from harness.results.reader import read_bundle
from harness.results.recompute import check_power, check_recomputed
from harness.runner.board import lease_board
from harness.runner.deadlines import Deadlines
from harness.runner.outcome import RunOutcome
from harness.runner.run import run

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.tflite"
SETTINGS = {"iterations": 3, "warmup": 1, "window_target_ms": 100, "power_target_ms": 120, "power_windows": 2}
PROFILE = """
schema: hpx.comparison-profile
schema_version: 1
metrics:
  power.energy_per_inference_j: {direction: smaller, unit: J, max_regression_pct: 2, missing: fail}
harness:
  metrics:
    power.charge_per_inference_c: {direction: smaller, unit: C, max_regression_pct: 2, missing: fail}
    "power.layer[0].energy_j": {direction: smaller, unit: J, max_regression_pct: 5, missing: ignore}
"""


@dataclass(frozen=True)
class Bench:
    """A leased board with its build, and a place for bundles."""

    lease: BoardLease
    build: Build
    place: Path

    def run(self, name: str, power: str = "any", build: Build | None = None, **more: object) -> RunOutcome:
        return run(build or self.build, lease=self.lease, out=self.place / name, expect="none", power=power, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    place = tmp_path_factory.mktemp("power")
    made = build(freeze(DIGITS, board="mps2_an386", power="any", power_per_layer=True, **SETTINGS), place / "build")
    with lease_board(load_bench(None), made, serial=None, holder="test", deadlines=Deadlines.of({})) as lease:
        yield Bench(lease, made, place)


@pytest.fixture(scope="module")
def outcome(bench: Bench) -> RunOutcome:
    return bench.run("first")


def test_bundle_has_energy_that_follows_from_its_waveform(outcome: RunOutcome) -> None:
    assert outcome.valid, outcome.evaluation.issues
    bundle = read_bundle(outcome.bundle)
    power = bundle.summary["power"]
    assert power["measurement_scope"] == "gpio_gated_clean_window" and power["integrity"] == "valid"
    assert power["source"] == "emulated"
    assert bundle.manifest is not None and bundle.manifest.comparability["power_supply_volts"] == 1.8
    # Emulated boards have all three wires: each window waited for the host.
    assert power["sync"] == {"lockstep": True} and power["debugger"] == "detached"
    terminal = power["terminal"]
    assert terminal["status"] == "ok" and terminal["requested_count"] == terminal["completed_count"]
    # Bit for bit the same firmware counted the same energy in its clean window, inputs restored there too.
    counted = bundle.harness["emulator"]["energy_fj"] * 1e-15
    assert power["energy_per_inference_j"] == pytest.approx(counted, rel=5e-3)
    assert power["energy_j"] == pytest.approx(power["avg_power_w"] * power["capture_duration_s"])
    assert check_recomputed(outcome.bundle) > check_power(bundle) > 100
    report = analyse(Waveform(outcome.bundle / "power/waveform.hwf"), outcome.power.report.plan)  # type: ignore[union-attr]
    (line, *layers) = report.per_inference
    assert line.energy_j == power["energy_per_inference_j"] and line.windows == 2
    assert len(layers) == len(power["layers"]) == len(outcome.result.layers)
    # What the layers take one by one adds up to about what an inference takes.
    assert sum(item.energy_j for item in layers) == pytest.approx(line.energy_j, rel=0.05)
    assert json.loads((outcome.bundle / "power.json").read_text())["report"]["windows"][0]["uncertainty"]["edges"] > 0


@pytest.mark.parametrize(
    "name",
    ["energy_j", "avg_power_w", "p95_current_a", "energy_per_inference_u95_j", "charge_per_inference_c", "layers"],
)
def test_no_figure_of_energy_can_be_edited(outcome: RunOutcome, name: str) -> None:
    bundle = read_bundle(outcome.bundle)
    power = json.loads((outcome.bundle / "summary.json").read_text())["power"]
    if name == "layers":
        power["layers"][1]["energy_j"] *= 1.001
    else:
        power[name] *= 0.999
    with pytest.raises(BundleError, match="the waveform gives"):
        check_power(replace(bundle, summary={**bundle.summary, "power": power}))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("report", "windows", 0, "energy_j"), 1e-3, "the waveform gives"),
        (("report", "windows", 1, "uncertainty", "edges"), 0.0, "the waveform gives"),
        (("report", "per_inference", 0, "u95_j"), 0.0, "the waveform gives"),
        (("report", "per_inference"), [], "the waveform gives"),
        (("report", "plan", "inferences"), 0, "without inferences"),
        (("report", "plan", "counts"), [1, "x"], "a count"),
        (("report", "plan", "firmware_s"), [None, "x"], "a time"),
        (("report", "plan", "more"), 1, "does not fit"),
        (("report", "plan"), 5, "does not fit"),
        (("report",), [], "does not fit"),
    ],
)
def test_no_word_of_the_power_report_can_be_edited(
    outcome: RunOutcome, tmp_path: Path, place: tuple[str | int, ...], value: object, message: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(outcome.bundle, copy)
    stored = json.loads((copy / "power.json").read_text())
    item = stored
    for key in place[:-1]:
        item = item[key]
    item[place[-1]] = value
    (copy / "power.json").write_text(json.dumps(stored))
    with pytest.raises(BundleError, match=message):
        check_power(replace(read_bundle(outcome.bundle), path=copy))


def test_power_image_is_a_variant_with_a_record_of_its_own(outcome: RunOutcome, bench: Bench) -> None:
    beside = json.loads((bench.build.directory / "power/build.json").read_text())
    assert beside["variant"] == "power" and beside["image"]["rtt_address"] is None
    assert beside["plan"]["intent_hash"] == bench.build.plan.intent_hash
    kernels = {name: digest for name, digest in beside["basis"]["sources"].items() if "/kernels/" in name}
    assert kernels and kernels.items() <= bench.build.basis["sources"].items()
    assert outcome.power is not None and outcome.power.image["build_id"] == beside["build_id"]


def test_a_verdict_on_energy_and_what_keeps_it_from_being_given(outcome: RunOutcome, bench: Bench) -> None:
    profile = bench.place / "energy.yml"
    profile.write_text(PROFILE)
    again = bench.run("second")
    judged = compare(outcome.bundle, again.bundle, profile)
    assert str(judged.status) == "pass", judged.explain()
    assert {"power.charge_per_inference_c", "power.layer[0].energy_j"} <= {m.metric for m in judged.harness_metrics}
    without = bench.run("without", power="none")
    assert without.power is None and "power" not in read_bundle(without.bundle).summary
    assert str(compare(outcome.bundle, without.bundle, profile).status) == "fail"


def test_the_monitor_asked_for_must_be_there(bench: Bench) -> None:
    with pytest.raises(MonitorError, match="not a js220") as caught:
        bench.run("other", power="js220")
    assert caught.value.exit_code == 6
    assert read_bundle(caught.value.context["bundle"]).manifest.status == "failed"  # type: ignore[union-attr]


def test_a_whole_capture_has_energy_and_none_per_inference(bench: Bench) -> None:
    plan = freeze(DIGITS, board="mps2_an386", power="any", power_scope="whole-capture", **SETTINGS)
    made = bench.run("whole", build=build(plan, bench.place / "whole-build"))
    power = read_bundle(made.bundle).summary["power"]
    assert power["measurement_scope"] == "free_form_capture" and power["sync"] == {"lockstep": False}
    assert power["capture_duration_s"] > 2 * SETTINGS["power_target_ms"] / 1000 and power["energy_j"] > 0
    assert made.energy_per_inference_j is None and made.power.suppressed == ("power.not_gated",)  # type: ignore[union-attr]
    assert made.valid and check_power(read_bundle(made.bundle)) > 20


@pytest.mark.parametrize(
    ("moment", "error", "expected"),
    [
        ("power: 1", MonitorGoneError, {"power.capture_failed"}),
        ("power: the windows run", PowerCaptureError, {"power.monitor_gone", "power.no_gate_rise"}),
    ],
)
def test_a_monitor_that_goes_away_is_no_regression(
    bench: Bench, moment: str, error: type[HarnessError], expected: set[str]
) -> None:
    def unplug(text: str) -> None:
        if text.startswith(moment):
            bench.lease._hold._end_monitor()  # type: ignore[attr-defined]

    with pytest.raises(error) as caught:
        bench.run(f"unplugged-{error.__name__}", log=unplug)
    bundle = read_bundle(caught.value.context["bundle"])
    assert bundle.harness["clean_window"]["cycles"] > 0
    codes = {issue.code for issue in bundle.manifest.issues}  # type: ignore[union-attr]
    assert expected <= codes
    assert check_recomputed(caught.value.context["bundle"]) > 0
    assert bundle.summary["power"]["integrity"] == "invalid"
    assert "energy_per_inference_j" not in bundle.summary["power"]


def test_a_disk_that_fills_up_costs_the_energy_and_nothing_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(writer: WaveformWriter) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(writer.path))

    monkeypatch.setattr(WaveformWriter, "_flush", full)
    with pytest.raises(HostError, match="No space left") as caught:
        bench.run("disk-full")
    bundle = read_bundle(caught.value.context["bundle"])
    assert bundle.harness["clean_window"]["cycles"] > 0 and bundle.summary["power"]["integrity"] == "invalid"
    monkeypatch.undo()
    assert bench.run("disk-again").energy_per_inference_j is not None
