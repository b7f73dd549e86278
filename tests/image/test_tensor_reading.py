"""Files of tensors that are damaged, endless or huge: each is refused at once, with the file's name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.errors import UsageError
from harness.engines.base import TensorFacts
from harness.image.tensor_file import read_tensor

TENSOR = TensorFacts("x", 0, "int16", (1, 4, 3), 24, None)
VALUES = np.arange(12, dtype=np.int16).reshape(1, 4, 3)


def header(text: str, body: bytes = b"x") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1") + body


@pytest.mark.parametrize("array", [VALUES, np.asfortranarray(VALUES), VALUES.astype(">i2"), VALUES[0]])
def test_order_and_leading_ones_do_not_matter(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert read_tensor(tmp_path / "x.npy", TENSOR, "input 0") == VALUES.astype("<i2").tobytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04" + bytes(100),
        header("{'descr':'<i2'"),
        header("{'descr':'<i2','fortran_order':False,'shape':(True,),}\n"),
        header("{'descr':'<i2','fortran_order':False,'shape':(-1,),}\n"),
        header("{'descr':'<i2','fortran_order':False,'shape':(" + "9" * 30 + ",),}\n"),
        header("{'descr':'<i2','fortran_order':False,'shape':(" + "9" * 15 + ",),}\n"),
        header("{'descr':'|O','fortran_order':False,'shape':(1,4,3),}\n"),
        header("(" * 5000),
        header("__import__('os').abort()"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(UsageError, match=r"x\.npy cannot be read"):
        read_tensor(tmp_path / "x.npy", TENSOR, "input 0")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 200), at=st.integers(0, 151), byte=st.integers(0, 255))
def test_a_mutated_array_is_read_or_refused(tmp_path: Path, cut: int, at: int, byte: int) -> None:
    np.save(tmp_path / "x.npy", VALUES)
    data = bytearray((tmp_path / "x.npy").read_bytes())
    data[at] = byte
    (tmp_path / "x.npy").write_bytes(data[: len(data) - cut] if cut < 100 else data)
    try:
        assert len(read_tensor(tmp_path / "x.npy", TENSOR, "input 0")) == TENSOR.nbytes
    except UsageError as error:
        assert "x.npy" in error.what


@pytest.mark.parametrize("name", ["x.bin", "x.npy"])
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/dev/zero"),
        os.mkfifo,
        Path.mkdir,
        lambda path: (path.touch(), os.truncate(path, 1 << 40)),
    ],
)
def test_what_never_ends_is_not_read(tmp_path: Path, name: str, make: Callable[[Path], object]) -> None:
    make(tmp_path / name)
    with pytest.raises(UsageError, match=r"no regular file|has 1099511627776 bytes"):
        read_tensor(tmp_path / name, TENSOR, "input 0")
