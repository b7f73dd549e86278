"""Damaged files are refused with a typed error or read; nothing else may happen, and quickly."""

from __future__ import annotations

import os
import resource
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.errors import HarnessError, ModelError
from harness.engines.base import EngineOptions, get_engine
from harness.model.load import load_model, read_model
from harness.model.verify import MAX_TABLES, verify
from harness.model.writer import ModelBuilder, serialise
from tests.engines.cases import KINDS, batch, seeded_model

DIGITS = (Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite").read_bytes()
MODELS = (DIGITS, seeded_model(), *(batch(kind, 3, 2) for kind in sorted(KINDS)))
EXAMPLES = int(os.environ.get("HARNESS_MUTATIONS", "400"))
RELAXED = settings(
    max_examples=EXAMPLES, deadline=2000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example]
)


def compile_or_refuse(data: bytes, out: Path) -> bool:
    """Whether the bytes are a model that compiles; only typed errors of the model's kind may come."""
    try:
        model = read_model(data)
        get_engine("aot").generate(model, EngineOptions({}), out)
    except ModelError as error:
        assert error.what and error.why
        return False
    return True


def test_all_the_models_are_sound(tmp_path: Path) -> None:
    assert all(compile_or_refuse(data, tmp_path) for data in MODELS)


@RELAXED
@given(st.data())
def test_mutations(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    mutant = bytearray(data.draw(st.sampled_from(MODELS)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(mutant) - 1))
        kind = data.draw(st.sampled_from(("bit", "byte", "word", "offset")))
        if kind == "bit":
            mutant[at] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "byte":
            mutant[at] = data.draw(st.integers(0, 255))
        elif at + 4 <= len(mutant):
            at -= at % 4
            hostile = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, len(mutant), len(mutant) - at)
            word = data.draw(st.sampled_from(hostile) if kind == "word" else st.integers(0, len(mutant)))
            struct.pack_into("<I", mutant, at, word)
    compile_or_refuse(bytes(mutant), tmp_path_factory.getbasetemp())


@RELAXED
@given(st.sampled_from(MODELS), st.data())
def test_truncation(model: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(model) - 1))
    try:
        read_model(model[:cut])
    except ModelError:
        return
    # Only the padding after the last table may be missing.
    assert len(model) - cut < 4


@given(st.binary(max_size=200))
def test_noise_behind_the_identifier(noise: bytes) -> None:
    with pytest.raises(ModelError):
        read_model(b"\x10\0\0\0TFL3" + noise[:8] + noise)


def words(error: pytest.ExceptionInfo[HarnessError]) -> str:
    assert error.value.what and error.value.todo
    return str(error.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "Git LFS pointer"),
        (b"", "is empty"),
        (b"\x18\0\0", "truncated"),
        (b"PK\x03\x04 a zip file of something", "not a .tflite file"),
        (DIGITS[: len(DIGITS) // 2], "damaged or truncated"),
    ],
)
def test_each_kind_of_wrong_file_is_told_apart(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(data)
    with pytest.raises(ModelError) as error:
        load_model(path)
    assert said in words(error)
    assert "m.tflite" in str(error.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.tflite", Path("/dev/zero")):
        with pytest.raises(ModelError) as error:
            load_model(path)
        words(error)


def _cyclic() -> bytes:
    """A subgraph list whose entry leads back to a table in front of it is impossible; one to itself is not."""
    data = bytearray(serialise("Model", {"version": 3, "subgraphs": [{}], "buffers": [{}], "operator_codes": [{}]}))
    return bytes(data)


def _shared(count: int) -> bytes:
    """A vector of `count` references to one table."""
    head = struct.pack("<I4s", 24, b"TFL3")
    vtable = struct.pack("<HHHHHH", 10, 8, 0, 0, 4, 0)
    table_at = 24
    body = head + vtable + bytes(24 - 8 - len(vtable)) + struct.pack("<iI", table_at - 8, 4)
    assert len(body) == 32
    vector_at = len(body)
    target = vector_at + 4 + 4 * count
    offsets = b"".join(struct.pack("<I", target - (vector_at + 4 + 4 * i)) for i in range(count))
    inner_vtable = struct.pack("<HH", 4, 4)
    return body + struct.pack("<I", count) + offsets + struct.pack("<i", -4) + inner_vtable


def _huge_shape() -> bytes:
    model = ModelBuilder()
    x = model.tensor([1 << 30, 1 << 30], scale=1.0)
    model.operator("SOFTMAX", [x], [model.tensor([1 << 30, 1 << 30], scale=1 / 256, zero_point=-128)], beta=1.0)
    return model.build([x], [1])


def _many_operators_on_one_weight() -> bytes:
    """Small file, but every one of many operators would repeat work on the same large constant."""
    model = ModelBuilder()
    w = model.tensor([1024, 1024], scale=0.1, data=bytes(1 << 20))
    x = model.tensor([1, 1024], scale=0.1)
    outputs = []
    for _ in range(2000):
        outputs.append(model.tensor([1, 1024], scale=1.0))
        model.operator("FULLY_CONNECTED", [x, w], [outputs[-1]], fused_activation_function="NONE")
    return model.build([x], outputs[:1])


HOSTILE: dict[str, Callable[[], bytes]] = {
    "no content": _cyclic,
    "many references to one table": lambda: _shared(2 * MAX_TABLES),
    "three million references": lambda: _shared(3_000_000),
    "a terabyte tensor": _huge_shape,
    "thousands of operators on one weight": _many_operators_on_one_weight,
    "more than is read": lambda: b"\x10\0\0\0TFL3" + bytes(40 << 20),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_cost_little(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(HOSTILE[kind]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(ModelError):
        get_engine("aot").generate(load_model(path), EngineOptions({}), tmp_path)
    assert time.process_time() - start < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_a_shared_table_is_walked_once() -> None:
    verify(_shared(1000), "shared")
