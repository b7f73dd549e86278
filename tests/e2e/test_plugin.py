"""The plugin on emulated boards: what a failure is called, what it shows, what the end of a session says."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.conftest import ROOT

HEADER = """
import pytest
QUICK = dict(model={model!r}, boards=["mps2_an386"], iterations=2, warmup=1, window_mode="fixed")
"""
PROFILE = """
schema: hpx.comparison-profile
schema_version: 1
metrics:
  total_cycles: {direction: smaller, unit: cycles, max_regression_pct: 1}
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makefile(".yml", profile=PROFILE)
    pytester.makefile(
        ".yml",
        skipping=PROFILE.replace("total_cycles", "power.energy_j").replace("unit: cycles", "unit: J, missing: ignore"),
    )
    return pytester


def body(text: str) -> str:
    return HEADER.format(model=str(ROOT / "examples/digits/digits.tflite")) + text


def properties(path: Path) -> dict[str, dict[str, str]]:
    cases = ElementTree.parse(path).iter("testcase")
    return {
        case.get("name", ""): {p.get("name", ""): p.get("value", "") for p in case.iter("property")} for case in cases
    }


def test_regression_error_and_blocked_are_told_apart(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        body("""
import harness

@pytest.mark.hil(**QUICK, engine_config={"kernels": "naive"}, baseline={"engine_config": {"kernels": "portable"}})
def test_slower(run, verdict):
    assert verdict(profile="profile.yml")

@pytest.mark.hil(**QUICK)
def test_same(run, verdict):
    judged = verdict(profile="profile.yml")
    assert judged and judged.status == "pass"
    assert judged.changed_layers == ()

@pytest.mark.hil(**QUICK, test_fault="hang")
def test_hung(run):
    pass

@pytest.mark.hil(**QUICK)
def test_in_the_body(image):
    harness.run(image, board="mps3_an547")

@pytest.mark.hil(**QUICK, test_fault="corrupt@3")
def test_wrong_outputs(run):
    assert run.outputs.match, run.outputs.explain()

@pytest.mark.hil(**QUICK)
def test_nothing_judged(run, verdict):
    assert verdict(profile="skipping.yml")
""")
    )
    result = suite.runpytest(
        *(
            "--hil-json=hil.json",
            "--junitxml=junit.xml",
            "--hil-deadline=window=2",
            "--hil-out=out",
            "-p",
            "no:cacheprovider",
        )
    )
    result.assert_outcomes(passed=1, failed=3, errors=2)
    summary = json.loads((suite.path / "hil.json").read_text())
    counts = summary["counts"]
    assert counts["regression"] == 1 and counts["infrastructure"] == 2 and counts["outputs"] == 1
    assert counts["failed"] == 1 and counts["passed"] == 1
    found = properties(suite.path / "junit.xml")
    assert found["test_slower[mps2_an386]"]["hil.class"] == "regression"
    assert found["test_hung[mps2_an386]"]["hil.class"] == "infrastructure"
    assert found["test_in_the_body[mps2_an386]"]["hil.class"] == "infrastructure"
    assert found["test_wrong_outputs[mps2_an386]"]["hil.class"] == "outputs"
    text = result.stdout.str()
    assert "hil verdict (fail)" in text and "CONV_2D" in text and "emulated" in text
    assert "hil bundles" in text and "1 regressions" in text and "2 infrastructure faults" in text
    assert "layer 3" in text
    result.stdout.no_fnmatch_line("*site-packages/harness*")


def test_a_broken_bench_blocks_later_tests(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.makepyfile(
        body("""
@pytest.mark.hil(**QUICK)
def test_first(run):
    pass

@pytest.mark.hil(**QUICK)
def test_second(run):
    pass
""")
    )
    suite.makeconftest(
        """
        import pytest
        @pytest.fixture
        def image(image, monkeypatch):
            monkeypatch.setenv("PATH", "")
            return image
        """
    )
    result = suite.runpytest("--hil-json=hil.json", "--hil-out=out")
    result.assert_outcomes(errors=2)
    counts = json.loads((suite.path / "hil.json").read_text())["counts"]
    assert (counts["infrastructure"], counts["blocked"], counts["regression"]) == (1, 1, 0)


def test_stored_baseline_and_fixtures_small_to_whole(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        body("""
@pytest.mark.hil(**QUICK)
def test_make(run):
    assert run.bundle.is_dir()

@pytest.mark.hil(**QUICK)
def test_small(plan, image, board, flashed_board, capture):
    assert plan.board == board.info.board_type == "mps2_an386"
    assert flashed_board.build is image and capture.hello.build_id == image.build_id
""")
    )
    suite.runpytest("--hil-out=out").assert_outcomes(passed=2)
    suite.makepyfile(
        body("""
@pytest.mark.hil(**QUICK)
def test_against_store(run, baseline, verdict):
    assert "test_make" in baseline.name
    assert verdict(profile="profile.yml")
""")
    )
    suite.runpytest("--hil-out=new", "--hil-baseline=out").assert_outcomes(passed=1)
    # The newest fitting bundle below "out" is now the run's own, which would always pass.
    suite.runpytest("--hil-out=out", "--hil-baseline=out").assert_outcomes(passed=1)
    empty = suite.runpytest("--hil-out=own", "--hil-baseline=own")
    empty.assert_outcomes(errors=1)
    empty.stdout.fnmatch_lines(["*it was made in this session*"])


def test_workers_hold_boards_of_their_own(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        body("""
@pytest.mark.hil(**QUICK)
@pytest.mark.parametrize("number", range(4))
def test_it(run, number):
    assert run.outputs.match
""")
    )
    result = suite.runpytest("-n", "2", "--hil-json=hil.json", "--hil-out=out")
    result.assert_outcomes(passed=4)
    summary = json.loads((suite.path / "hil.json").read_text())
    assert summary["counts"]["passed"] == 4 and len(summary["tests"]) == 4
    assert len({test["bundles"][0]["path"] for test in summary["tests"]}) == 4


def test_sigterm_halts_and_frees_the_board(suite: pytest.Pytester) -> None:
    suite.makeconftest("""
held = []

def pytest_unconfigure(config):
    for lease, pid in held:
        gone = lease._hold.emulator.alive is False
        print(f"released: {lease._released}, emulator gone: {gone}")
""")
    suite.makepyfile(
        body("""
import os, signal
import conftest

@pytest.mark.hil(**QUICK)
def test_cancelled(board):
    board.open_probe()
    conftest.held.append((board, board._hold.emulator.pid()))
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()

@pytest.mark.hil(**QUICK)
def test_not_begun(board):
    pass
""")
    )
    result = suite.runpytest_subprocess("-p", "no:cacheprovider", "-s", timeout=60)
    assert result.ret == 128 + 15
    result.stdout.fnmatch_lines(["*ended by SIGTERM*", "released: True, emulator gone: True"])
