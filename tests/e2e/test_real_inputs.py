"""Inputs and expected outputs that users have: by name from files, from a seed, from the caller; and the record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.cli._main import run_cli
from harness.core.errors import SettingsError, UsageError
from harness.image.record import Build
from harness.model.writer import ModelBuilder
from harness.runner.inputs import RandomInputs
from harness.runner.run import run
from tests.e2e.conftest import QUICK
from tests.e2e.test_cli import answer, harness

BOARD = "mps2_an386"
SHAPE = (1, 2, 3)


def two_inputs() -> bytes:
    """`sum = left + right`, in quantisation steps."""
    model = ModelBuilder()
    left, right = (model.tensor(SHAPE, name=name, scale=1.0) for name in ("left", "right"))
    total = model.tensor(SHAPE, name="sum", scale=1.0)
    model.operator("ADD", [left, right], [total], fused_activation_function="NONE")
    return model.build([left, right], [total])


@pytest.fixture(scope="module")
def adder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adder") / "adder.tflite"
    path.write_bytes(two_inputs())
    return path


@pytest.fixture
def image(built: Callable[..., Build], adder: Path) -> Build:
    return built(adder, BOARD)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    left = np.arange(6, dtype=np.int8).reshape(SHAPE)
    np.save(tmp_path / "left.npy", left)
    (tmp_path / "right.bin").write_bytes(bytes([10] * 6))
    np.save(tmp_path / "sum.npy", left + 10)
    return tmp_path / "left.npy", tmp_path / "right.bin", tmp_path / "sum.npy"


def test_files_by_name_on_the_command_line(image: Build, files: tuple[Path, ...], tmp_path: Path) -> None:
    left, right, total = files
    arguments = ("run", image.directory, "--board", BOARD)
    named = ("--input", f"right={right}", "--input", f"left={left}")
    said = answer(*arguments, *named, "--expect", f"sum={total}", "--out", tmp_path / "one")
    assert said["outputs"]["match"] is True and said["outputs"]["reference"]["package"] == "files"
    assert said["inputs"]["timed"] == said["inputs"]["outputs"] and said["inputs"]["timed"]["source"] == "file"
    record = json.loads((tmp_path / "one/inputs.json").read_text())
    assert [item["file"] for item in record["outputs"]["inferences"][0]] == ["left.npy", "right.bin"]
    manifest = json.loads((tmp_path / "one/result_manifest.json").read_text())
    assert "inputs.json" in {item["path"] for item in manifest["artifacts"]}
    assert harness("results", "verify", tmp_path / "one").returncode == 0
    assert manifest["comparability"]["timed_inputs"] == record["timed"]["sha256"]
    # One step off in one element: counted, sized, and within a tolerance of one.
    wrong = np.load(total)
    wrong[0, 1, 1] -= 1
    np.save(tmp_path / "wrong.npy", wrong)
    off = ("--input", left, "--input", right, "--expect", tmp_path / "wrong.npy")
    said = answer(*arguments, *off, "--out", tmp_path / "two", status=3)
    assert (said["outputs"]["tensors"][0]["mismatched_elements"], said["outputs"]["tensors"][0]["max_abs_error"]) == (
        1,
        1.0,
    )
    assert answer(*arguments, *off, "--tolerance", "1", "--out", tmp_path / "three")["outputs"]["match"] is True


def test_a_seed_and_no_reference_on_the_command_line(image: Build, tmp_path: Path) -> None:
    arguments = ("run", image.directory, "--board", BOARD, "--input-seed", "5")
    said = answer(*arguments, "--reference", "none", "--out", tmp_path / "one")
    assert said["outputs"]["match"] is None and said["inputs"]["timed"]["source"] == "seed"
    again = answer(*arguments, "--out", tmp_path / "two")
    assert again["outputs"]["match"] is True and again["outputs"]["layers"][0]["max_abs_error"] == 0
    assert again["inputs"] == said["inputs"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input", "middle={left}"], "no inputs named 'middle'"),
        (["--input", "left={right_long}"], "has 7 bytes, input 0 (left) takes 6"),
        (["--input", "left={wide}"], "holds int16, input 0 (left) is int8"),
        (["--input", "left={turned}"], "has shape [3, 2], input 0 (left) has [1, 2, 3]"),
        (["--input", "left={nowhere}"], "cannot be read"),
        (["--input", "{left}"], "1 input tensors; the model has 2"),
        (["--input", "left={left}", "--input", "left={left}"], "given twice"),
        (["--input", "left={left}", "--input", "{left}"], "with and without names"),
        (["--input", "left={left}", "--input-seed", "1"], "exclude each other"),
        (["--expect", "{wide}"], "holds int16, output 0 (sum) is int8"),
        (["--expect", "{left}", "--reference", "none"], "exclude each other"),
        (["--reference", "xnnpack"], "Known: host, litert-default, none"),
        (["--reference", "litert-default"], "needs a tolerance"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_board_is_touched(
    image: Build,
    files: tuple[Path, ...],
    tmp_path: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"left": files[0], "right_long": tmp_path / "long.bin", "nowhere": tmp_path / "nowhere.npy"}
    names |= {name: tmp_path / f"{name}.npy" for name in ("wide", "turned")}
    names["right_long"].write_bytes(bytes(7))
    np.save(names["wide"], np.zeros(SHAPE, np.int16))
    np.save(names["turned"], np.zeros((3, 2), np.int8))
    bench = tmp_path / "bench.yaml"
    bench.write_text("version: 1\nvirtual: off\n")
    given = [option.format(**names) for option in options]
    arguments = ("run", image.directory, "--board", BOARD, "--bench", bench, "--out", tmp_path / "out", *given)
    assert run_cli(list(map(str, arguments))) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_profile_takes_inputs_too(adder: Path, files: tuple[Path, ...], tmp_path: Path) -> None:
    settings = [text for name, value in QUICK.items() for text in ("--set", f"{name}={value}")]
    given = ("--input", f"0={files[0]}", "--input", f"1={files[1]}", "--expect", files[2])
    said = answer("profile", adder, "--board", BOARD, "--out", tmp_path / "out", *settings, *given)
    assert said["outputs"]["match"] is True and said["inputs"]["timed"]["source"] == "file"


def test_callers_inputs_and_the_default_runtime(image: Build, tmp_path: Path) -> None:
    values = [(np.full(SHAPE, at, np.int8), bytes([at] * 6)) for at in range(3)]
    outcome = run(
        image, out=tmp_path / "one", inputs=values, inspect=3, expected=[[bytes([2 * at] * 6)] for at in range(3)]
    )
    assert outcome.outputs.match is True and outcome.outputs.inferences == 3
    assert outcome.inputs["outputs"]["source"] == "caller" and outcome.inputs["timed"]["source"] == "zeros"
    assert outcome.outputs.layers == (), "there are no expected layers"
    mixed = run(image, out=tmp_path / "two", inputs=RandomInputs(3, 4), timed="inputs", inspect=2)
    assert mixed.outputs.match is True and mixed.inputs["timed"]["count"] == 1 and not mixed.outputs.differing_windows
    near = run(image, out=tmp_path / "three", inputs=RandomInputs(3), expect="litert-default", tolerance=1)
    assert near.outputs.match is True and near.outputs.reference["resolver"].startswith("default")
    with pytest.raises(UsageError, match="1 inferences were given, 3 are run"):
        run(image, out=tmp_path / "four", inputs=values, expected=[[bytes(6)]])
    with pytest.raises(SettingsError, match="type float64"):
        run(image, out=tmp_path / "four", inputs=[(np.zeros(SHAPE), bytes(6))])


def test_inputs_and_expectations_in_fixtures(pytester: pytest.Pytester, adder: Path, files: tuple[Path, ...]) -> None:
    header = f"""
        import pytest
        QUICK = dict(model={str(adder)!r}, boards=[{BOARD!r}], iterations=2, warmup=1, window_mode="fixed")
    """
    for file in files:
        (pytester.path / file.name).write_bytes(file.read_bytes())
    pytester.makepyfile(
        test_marked=header
        + """
        @pytest.mark.hil(**QUICK, inputs={"left": "left.npy", "right": "right.bin"}, expected="sum.npy")
        def test_files(run):
            assert run.outputs.match and run.outputs.reference["package"] == "files"
            assert run.inputs["timed"]["source"] == run.inputs["outputs"]["source"] == "file"

        @pytest.mark.hil(**QUICK, input_seed=4)
        def test_seed(run, capture):
            assert run.outputs.match and run.inputs["timed"]["source"] == "seed"
            assert capture.inferences[0].outputs == run.capture.inferences[0].outputs

        @pytest.mark.hil(**QUICK, expect="none")
        def test_none(run):
            assert run.outputs.match is None

        @pytest.mark.hil(**QUICK, inputs=["left.npy", "left.npy"], expected="sum.npy")
        def test_wrong(run):
            assert run.outputs.match, run.outputs.explain()

        @pytest.mark.hil(**QUICK, inputs={"left": "nowhere.npy"})
        def test_missing(run):
            pass
        """,
        test_overridden=header
        + """
        @pytest.fixture
        def hil_inputs():
            return [(bytes([n] * 6), bytes([1] * 6)) for n in range(4)]

        @pytest.fixture
        def hil_expected():
            return [(bytes([n + 1] * 6),) for n in range(4)]

        @pytest.mark.hil(**QUICK, tolerance=0)
        def test_caller(run):
            assert run.outputs.match and run.outputs.inferences == 4
            assert run.outputs.reference["package"] == "caller" and run.inputs["outputs"]["source"] == "caller"
        """,
    )
    result = pytester.runpytest("--hil-out=out", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*output 'sum': 6 of 6 elements, by at most *"])


@pytest.mark.parametrize("argument", ["inputs=7", "input_seed=-1", "tolerance='x'", "inputs='a', input_seed=1"])
def test_a_marker_that_makes_no_sense_is_refused(pytester: pytest.Pytester, adder: Path, argument: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest
        @pytest.mark.hil(model={str(adder)!r}, boards=[{BOARD!r}], {argument})
        def test_it(run):
            pass
        """
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    assert result.ret != 0 and "input" in result.stdout.str() + result.stderr.str()
