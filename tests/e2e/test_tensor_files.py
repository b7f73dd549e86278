"""Inputs and expected outputs from files: raw bytes and .npy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.cli._main import run_cli
from harness.core.errors import UsageError
from harness.image.build import build
from harness.plan.freeze import freeze
from harness.runner.run import run
from tests.e2e.conftest import DIGITS, QUICK


def test_npy_inputs_and_reference_files(tmp_path: Path) -> None:
    values = np.random.default_rng(2).integers(-128, 128, (1, 8, 8, 1), dtype=np.int8)
    np.save(tmp_path / "x.npy", values[0])
    (tmp_path / "x.bin").write_bytes(values.tobytes())
    plan = freeze(DIGITS, board="mps2_an386", **QUICK)
    made = build(plan, tmp_path / "npy", inputs=[tmp_path / "x.npy"])
    raw = build(plan, tmp_path / "raw", inputs=[tmp_path / "x.bin"])
    assert made.input_bytes() == raw.input_bytes() == (values.tobytes(),)
    assert made.inputs[0].source == "file"
    expected = run(made, out=tmp_path / "one").output_array()[0]
    np.save(tmp_path / "y.npy", expected)
    same = run(made, out=tmp_path / "two", expected=tmp_path / "y.npy")
    assert same.outputs.match is True and same.outputs.reference["package"] == "files"
    # A value that cannot be reached by wrapping: one step towards zero.
    off = expected.copy()
    off.flat[0] += 1 if off.flat[0] < 0 else -1
    np.save(tmp_path / "off.npy", off)
    other = run(made, out=tmp_path / "three", expected=tmp_path / "off.npy")
    assert other.outputs.match is False
    assert (other.outputs.tensors[0].mismatched, other.outputs.tensors[0].max_abs_error) == (1, 1.0)
    near = run(made, out=tmp_path / "four", expected=tmp_path / "off.npy", tolerance=1)
    assert near.outputs.match is True


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((8, 8), np.int8), "has shape"),
        (np.zeros((8, 8, 1), np.float32), "holds float32"),
        (np.full((8, 8, 1), None), "cannot be read"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(UsageError, match=message):
        build(freeze(DIGITS, board="mps2_an386"), tmp_path / "out", inputs=[tmp_path / "x.npy"])
    assert not (tmp_path / "out").exists()
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError):
        build(freeze(DIGITS, board="mps2_an386"), tmp_path / "out", inputs=[tmp_path / "x.npy"])


@pytest.mark.parametrize(
    "wrong",
    [["--input", "none.bin"], ["--input", "7=x.npy"], ["--input", "short.bin"], ["--expect", "x.npy"],
     ["--reference", "oracle"], ["--reference", "litert-default"], ["--tolerance", "inf"], ["--out", "x.npy"]],
)  # fmt: skip
def test_a_dry_run_refuses_what_a_run_would(
    tmp_path: Path, wrong: list[str], monkeypatch: pytest.MonkeyPatch, made: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((1, 8, 8, 1), np.int8))
    Path("short.bin").write_bytes(b"short")
    base = ["run", str(made), "--board", "mps2_an386", "--dry-run"]
    assert run_cli([*base, "--input", "x.npy"]) == 0
    assert run_cli([*base, *wrong]) == 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dry") / "build"
    build(freeze(DIGITS, board="mps2_an386", **QUICK), place)
    return place
