"""Whatever breaks ends in time, as one clear error of the right class, and never looks like a regression."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import (
    DeadlineError,
    HardFaultError,
    HarnessError,
    LockupError,
    NoBoardError,
    ProtocolError,
    ToolMissingError,
    WrongBoardError,
)
from harness.image.record import Build, load_build
from harness.results.reader import read_bundle, verify_bundle
from harness.runner.run import run
from tests.e2e.conftest import BOARDS, DIGITS

Built = Callable[..., Build]
SHORT = {"boot": 3.0, "window": 3.0, "pass": 3.0, "inference": 3.0, "inspect": 3.0}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("hang", DeadlineError),
        ("garbage", (ProtocolError, DeadlineError)),
        ("hardfault", HardFaultError),
        ("lockup", LockupError),
    ],
)
def test_broken_firmware(built: Built, tmp_path: Path, board: str, fault: str, error: type[HarnessError]) -> None:
    image = built(DIGITS, board, test_fault=fault)
    start = time.monotonic()
    with pytest.raises(error) as caught:
        run(image, out=tmp_path / "bundle", deadlines=SHORT, retries=0)
    assert time.monotonic() - start < 20
    assert caught.value.what and caught.value.todo
    manifest = verify_bundle(caught.value.context["bundle"])
    assert str(manifest.status) == "failed" and str(manifest.validity) == "invalid"
    assert read_bundle(tmp_path / "bundle").layers == ()


@pytest.mark.parametrize("board", BOARDS)
def test_hard_fault_says_where(built: Built, tmp_path: Path, board: str) -> None:
    with pytest.raises(HardFaultError) as caught:
        run(built(DIGITS, board, test_fault="hardfault"), out=tmp_path / "bundle", deadlines=SHORT, retries=0)
    frames = caught.value.context["backtrace"]
    assert frames[0].startswith("test_fault_in_pass+") or "fault" in frames[0]
    assert any(frame.startswith(("main+", "conversation_run+")) for frame in frames), frames
    assert frames[0] in str(caught.value)
    manifest = json.loads((tmp_path / "bundle/result_manifest.json").read_text())
    assert frames[0] in json.dumps(manifest)


def test_wrong_board_is_refused_before_anything_is_started(built: Built, tmp_path: Path) -> None:
    image = built(DIGITS, "mps2_an386")
    with pytest.raises(WrongBoardError):
        run(image, board="mps3_an547", out=tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def test_board_registered_under_the_wrong_type(built: Built, tmp_path: Path) -> None:
    (tmp_path / "bench.yaml").write_text("version: 1\nvirtual: 'off'\nboards: []\n")
    with pytest.raises(NoBoardError):
        run(built(DIGITS, "mps2_an386"), bench=tmp_path / "bench.yaml", out=tmp_path / "bundle")


@pytest.mark.parametrize(("missing", "code"), [("qemu-system-arm", 6), ("arm-none-eabi-gcc", 6)])
def test_missing_program(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, code: int
) -> None:
    from harness.plan.freeze import freeze

    image = built(DIGITS, "mps2_an386")
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    with pytest.raises(ToolMissingError) as caught:
        if missing.startswith("qemu"):
            run(image, out=tmp_path / "bundle")
        else:
            freeze(DIGITS, board="mps2_an386")
    assert caught.value.exit_code == code
    assert "apt-get install" in str(caught.value) or "doctor" in str(caught.value)


def test_command_line_prints_lines_not_tracebacks(built: Built, tmp_path: Path) -> None:
    image = built(DIGITS, "mps2_an386", test_fault="hang")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "harness.cli", "run", str(image.directory), "--board", "mps2_an386"),
            *(
                "--out",
                str(tmp_path / "bundle"),
                "--deadline",
                "window=2",
                "--deadline",
                "boot=2",
                "--retries",
                "0",
                "--json",
            ),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["class"] == "capture"


def test_an_image_changed_after_it_was_verified_is_not_flashed(built: Built, tmp_path: Path) -> None:
    from harness.core.errors import EvidenceError

    original = built(DIGITS, "mps2_an386")
    copy = tmp_path / "build"
    shutil.copytree(original.directory, copy)
    image = load_build(copy)
    data = bytearray(image.elf.read_bytes())
    data[-1] ^= 1
    image.elf.write_bytes(data)
    with pytest.raises(EvidenceError, match="not the image that was verified"):
        run(image, out=tmp_path / "bundle")


def test_a_plan_without_layers_measures_the_window_alone(built: Built, tmp_path: Path) -> None:
    outcome = run(built(DIGITS, "mps2_an386", per_layer=False), out=tmp_path / "bundle")
    assert outcome.valid and outcome.clean_cycles and outcome.result.layers == ()
    assert outcome.to_dict()["total_cycles"] is None
