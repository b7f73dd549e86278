"""An emulator that takes no plugins: boards run, instructions are known, and everything else says why it is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.board.descriptor import board_types
from harness.image.record import Build
from harness.results.reader import read_bundle, verify_bundle
from harness.runner.run import run
from harness.virtual.launcher import QEMU
from tests.e2e.conftest import DIGITS
from tests.e2e.test_cli import answer


@pytest.fixture
def no_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "emulator"
    refuse = "*' -plugin '*) echo 'emulator: -plugin: invalid option' >&2; exit 1;;"
    program.write_text(f'#!/bin/sh\ncase " $* " in {refuse} esac\nexec {shutil.which(QEMU)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HARNESS_QEMU", str(program))


EMULATED = sorted(name for name, board in board_types().items() if board.source == "emulated")


@pytest.mark.parametrize("board", EMULATED)
def test_instructions_alone(
    built: Callable[..., Build], tmp_path: Path, request: pytest.FixtureRequest, board: str
) -> None:
    counted = run(built(DIGITS, board), out=tmp_path / "counted")
    request.getfixturevalue("no_plugins")
    outcome = run(built(DIGITS, board), out=tmp_path / "bare", inspect=1)
    assert outcome.valid and outcome.outputs.match
    manifest = verify_bundle(outcome.bundle)
    bare, full = read_bundle(outcome.bundle), read_bundle(counted.bundle)
    instructions = bare.harness["emulator"]["instructions"]
    assert instructions == pytest.approx(full.harness["emulator"]["instructions"], rel=0.002)
    assert set(bare.harness["emulator"]) == {"instructions"}
    assert bare.harness["clean_window"]["us"] is None and bare.harness["clean_window"]["cycles"] is None
    for layer, other in zip(outcome.result.pmu.layers, counted.result.pmu.layers, strict=True):
        assert set(layer.counters) == {"emulator.instructions"} and layer.cycles is None
        # A tick of SysTick is not one instruction, and reading it takes a few.
        expected = other.counters["emulator.instructions"]
        assert layer.counters["emulator.instructions"] == pytest.approx(expected, rel=0.01, abs=8)
    reasons = bare.harness["unavailable"]
    assert "no counters" in reasons["ARM_PMU_CPU_CYCLES"] and "no counters" in reasons["emulator.energy_fj"]
    assert manifest.comparability["counter_model"].startswith("icount")


def test_command_line(no_plugins: None, tmp_path: Path) -> None:
    found = answer("profile", DIGITS, "--board", "mps2_an386", "--out", tmp_path / "bundle")
    assert found["clean_cycles_per_inference"] is None
    checks = {item["name"]: item for item in answer("doctor")["checks"]}
    assert checks["plugin interface"]["level"] == "warning" and "-icount" in checks["plugin interface"]["found"]
