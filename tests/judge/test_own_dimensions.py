"""What hpx does not look at: how time was taken, what a counter is, noise; and summaries of other versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import EvidenceError
from harness.judge.compare import CompareOutcome, compare
from harness.judge.report import compare_markdown
from tests.judge.foreign import Foreign
from tests.results.builders import make_bundle, make_context

CLEAN = ("latency", "device_clean_infer_avg_us")


def pair(tmp_path: Path, name: str, old: object, new: object, power: dict[str, object] | None = None) -> CompareOutcome:
    for role, value in (("baseline", old), ("candidate", new)):
        bundle = Foreign()
        bundle.summary["latency"] = {CLEAN[1]: 12.5}
        if power is not None:
            bundle.summary["power"] = power
        if value is not None:
            bundle.manifest["comparability"][name] = value
        bundle.write(tmp_path / role)
    return compare(tmp_path / "baseline", tmp_path / "candidate")


@pytest.mark.parametrize("name", ["timing_scope", "timing_clock", "timing_statistic", "lifecycle"])
def test_times_taken_differently_are_not_compared(tmp_path: Path, name: str) -> None:
    outcome = pair(tmp_path, name, "one", "other")
    (found,) = [item for item in outcome.comparability.issues if item.code == f"metric.window_{name}_mismatch"]
    assert (found.context["baseline"], found.context["candidate"]) == ("one", "other")
    assert "one -> other" in outcome.explain() and "one -> other" in compare_markdown(outcome)
    names = {row.name for row in outcome.metrics}
    assert "clean.us" not in names
    assert "total_cycles" in names


@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("a", None), (None, "b")])
def test_noise_on_one_side_drops_every_counter_and_time(tmp_path: Path, old: object, new: object) -> None:
    outcome = pair(tmp_path, "noise", old, new)
    assert "metric.counters_noise_mismatch" in {item.code for item in outcome.comparability.issues}
    names = {row.name for row in outcome.metrics}
    assert not names & {"clean.us", "total_cycles", "device_profiled_infer_avg_us"}
    assert "binary.text" in names
    assert outcome.layers == ()


def test_equal_noise_is_compared(tmp_path: Path) -> None:
    outcome = pair(tmp_path, "noise", "seed 1", "seed 1")
    assert {"clean.us", "total_cycles"} <= {row.name for row in outcome.metrics}
    assert outcome.layers


def test_a_noisy_bench_makes_every_figure_noisy_and_says_so(tmp_path: Path) -> None:
    from harness.judge.metrics import METRICS, repeatability
    from harness.results.reader import read_bundle

    run = read_bundle(make_bundle(tmp_path / "a", context=make_context(bench={"noise": "seed 1"})))
    assert run.manifest is not None and run.manifest.comparability["noise"] == "seed 1"
    assert repeatability(run, METRICS["binary.text"]) == "exact"


def versioned(path: Path, version: object, bound: object) -> Path:
    bundle = Foreign()
    bundle.summary |= {"schema_version": version, "from_the_future": 1}
    del bundle.summary["latency"]
    bundle.write(path)
    text = (path / "result_manifest.json").read_text()
    (path / "result_manifest.json").write_text(text.replace('"schema_version": 19', f'"schema_version": {bound}'))
    return path


@pytest.mark.parametrize("version", [18, 20])
def test_other_summary_versions_are_read_as_far_as_understood(tmp_path: Path, version: int) -> None:
    old = tmp_path / "old"
    Foreign().write(old)
    outcome = compare(old, versioned(tmp_path / "new", version, version))
    (issue,) = [item for item in outcome.comparability.issues if item.code == "evidence.partly_read"]
    assert issue.severity == "informative"
    for said in (f"version {version}", "from_the_future", "absent: latency", "candidate"):
        assert said in issue.message
    assert {row.name: row.candidate for row in outcome.metrics}["total_cycles"] is not None


@pytest.mark.parametrize(("version", "bound"), [(0, 0), (18, 19), (18.5, 18.5), ("18", '"18"')])
def test_nonsense_versions_are_refused(tmp_path: Path, version: object, bound: object) -> None:
    with pytest.raises(EvidenceError):
        compare(versioned(tmp_path / "a", version, bound), tmp_path / "a")


def test_hpx_reads_no_other_version_and_lenient_reading_neither(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        compare(versioned(tmp_path / "a", 18, 18), tmp_path / "a", strict=False)


@pytest.mark.parametrize(
    ("name", "old", "new", "dropped"),
    [
        ("power_supply_volts", 1.8, 3.6, True),
        ("power_supply_volts", 1.8, 1.8, False),
        ("power_supply_volts", 1.8, None, False),
        ("power_noise", "a", "b", True),
        ("power_noise", None, "b", True),
        ("power_noise", "a", "a", False),
    ],
)
def test_energy_at_another_voltage_or_under_other_noise_is_not_compared(
    tmp_path: Path, name: str, old: object, new: object, dropped: bool
) -> None:
    outcome = pair(tmp_path, name, old, new, power={"energy_per_inference_j": 1e-3, "clean_workload": "same"})
    codes = {item.code for item in outcome.comparability.issues}
    names = {row.name for row in outcome.metrics}
    assert (f"metric.power_{name}_mismatch" in codes) is dropped
    assert ("power.energy_per_inference_j" not in names) is dropped
    assert "total_cycles" in names
