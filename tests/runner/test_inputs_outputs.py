"""Inputs from whatever a caller has, and the comparison with the reference."""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import HarnessError, SettingsError, UsageError
from harness.engines.base import TensorFacts
from harness.model.types import Quantization
from harness.results.outputs import LayerCheck, OutputsCheck
from harness.runner.deadlines import Deadlines
from harness.runner.expectation import Expectation
from harness.runner.inputs import LISTED, RandomInputs, tensor_cases
from harness.runner.outputs import check_outputs
from harness.runner.reference import given_reference


@dataclass(frozen=True)
class Out:
    name: str = "y"
    index: int = 7
    dtype: str = "int8"
    shape: tuple[int, ...] = (4,)


@dataclass(frozen=True)
class Layer:
    op: str
    output_dtypes: tuple[str, ...] = ("int8",)


def tensor(name: str = "x", dtype: str = "int8", shape: tuple[int, ...] = (2, 2)) -> TensorFacts:
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return TensorFacts(name, 0, dtype, shape, nbytes, Quantization((0.5,), (3,), 0))


def test_one_array_for_many_inferences() -> None:
    array = np.arange(12, dtype=np.int8).reshape(3, 2, 2)
    given = tensor_cases(array, [tensor()])
    assert given.cases == ((b"\0\1\2\3",), (b"\4\5\6\7",), (b"\x08\x09\x0a\x0b",))
    assert given.kinds == "caller"


TWO = (tensor("a", shape=(2,)), tensor("b", "int16", (1,)))


def test_several_inputs_mix_arrays_and_bytes() -> None:
    assert tensor_cases([(b"ab", np.array([1], np.int16))], TWO).cases == ((b"ab", b"\1\0"),)


def test_inputs_by_name_and_position_and_what_is_left_out_is_zero(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\1\2")
    given = tensor_cases({"b": tmp_path / "b.bin"}, TWO)
    assert given.cases == ((b"\0\0", b"\1\2"),) and given.kinds == "file, zeros"
    record = given.to_dict()["inferences"][0]
    assert [item["source"] for item in record] == ["zeros", "file"]
    assert record[1]["file"] == "b.bin" and record[1]["sha256"] == hashlib.sha256(b"\1\2").hexdigest()
    assert tensor_cases([{"0": b"xy"}, {"a": b"zz", 1: b"ab"}], TWO).cases == ((b"xy", b"\0\0"), (b"zz", b"ab"))


def test_a_seed_gives_the_same_inputs_again_and_the_record_says_so() -> None:
    one, same, other = (tensor_cases(RandomInputs(seed, 100), TWO) for seed in (7, 7, 8))
    assert one == same and one.cases != other.cases
    record = one.to_dict()
    assert (record["count"], record["source"], len(record["inferences"])) == (100, "seed", LISTED)
    assert record["inferences"][0][0]["seed"] == 7 and record["sha256"] != other.to_dict()["sha256"]
    floats = tensor_cases(RandomInputs(1), [tensor(dtype="float32", shape=(64,))])
    assert np.isfinite(np.frombuffer(floats.cases[0][0], "<f4")).all()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((1, 2, 2), np.float32), r"float32; the model has int8.*round\(x / 0.5\) \+ 3"),
        (np.zeros((1, 5), np.int8), "5 bytes"),
        ([(b"abcd", b"x")], "2 input tensors"),
        (np.zeros((0, 4), np.int8), "no inference at all"),
        (5, "int is no sequence"),
        (np.int8(5), "int8 is no sequence"),
        ("x.npy", "str is no sequence"),
        ({"y": b"abcd"}, "no inputs named 'y'.*0 x"),
        ({"x": b"abcd", "0": b"abcd"}, "given twice"),
        ({"1": b"abcd"}, "no inputs named '1'"),
        (Path("nowhere.bin"), "cannot be read"),
    ],
)
def test_wrong_inputs_are_named(inputs: object, message: str) -> None:
    with pytest.raises(HarnessError) as error:
        tensor_cases(inputs, [tensor()])
    assert re.search(message, str(error.value), re.DOTALL), str(error.value)


def test_expected_outputs_are_complete_and_as_many_as_inferences() -> None:
    with pytest.raises(SettingsError, match="output b is not given"):
        tensor_cases({"a": b"xy"}, TWO, "output")
    with pytest.raises(UsageError, match="2 inferences were given, 1 are run"):
        given_reference([b"abcd", b"abcd"], [tensor()], 1)
    assert given_reference([b"abcd"], [tensor()], 1).info["package"] == "caller"


@pytest.mark.parametrize(
    "arguments",
    [("other",), ("reference", None, -1.0), ("reference", None, math.inf), ("litert-default",), ("none", [b"x"])],
)
def test_an_expectation_that_makes_no_sense_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError):
        Expectation(*arguments)


