"""Inputs from whatever a caller has, and the comparison with the reference."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import SettingsError
from harness.results.outputs import OutputsCheck
from harness.runner.deadlines import Deadlines
from harness.runner.inputs import input_cases
from harness.runner.outputs import check_outputs


@dataclass(frozen=True)
class Out:
    name: str = "y"
    index: int = 7
    dtype: str = "int8"
    shape: tuple[int, ...] = (4,)


def test_one_array_for_many_inferences() -> None:
    array = np.arange(12, dtype=np.int8).reshape(3, 2, 2)
    assert input_cases(array, [4], ["int8"]) == ((b"\0\1\2\3",), (b"\4\5\6\7",), (b"\x08\x09\x0a\x0b",))


def test_several_inputs_mix_arrays_and_bytes() -> None:
    assert input_cases([(b"ab", np.array([1], np.int16))], [2, 2], ["int8", "int16"]) == ((b"ab", b"\1\0"),)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((1, 4), np.float32), "float32"),
        (np.zeros((1, 5), np.int8), "5 bytes"),
        ([(b"abcd", b"x")], "2 input tensors"),
        (np.zeros((0, 4), np.int8), "no inference at all"),
        (5, "int is no sequence"),
        (np.int8(5), "int8 is no sequence"),
    ],
)
def test_wrong_inputs_are_named(inputs: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        input_cases(inputs, [4], ["int8"])


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
        ["CONV_2D", "ADD"],
        observed=[],
        expected=[],
        inspected=[((b"ab",), (b"cd",)), ((b"ab",), (b"cX",))],
        expected_layers=[((b"ab",), (b"cd",)), ((b"ab",), (b"cd",))],
        reference={},
    )
    assert layer.match is False
    assert [(c.layer, c.op, c.mismatched, c.first_input) for c in layer.differing_layers] == [(1, "ADD", 1, 1)]


def test_missing_bytes_never_match() -> None:
    check = check_outputs([Out()], [], observed=[(b"ab",)], expected=[(b"abcd",)], reference={})
    assert check.match is False and check.tensors[0].mismatched == 4


def test_nan_on_one_side_is_an_infinite_error() -> None:
    out = Out(dtype="float32", shape=(1,))
    nan, one = np.array([np.nan], "<f4").tobytes(), np.array([1], "<f4").tobytes()
    assert check_outputs([out], [], observed=[(nan,)], expected=[(nan,)], reference={}).match
    bad = check_outputs([out], [], observed=[(nan,)], expected=[(one,)], reference={}, tolerance=9e9)
    assert bad.match is False and bad.tensors[0].max_abs_error is None


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
