"""Outcomes: what is compared, what is refused, what it says, and what the command line ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cli._main import run_cli
from harness.core.errors import CaptureError, NotComparableError, UsageError
from harness.judge.baseline import find_baseline
from harness.judge.compare import CompareOutcome, OutcomeStatus, compare, try_compare
from harness.judge.metrics import METRICS, is_selector, repeatability, resolve
from harness.judge.profile import ComparisonProfile
from harness.judge.tables import DOCUMENTS
from harness.results.assemble import assemble_failed
from harness.results.bundle import publish
from harness.results.facts import CleanFacts
from harness.results.reader import RunArtifacts, read_bundle
from tests.results.builders import MODEL_SHA, make_bundle, make_capture, make_context

SLOWER = (5000, 3600, 2500, 2000, 500)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("outcomes")
    capture = make_capture()
    assert capture.clean is not None
    return {
        "base": make_bundle(root / "base"),
        "same": make_bundle(root / "same"),
        "slower": make_bundle(root / "slower", make_capture(SLOWER)),
        "silicon": make_bundle(root / "silicon", context=make_context(source="silicon")),
        "model": make_bundle(
            root / "model", context=make_context(counter_model={"name": "cost-table", "version": "2"})
        ),
        "scope": make_bundle(
            root / "scope",
            make_capture(scope="restore_and_invoke"),
            make_context(timing_scope="restore_and_invoke"),
        ),
        "unclean": make_bundle(root / "unclean", replace(capture, clean=None, unavailable={"clean window": "no"})),
        "invalid": make_bundle(root / "invalid", make_capture(overflow_layer=0)),
        "failed": publish(root / "failed", assemble_failed(CaptureError("No end."), context=make_context())),
    }


def profile(metrics: dict[str, Any], own: dict[str, Any] | None = None, **more: Any) -> ComparisonProfile:
    part = {"harness": {"metrics": own, **more.pop("part", {})}} if own else {}
    data = {"schema": "hpx.comparison-profile", "schema_version": 1, "metrics": metrics, **more, **part}
    return ComparisonProfile.from_dict(data)


CYCLES = {"total_cycles": {"direction": "smaller", "unit": "cycles", "max_regression_pct": 50}}
EQUAL = {"direction": "equal", "unit": "cycles"}


def test_the_worse_of_the_two_parts_counts(bundles: dict[str, Path]) -> None:
    own = {"layer[*].cycles": EQUAL}
    outcome = compare(bundles["base"], bundles["slower"], profile(CYCLES, own))
    assert outcome.verdict is not None and outcome.verdict.status == "pass"
    assert outcome.harness_status == "fail"
    assert outcome.status == "fail"
    assert not outcome
    assert [item.metric for item in outcome.failed_metrics] == ["layer[1].cycles"]
    assert [(layer.index, layer.op) for layer in outcome.changed_layers] == [(1, "DEPTHWISE_CONV_2D")]


def test_nothing_judged_is_false(bundles: dict[str, Path]) -> None:
    without = compare(bundles["base"], bundles["same"])
    assert without.status == "none" and not without and without.exit_code == 0
    metrics = {"power.energy_j": {"direction": "smaller", "unit": "J", "missing": "ignore"}}
    skipped = compare(bundles["base"], bundles["same"], profile(metrics))
    assert skipped.status == "skip" and not skipped and skipped.exit_code == 0
    assert "nothing was judged" in skipped.explain()


def test_a_warning_is_true(bundles: dict[str, Path]) -> None:
    metrics = {**CYCLES, "power.energy_j": {"direction": "smaller", "unit": "J", "missing": "warn"}}
    outcome = compare(bundles["base"], bundles["same"], profile(metrics))
    assert outcome.status == "warn" and outcome


@pytest.mark.parametrize("name", ["clean.cycles", "clean.us", "instrumentation_overhead.cycles"])
def test_different_window_scopes_drop_window_metrics(bundles: dict[str, Path], name: str) -> None:
    own = {name: {"direction": "smaller", "unit": METRICS[name].unit}}
    outcome = compare(bundles["base"], bundles["scope"], profile(CYCLES, own))
    assert [item.code for item in outcome.comparability.issues] == ["metric.window_timing_scope_mismatch"]
    assert outcome.harness_metrics[0].message == "Metric is unavailable."
    assert outcome.verdict is not None and outcome.verdict.status == "pass"


def test_different_counter_models_drop_modelled_counters(bundles: dict[str, Path]) -> None:
    own = {"emulator.instructions": {"direction": "equal", "unit": "instructions", "missing": "ignore"}}
    outcome = compare(bundles["base"], bundles["model"], profile(CYCLES, own))
    assert [item.code for item in outcome.comparability.issues] == ["metric.counters_counter_model_mismatch"]
    assert outcome.harness_status == "skip"


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ("silicon", "identity.source_mismatch"),
        ("invalid", "result.invalid"),
        ("failed", "result.incomplete"),
    ],
)
def test_what_must_not_be_compared(bundles: dict[str, Path], other: str, code: str) -> None:
    for pair in ((bundles["base"], bundles[other]), (bundles[other], bundles["base"])):
        with pytest.raises(NotComparableError) as caught:
            compare(*pair)
        assert caught.value.exit_code == 4
        assert code in caught.value.why
        outcome = try_compare(*pair)
        assert outcome.status is OutcomeStatus.ERROR
        assert outcome.code == "compare.not_comparable"
        assert outcome.exit_code == 4
        json.dumps(outcome.to_dict(), allow_nan=False)


def test_a_bundle_without_a_source_is_taken_for_silicon(bundles: dict[str, Path]) -> None:
    def without_source(path: Path) -> RunArtifacts:
        run = read_bundle(path)
        assert run.manifest is not None
        stated = {key: value for key, value in run.manifest.comparability.items() if key != "source"}
        return replace(run, manifest=replace(run.manifest, comparability=stated))

    assert compare(without_source(bundles["silicon"]), bundles["silicon"]).status == "none"
    assert compare(without_source(bundles["silicon"]), without_source(bundles["base"])).status == "none"
    with pytest.raises(NotComparableError, match="silicon \\(not stated\\)"):
        compare(without_source(bundles["silicon"]), bundles["base"])


def test_absent_is_not_zero(bundles: dict[str, Path]) -> None:
    own = {"clean.cycles": {"direction": "smaller", "unit": "cycles"}}
    outcome = compare(bundles["base"], bundles["unclean"], profile(CYCLES, own))
    assert outcome.status == "fail"
    assert outcome.harness_metrics[0].candidate is None


def test_selectors(bundles: dict[str, Path]) -> None:
    run = read_bundle(bundles["base"])
    values = {
        "layer[0].cycles": 5000,
        "layer[op=CONV_2D].sum.cycles": 7500,
        "layer[op=CONV_2D].max.cycles": 5000,
        "layer[op=CONV_2D].min.ARM_PMU_INST_RETIRED": 1250,
        "counter[ARM_PMU_INST_RETIRED]": 6500,
        "clean.cycles": 12950,
        "clean.us": 518,
        "emulator.instructions": 6475,
        "instrumentation_overhead.cycles": 50,
    }
    for name, value in values.items():
        (metric,) = resolve(name, run)
        assert metric.read(run) == pytest.approx(value), name
    assert len(resolve("layer[*].cycles", run)) == 5
    for name in ("layer[9].cycles", "layer[0].no_such", "layer[op=ADD].sum.cycles", "counter[no_such]"):
        (metric,) = resolve(name, run)
        assert metric.read(run) is None, name
    for name in ("layer[x].cycles", "layer[op=CONV_2D].cycles", "layer[0].sum.cycles", "layer.cycles", "counter[]", ""):
        assert not is_selector(name), name
    for column in ("macs", "cycles_pct", "source_index", "op"):
        (metric,) = resolve(f"layer[0].{column}", run)
        assert metric.read(run) is None, column


def test_a_layer_that_one_side_lacks_is_missing(tmp_path: Path, bundles: dict[str, Path]) -> None:
    from harness.results.context import LayerInfo

    layers = tuple(LayerInfo(i, "CONV_2D", i) for i in range(3))
    other = make_bundle(tmp_path / "b", make_capture((100, 200, 300)), make_context(layers=layers))
    outcome = compare(bundles["base"], other, profile(CYCLES, {"layer[*].cycles": EQUAL}))
    assert outcome.harness_status == "fail"
    assert outcome.layers == ()
    assert not outcome.comparability.layers_comparable


def test_metrics_carry_their_repeatability(bundles: dict[str, Path]) -> None:
    run = read_bundle(bundles["base"])
    assert repeatability(run, METRICS["clean.us"]) == "exact"
    noisy = read_bundle(bundles["base"])
    assert repeatability(noisy, METRICS["power.energy_j"]) == "noisy"
    assert repeatability(noisy, METRICS["binary.text"]) == "exact"


def test_text_names_layers_source_and_verdicts(bundles: dict[str, Path]) -> None:
    own = {"layer[*].cycles": EQUAL}
    text = compare(bundles["base"], bundles["slower"], profile(CYCLES, own)).explain()
    assert text.startswith("verdict: fail")
    assert "emulated" in text
    assert "changed layers: 1 of 5" in text
    assert "DEPTHWISE_CONV_2D" in text
    assert "+20.00 %" in text
    assert max(len(line) for line in text.splitlines()) < 220


def test_json_is_whole_and_strict(bundles: dict[str, Path]) -> None:
    data = compare(bundles["base"], bundles["slower"], profile(CYCLES, {"layer[1].cycles": EQUAL})).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["status"] == "fail"
    assert data["verdict"]["status"] == "pass"
    assert data["harness"]["status"] == "fail"
    assert data["changed_layers"] == [1]
    assert data["source"] == "emulated"
    assert data["baseline"]["comparability"]["board"] == "mps3_an547"


def test_the_public_function_is_this_one(bundles: dict[str, Path]) -> None:
    assert harness.compare is compare
    assert isinstance(harness.compare(bundles["base"], bundles["same"]), CompareOutcome)


def cli(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = run_cli([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_exit_codes_of_compare(bundles: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, same, slower = bundles["base"], bundles["same"], bundles["slower"]
    bad = tmp_path / "bad.yml"
    bad.write_text("schema: x\n")
    broken = make_bundle(tmp_path / "broken")
    (broken / "target.log").write_text("x")
    expected = [
        (("compare", base, same, "--profile", "latency"), 0, "pass"),
        (("compare", base, same, "--profile", "exact"), 0, "pass"),
        (("compare", base, slower, "--profile", "latency"), 1, "fail"),
        (("compare", base, slower, "--profile", "exact"), 1, "fail"),
        (("compare", base, slower), 0, "none"),
        (("compare", base, same, "--profile", bad), 2, "error"),
        (("compare", base, same, "--profile", "nosuch"), 2, "error"),
        (("compare", base, bundles["silicon"]), 4, "error"),
        (("compare", base, broken), 5, "error"),
        (("compare", base, tmp_path / "nothing"), 5, "error"),
    ]
    for args, code, status in expected:
        got, out, err = cli(capsys, *args)
        assert got == code, (args, out, err)
        assert "Traceback" not in out + err
        assert (f"verdict: {status}" in out) or err.startswith("error:")
        got, out, err = cli(capsys, *args, "--json")
        data = json.loads(out)
        assert got == code
        assert data.get("status", "error") == status
        if status == "error":
            assert data.keys() == {"error"} and data["error"]["code"]


def test_results_commands(bundles: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = cli(capsys, "results", "list", bundles["base"].parent)
    assert code == 0 and out.count("emulated") >= 6
    code, out, _ = cli(capsys, "results", "list", bundles["base"].parent, "--json")
    assert {entry["status"] for entry in json.loads(out)["bundles"]} == {"complete", "failed"}
    code, out, _ = cli(capsys, "results", "show", bundles["base"])
    assert code == 0 and "figures (emulated)" in out and "layers (emulated" in out
    code, out, _ = cli(capsys, "results", "show", bundles["base"], "--json")
    assert json.loads(out)["source"] == "emulated"
    code, out, _ = cli(capsys, "results", "show", bundles["failed"])
    assert code == 0 and "capture.failed" in out
    assert "figures" not in out, "what was not measured is absent, not zero"
    code, out, _ = cli(capsys, "results", "verify", "--recompute", bundles["base"], bundles["failed"])
    assert code == 0 and out.count("verified") == 2
    broken = make_bundle(tmp_path / "broken")
    (broken / "raw_frames.bin").write_bytes(b"")
    code, out, _ = cli(capsys, "results", "verify", bundles["base"], broken)
    assert code == 5 and "raw_frames.bin" in out
    code, out, _ = cli(capsys, "results", "verify", broken, "--json")
    assert json.loads(out)["bundles"][0]["error"]["context"]["artifact"] == "raw_frames.bin"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documentation_tables_are_current(name: str) -> None:
    assert (Path(__file__).parents[2] / "docs" / name).read_text() == DOCUMENTS[name], (
        "run `python -m harness.judge.tables docs`"
    )


def test_comparing_imports_nothing_heavy() -> None:
    script = "import sys, harness.judge.compare, harness.judge.explain; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pydantic", "scipy", "yaml", "rich"} & set(loaded)


class _Plan:
    board = "mps3_an547"
    engine = "aot"

    class model:
        sha256 = MODEL_SHA


class _OtherPlan(_Plan):
    board = "mps2_an386"


def test_finding_a_baseline(bundles: dict[str, Path], tmp_path: Path) -> None:
    assert find_baseline(bundles["slower"], _OtherPlan) == bundles["slower"]
    assert find_baseline(bundles["base"].parent, _Plan).parent == bundles["base"].parent
    with pytest.raises(UsageError, match="fits"):
        find_baseline(bundles["base"].parent, _OtherPlan)
    with pytest.raises(UsageError):
        find_baseline(tmp_path / "nothing", _Plan)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="fits"):
        find_baseline(empty, _Plan)


def test_a_window_clock_that_counts_something_else_gives_no_cycles() -> None:
    clean = CleanFacts(10, 32768, "stimer", 32768, "invoke_only", "carry", 1)
    assert clean.cycles is None
    assert clean.us == 1e5