@given(st.binary(min_size=4, max_size=4), st.integers(0, 3), st.integers(1, 255))
def test_any_changed_byte_is_counted(data: bytes, at: int, change: int) -> None:
    changed = bytearray(data)
    changed[at] ^= change
    check = check_outputs([Out()], [], observed=[(bytes(changed),)], expected=[(data,)], reference={})
    signed = np.frombuffer(bytes([data[at], changed[at]]), np.int8).astype(int)
    assert check.match is False
    assert check.tensors[0].mismatched == 1
    assert check.tensors[0].max_abs_error == abs(int(signed[0] - signed[1]))


def test_tolerance_is_inclusive_and_layers_are_exact() -> None:
    def check(error: int, tolerance: float) -> bool | None:
        return check_outputs(
            [Out()],
            [],
            observed=[(bytes([error, 0, 0, 0]),)],
            expected=[(bytes(4),)],
            reference={},
            tolerance=tolerance,
        ).match

    assert check(0, 0) and check(2, 2) and not check(3, 2)
    layer = check_outputs(
        [],
        [Layer("CONV_2D"), Layer("ADD")],
        observed=[],
        expected=[],
        inspected=[((b"ab",), (b"cd",)), ((b"ab",), (b"cX",))],
        expected_layers=[((b"ab",), (b"cd",)), ((b"ab",), (b"cd",))],
        reference={},
    )
    assert layer.match is False
    assert [(c.layer, c.op, c.mismatched, c.first_input) for c in layer.differing_layers] == [(1, "ADD", 1, 1)]
    assert layer.differing_layers[0].max_abs_error == ord("d") - ord("X")
    assert "layer 1 ADD: 1 of 4 bytes, by at most 12" in layer.explain()


def test_missing_bytes_never_match() -> None:
    check = check_outputs([Out()], [], observed=[(b"ab",)], expected=[(b"abcd",)], reference={})
    assert check.match is False and check.tensors[0].mismatched == 4


def test_nan_on_one_side_is_an_infinite_error() -> None:
    out = Out(dtype="float32", shape=(1,))
    nan, one = np.array([np.nan], "<f4").tobytes(), np.array([1], "<f4").tobytes()
    assert check_outputs([out], [], observed=[(nan,)], expected=[(nan,)], reference={}).match
    bad = check_outputs([out], [], observed=[(nan,)], expected=[(one,)], reference={}, tolerance=9e9)
    assert bad.match is False and bad.tensors[0].max_abs_error is None
    assert bad.tensors[0].non_finite == 1 and "1 of them not finite" in bad.explain()
    infinite = np.array([np.inf], "<f4").tobytes()
    assert check_outputs([out], [], observed=[(infinite,)], expected=[(infinite,)], reference={}).match


def test_errors_of_layers_are_in_their_own_type() -> None:
    def layer(dtypes: tuple[str, ...], got: bytes, want: bytes) -> LayerCheck:
        arguments = {"observed": [], "expected": [], "reference": {}}
        return check_outputs(
            [], [Layer("OP", dtypes)], inspected=[((got,),)], expected_layers=[((want,),)], **arguments
        ).layers[0]

    wide = layer(("int16",), np.array([300], "<i2").tobytes(), np.array([-1], "<i2").tobytes())
    assert (wide.mismatched, wide.max_abs_error) == (2, 301)
    assert layer((), b"a", b"b").max_abs_error is None
    nan = layer(("float32",), np.array([np.nan], "<f4").tobytes(), bytes(4))
    assert not nan.identical and nan.max_abs_error is None


@pytest.mark.parametrize("text", ["boot", "boot=x", "boot=-1", "boot=nan", "boto=5", "boot=inf"])
def test_bad_deadlines_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        Deadlines.of([text])


def test_deadlines_override() -> None:
    assert Deadlines.of(["boot=2.5"])["boot"] == 2.5
    assert Deadlines.of({"boot": 3.0})["boot"] == 3.0


def test_windows_that_computed_something_else_are_named() -> None:
    def check(windows: dict[str, int], tolerance: float = 0.0) -> OutputsCheck:
        return check_outputs(
            [Out()],
            [],
            observed=[(b"abcd",)],
            expected=[(b"abcd",)],
            reference={},
            tolerance=tolerance,
            windows=windows,
            expected_windows=(b"wxyz",),
        )

    right, wrong = zlib.crc32(b"wxyz"), zlib.crc32(b"wxyZ")
    assert check({"clean window": right, "pass cpu_0": right}).match is True
    bad = check({"clean window": right, "pass cpu_0": wrong})
    assert bad.match is False and bad.differing_windows == ("pass cpu_0",)
    assert "pass cpu_0" in bad.explain() and bad.to_dict()["differing_windows"] == ["pass cpu_0"]
    assert check({"clean window": wrong}, tolerance=1.0).match is True
