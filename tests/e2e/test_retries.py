"""Infrastructure that fails is tried again, and that shows; what fails of the firmware or a verdict is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.bench.provider import BoardLease, LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import HardFaultError, ProbeError, UsageError
from harness.core.resources import cache_root
from harness.image.record import Build
from harness.results.reader import verify_bundle
from harness.runner.run import run
from tests.e2e.conftest import DIGITS
from tests.e2e.test_plugin import body, properties

BOARD = "mps2_an386"
CACHE = str(cache_root())
"""Of the user who runs these tests: the sessions inside have a home of their own, and would compile everything."""


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> pytest.Pytester:
    monkeypatch.setenv("HARNESS_CACHE_DIR", CACHE)
    return pytester


def lease() -> BoardLease:
    return load_bench().lease(LeaseRequest((BOARD,), None, "test"), Deadline(30.0, "a board"))


def test_a_pass_after_a_retry_is_flaky_with_the_evidence_of_both(built: Callable[..., Build], tmp_path: Path) -> None:
    with lease() as held:
        held.inject("frame-dropped@9/once")
        outcome = run(built(DIGITS, BOARD), lease=held, out=tmp_path / "bundle", expect="none")
    assert (
        outcome.flaky
        and outcome.valid
        and [item.error.code for item in outcome.failed_attempts] == ["capture.protocol"]
    )
    manifest = verify_bundle(outcome.bundle)
    assert str(manifest.validity) == "degraded" and [item.code for item in manifest.issues] == ["run.flaky"]
    (attempt,) = manifest.extensions["harness"]["failed_attempts"]
    error = json.loads((outcome.bundle / "attempts/1/error.json").read_text())
    assert error["code"] == attempt["code"] == "capture.protocol"
    failed, passed = ((outcome.bundle / name).read_bytes() for name in ("attempts/1/raw_frames.bin", "raw_frames.bin"))
    assert failed and failed != passed
    assert outcome.to_dict()["failed_attempts"] == [outcome.failed_attempts[0].to_dict()]


def test_when_every_attempt_fails_all_are_in_the_bundle(built: Callable[..., Build], tmp_path: Path) -> None:
    with lease() as held:
        held.inject("flash-error")
        with pytest.raises(ProbeError) as caught:
            run(built(DIGITS, BOARD), lease=held, out=tmp_path / "bundle", retries=2)
    manifest = verify_bundle(caught.value.context["bundle"])
    assert [attempt["number"] for attempt in manifest.extensions["harness"]["failed_attempts"]] == [1, 2]
    assert (tmp_path / "bundle/attempts/2/error.json").is_file()


def test_a_fault_of_the_firmware_is_not_tried_again(built: Callable[..., Build], tmp_path: Path) -> None:
    with lease() as held:
        held.inject("core-hardfault/once")
        with pytest.raises(HardFaultError) as caught:
            run(built(DIGITS, BOARD), lease=held, out=tmp_path / "bundle", retries=3)
        assert verify_bundle(caught.value.context["bundle"]).extensions["harness"]["failed_attempts"] == ()
        assert run(built(DIGITS, BOARD), lease=held, out=tmp_path / "next", expect="none").valid


def test_a_board_whose_emulator_died_serves_the_next_run_of_its_lease(
    built: Callable[..., Build], tmp_path: Path
) -> None:
    with lease() as held:
        held.inject("emulator-killed/once")
        outcome = run(built(DIGITS, BOARD), lease=held, out=tmp_path / "bundle", expect="none")
    assert [item.error.code for item in outcome.failed_attempts] == ["target.emulator"]


@pytest.mark.parametrize("retries", [-1, 11, True, 0.5])
def test_retries_out_of_range(built: Callable[..., Build], tmp_path: Path, retries: int) -> None:
    with pytest.raises(UsageError, match="retries"):
        run(built(DIGITS, BOARD), out=tmp_path / "bundle", retries=retries)
    assert not (tmp_path / "bundle").exists()


SUITE = """
@pytest.mark.hil(**QUICK, faults=["flash-error/once"])
def test_flaky(run):
    assert run.valid
"""


def test_pytest_reports_flaky_runs(suite: pytest.Pytester) -> None:
    suite.makepyfile(body(SUITE))
    result = suite.runpytest("--hil-json=hil.json", "--junitxml=junit.xml", "--hil-out=out", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 flaky: *", "*test_flaky*attempt 1 failed: *writing flash failed*evidence in*"])
    summary = json.loads((suite.path / "hil.json").read_text())
    assert summary["counts"]["flaky"] == 1 and summary["counts"]["infrastructure"] == 0
    (attempt,) = summary["tests"][0]["flaky"]
    assert attempt["code"] == "bench.probe_failed" and Path(attempt["bundle"]).is_dir()
    assert "bench.probe_failed" in properties(suite.path / "junit.xml")[f"test_flaky[{BOARD}]"]["hil.flaky"]


@pytest.mark.parametrize(
    ("option", "said"), [("--hil-retries=0", "writing flash"), ("--hil-fail-on-flaky", "attempt 2")]
)
def test_flaky_runs_can_be_errors(suite: pytest.Pytester, option: str, said: str) -> None:
    suite.makepyfile(body(SUITE))
    result = suite.runpytest(option, "--hil-json=hil.json", "--hil-out=out", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    assert said in result.stdout.str()
    assert json.loads((suite.path / "hil.json").read_text())["counts"]["infrastructure"] == 1


def test_options_and_faults_that_are_none(suite: pytest.Pytester) -> None:
    suite.makepyfile(body(SUITE.replace("flash-error/once", "flash-eror")))
    result = suite.runpytest("--hil-out=out", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no fault 'flash-eror'*", "*flash-error*"])
    suite.makepyfile(body(SUITE))
    assert "is not a whole number" in suite.runpytest("--hil-retries=many", "-p", "no:cacheprovider").stdout.str()
