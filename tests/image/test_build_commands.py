"""The commands freeze, build, validate and cache: JSON, exit codes, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli._main import run_cli
from harness.plan.record import Plan
from tests.image.conftest import BOARDS


@pytest.fixture
def plan_file(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "plan.json"
    assert run_cli(["freeze", str(model), "--board", BOARDS[0], "-o", str(file), "--iterations", "7"]) == 0
    capsys.readouterr()
    return file


def _json(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_freeze_build_validate(plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Plan.load(plan_file).settings["iterations"] == 7
    out = tmp_path / "out"
    assert run_cli(["build", str(plan_file), "--out", str(out), "--json"]) == 0
    built = _json(capsys)
    assert built["intent_hash"] == Plan.load(plan_file).intent_hash
    assert built["memory"]["code"]["used"] > 0
    for argument in (out, out / "build.json"):
        assert run_cli(["validate", "build", str(argument), "--json"]) == 0
        assert _json(capsys)["build_hash"] == built["build_hash"]
    assert run_cli(["validate", "build", str(out)]) == 0
    assert built["build_id"] in capsys.readouterr().out
    (out / "image.map").write_text("edited")
    assert run_cli(["validate", "build", str(out), "--json"]) == 5
    assert "image.map" in _json(capsys)["error"]["what"]


def test_freeze_as_json_with_a_configuration(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yml").write_text(f"model: m.tflite\nboard: {BOARDS[1]}\nwarmup: 2\nserial: 5\n")
    file = tmp_path / "plan.json"
    options = ["--engine-config", "kernels=portable", "--pmu-counters", "{cpu: [CPU_CYCLES]}", "--per-layer", "false"]
    assert run_cli(["freeze", "-c", str(tmp_path / "c.yml"), "-o", str(file), "--json", *options]) == 0
    answer = _json(capsys)
    plan = Plan.load(file)
    assert answer["intent_hash"] == plan.intent_hash
    assert (plan.board, plan.settings["warmup"], plan.settings["per-layer"]) == (BOARDS[1], 2, False)
    assert plan.settings["pmu-counters"]["cpu"] == ("CPU_CYCLES",)
    assert "serial" not in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--board", "mps2_an38"], 2, "mps2_an386"),
        ([], 2, "No board type"),
        (["--board", BOARDS[0], "--iterations", "many"], 2, "--iterations"),
        (["--board", BOARDS[0], "--iteration", "1"], 2, "--iteration"),
        (["--board", BOARDS[0], "--arena-location", "tcm"], 2, "arena-location"),
        (["--board", BOARDS[0], "--arena-size", "900M"], 2, "arena-size"),
        (["--board", BOARDS[0], "--cpu-clock", "turbo"], 2, "cpu-clock"),
        (["--board", BOARDS[0], "--toolchain", "icc"], 2, "icc"),
        (["--board", BOARDS[0], "--backend", "magic"], 2, "magic"),
        (["--board", BOARDS[0], "-c", "none.yml"], 2, "none.yml"),
    ],
)
def test_freeze_refuses_with_one_error(
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    out = tmp_path / "plan.json"
    assert run_cli(["freeze", str(model), "-o", str(out), *arguments]) == status
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
    assert not out.exists()


def test_freeze_without_a_compiler_is_a_bench_fault(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_cli(["freeze", str(model), "--board", BOARDS[0], "-o", str(tmp_path / "p.json"), "--json"]) == 6
    assert _json(capsys)["error"]["code"] == "bench.tool_missing"


def test_freeze_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.tflite")
    assert run_cli(["freeze", missing, "--board", BOARDS[0], "-o", str(tmp_path / "p.json")]) == 2
    assert "none.tflite" in capsys.readouterr().err


def test_build_refuses_what_is_no_plan_and_what_is_not_empty(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["build", str(tmp_path / "none.json"), "--out", str(tmp_path / "a")]) == 2
    assert run_cli(["build", str(plan_file), "--out", str(tmp_path), "--json"]) == 2
    capsys.readouterr()
    assert run_cli(["build", str(plan_file), "--out", str(tmp_path / "a"), "--lifecycle", "twice"]) == 2
    assert not (tmp_path / "a").exists()


def test_cache_info_and_purge(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    assert run_cli(["cache", "info", "--json"]) == 0
    assert _json(capsys)["entries"] == 0
    assert run_cli(["build", str(plan_file), "--out", str(tmp_path / "a"), "--json"]) == 0
    first = _json(capsys)
    assert run_cli(["cache", "info", "--json"]) == 0
    full = _json(capsys)
    assert full["entries"] > 5 and full["size_bytes"] > 10_000
    limit = full["size_bytes"] // 2
    assert run_cli(["cache", "purge", "--max-size", str(limit), "--json"]) == 0
    half = _json(capsys)
    assert 0 < half["size_bytes"] <= limit and half["removed"] > 0
    assert run_cli(["cache", "purge", "--json"]) == 0
    assert _json(capsys)["entries"] == 0
    assert run_cli(["build", str(plan_file), "--out", str(tmp_path / "b"), "--json"]) == 0
    assert _json(capsys)["elf"]["sha256"] == first["elf"]["sha256"]
    assert run_cli(["cache", "purge", "--max-size", "5 apples"]) == 2
