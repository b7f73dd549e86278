"""The command line, from a model to a verdict, as a person or a script would use it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DIGITS

QUICK = ["--iterations", "2", "--warmup", "1", "--window-mode", "fixed"]


def harness(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=cwd)


def answer(*arguments: str | Path, status: int = 0) -> Any:
    done = harness(*arguments, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_profile_takes_every_setting_as_freeze_does(tmp_path: Path) -> None:
    refused = harness("profile", DIGITS, "--board", "mps2_an386", "--out", tmp_path / "a", "--transport", "pigeon")
    assert refused.returncode == 2 and "one of rtt" in refused.stderr, refused.stderr
    measured = answer(
        "profile", DIGITS, "--board", "mps2_an386", "--out", tmp_path / "b", "--transport", "serial",
        "--set", "transport=rtt", "--set", "iterations=3", *QUICK,
    )  # fmt: skip
    assert measured["validity"] == "valid", measured
    settings = json.loads((tmp_path / "b" / "plan.json").read_text())["settings"]
    assert (settings["transport"], settings["iterations"]) == ("serial", 2)


def test_from_a_model_to_a_verdict(tmp_path: Path) -> None:
    plan, moved = tmp_path / "plan.json", tmp_path / "moved"
    frozen = answer("freeze", DIGITS, "--board", "mps2_an386", "-o", plan, *QUICK)
    assert frozen["intent_hash"] == json.loads(plan.read_text())["intent_hash"]
    answer("build", plan, "--out", tmp_path / "build")
    shutil.move(tmp_path / "build", moved)
    answer("validate", "build", moved)
    assert answer("run", moved, "--board", "mps2_an386", "--dry-run")["dry_run"] is True
    first = answer("run", moved, "--board", "mps2_an386", "--out", tmp_path / "a")
    second = answer("run", moved, "--board", "mps2_an386", "--out", tmp_path / "b")
    assert (
        first["outputs"]["match"] is True and first["source"] == "emulated" and first["bundle"] == str(tmp_path / "a")
    )
    assert first["clean_cycles_per_inference"] == second["clean_cycles_per_inference"]
    profile = tmp_path / "p.yml"
    profile.write_text(
        "schema: hpx.comparison-profile\nschema_version: 1\n"
        "metrics:\n  total_cycles: {direction: smaller, unit: cycles}\n"
    )
    verdict = answer("compare", tmp_path / "a", tmp_path / "b", "--profile", profile)
    assert verdict["status"] == "pass"
    assert harness("results", "verify", tmp_path / "a").returncode == 0
    listed = harness("results", "list", tmp_path)
    assert listed.returncode == 0 and "emulated" in listed.stdout


def test_a_tampered_bundle_is_named_with_exit_5(measured: Any, tmp_path: Path) -> None:
    bundle = measured(DIGITS, "mps2_an386").bundle
    for name in sorted(path.name for path in bundle.iterdir()):
        copy = tmp_path / "copy"
        shutil.copytree(bundle, copy)
        data = bytearray((copy / name).read_bytes())
        if data:
            data[len(data) // 2] ^= 1
        else:
            data.append(0)
        (copy / name).write_bytes(data)
        done = harness("results", "verify", copy)
        assert done.returncode == 5, name
        assert name in done.stdout + done.stderr
        shutil.rmtree(copy)
    (bundle / "samples.npz").unlink()
    done = harness("results", "verify", bundle)
    assert done.returncode == 5 and "samples.npz" in done.stdout + done.stderr


def test_outputs_that_differ_exit_3(built: Any, tmp_path: Path) -> None:
    image = built(DIGITS, "mps2_an386", test_fault="corrupt@9")
    done = harness("run", image.directory, "--board", "mps2_an386", "--out", tmp_path / "out")
    assert done.returncode == 3
    assert "SOFTMAX" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["frezze"], 2, "freeze"),
        (["freeze", "none.tflite", "--board", "mps2_an386", "-o", "p.json"], 2, "none.tflite"),
        (["freeze", str(DIGITS), "--board", "mps2_an368", "-o", "p.json"], 2, "mps2_an386"),
        (["build", "none.json", "--out", "out"], 2, "none.json"),
        (["validate", "build", "."], 5, "build.json"),
        (["run", ".", "--board", "mps2_an386"], 5, "build.json"),
        (["results", "verify", "."], 5, "result_manifest.json"),
        (["compare", ".", "."], 5, "result_manifest.json"),
        (["run", ".", "--board", "mps2_an386", "--deadline", "boto=3"], 2, "boot"),
        (["freeze", str(DIGITS), "--board", "mps2_an386", "-o", "p.json", "--iterations", "0"], 2, "iterations"),
    ],
)
def test_mistakes_are_answered_in_lines(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    done = harness(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["freeze", str(DIGITS), "--no-such-option"],
        ["freeze", str(DIGITS), "--board", "mps2_an386", "-o", "none/p.json"],
        ["results", "verify"],
        ["freeze", str(DIGITS), "--board", "mps2_an368", "-o", "p.json"],
    ],
)
def test_every_mistake_is_json_when_json_is_asked_for(tmp_path: Path, arguments: list[str]) -> None:
    done = harness(*arguments, "--json", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert json.loads(done.stdout)["error"]["what"]
    assert done.stderr == "" and list(tmp_path.iterdir()) == []


def test_a_run_is_refused_before_it_touches_a_board(built: Any, tmp_path: Path) -> None:
    image = built(DIGITS, "mps2_an386")
    (tmp_path / "taken").mkdir()
    bench = tmp_path / "bench.yaml"
    bench.write_text("version: 1\nvirtual: off\n")
    for extra in (["--out", tmp_path / "taken"], ["--tolerance", "inf"]):
        done = harness("run", image.directory, "--board", "mps2_an386", "--bench", bench, *extra)
        assert done.returncode == 2, done.stderr


def test_a_reference_that_does_not_come_is_an_error_with_the_measurements_kept(
    built: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    image = built(DIGITS, "mps2_an386")
    out = tmp_path / "bundle"
    done = harness("run", image.directory, "--board", "mps2_an386", "--out", out, "--deadline", "reference=0.01")
    assert done.returncode == 1 and "reference" in done.stderr and str(out) in done.stderr
    assert json.loads((out / "outputs.json").read_text())["match"] is None
    assert harness("results", "verify", out).returncode == 0


def test_what_was_not_measured_is_null_and_never_zero(built: Any, tmp_path: Path) -> None:
    image = built(DIGITS, "mps2_an386", per_layer=False)
    done = harness("run", image.directory, "--board", "mps2_an386", "--out", tmp_path / "out", "--json")
    said = json.loads(done.stdout)
    assert said["total_cycles"] is None and said["clean_cycles_per_inference"] > 0


def test_a_fault_of_our_own_is_a_line_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli import _main

    def broken(_args: list[str]) -> int:
        raise KeyError("lost")

    monkeypatch.setattr(_main, "_dispatch", broken)
    assert _main.run_cli(["run"]) == 1
    told = capsys.readouterr().err
    assert "KeyError" in told and "HARNESS_TRACEBACK" in told and "Traceback (most" not in told
    monkeypatch.setenv("HARNESS_TRACEBACK", "1")
    with pytest.raises(KeyError):
        _main.run_cli(["run"])


def test_interrupt_leaves_the_board_free(built: Any, tmp_path: Path) -> None:
    import signal

    from harness.bench.inventory import load_bench
    from harness.bench.provider import LeaseRequest
    from harness.core.deadline import Deadline

    image = built(DIGITS, "mps2_an386", test_fault="hang")
    command = [sys.executable, "-m", "harness.cli", "run", str(image.directory), "--board", "mps2_an386", "-v"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "booted" in line:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert "Traceback" not in process.stderr.read()
    assert not (tmp_path / "out").exists()
    with load_bench().lease(LeaseRequest(("mps2_an386",), None, "test"), Deadline(5, "a board")):
        pass


@pytest.mark.parametrize("group", ["cache", "bench", "results", "validate"])
def test_a_group_without_a_command_shows_its_help_alone(group: str) -> None:
    done = harness(group)
    assert done.returncode == 2
    assert "Commands" in done.stdout and "completion" not in done.stdout
    assert done.stderr == ""
