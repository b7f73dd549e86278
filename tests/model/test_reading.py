"""What the reader says of a model, against the writer's intent and against the `tflite` package's own schema."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ModelError
from harness.model.load import load_model, read_model
from harness.model.schema import OPTIONS_OF, TABLES, UNIONS
from harness.model.writer import ModelBuilder, Union, serialise
from tests.engines.cases import seeded_model

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite"
SHARED = Path(__file__).parents[2].parent / "shared" / "models"


def _package_fields(table: str) -> dict[str, int]:
    """Field ids by method name, from the accessors that flatc generated."""
    source = inspect.getsource(getattr(sys.modules[f"tflite.{table}"], table))
    fields = {}
    for method in source.split("    def ")[1:]:
        offset = re.search(r"_tab\.Offset\((\d+)\)", method)
        if offset:
            fields[method.partition("(")[0]] = (int(offset[1]) - 4) // 2
    return fields


@pytest.mark.parametrize("table", sorted(TABLES))
def test_schema_agrees_with_the_package(table: str) -> None:
    package = _package_fields(table)
    for field in TABLES[table]:
        method = "".join(part[:1].upper() + part[1:] for part in field.name.split("_"))
        if field.name not in ("deprecated_tag", "new_height", "new_width"):
            assert package[method] == field.id, field.name


def test_unions_agree_with_the_package() -> None:
    for union, members in UNIONS.items():
        for tag, table in members.items():
            assert getattr(getattr(tflite, union), table) == tag
    assert set(OPTIONS_OF.values()) <= set(TABLES) & set(UNIONS["BuiltinOptions"].values())


def test_digits() -> None:
    model = load_model(DIGITS)
    assert [op.name for op in model.operators][-2:] == ["FULLY_CONNECTED", "SOFTMAX"]
    assert model.tensors[model.inputs[0]].shape == (1, 8, 8, 1)
    first = model.operators[0]
    assert (first.name, first.options["padding"], first.options["fused_activation_function"]) == (
        "CONV_2D",
        "SAME",
        "RELU",
    )
    weights = model.tensors[first.inputs[1]]
    assert weights.quantization is not None and weights.quantization.per_channel
    assert first.macs == 64 * int(np.prod(weights.shape))
    assert model.data == DIGITS.read_bytes() and model.size_bytes == len(model.data)


KNOWN_MACS = {DIGITS: 6_912 + 6_912 + 18_432 + 3_456 + 12_288 + 1_280} | {
    path: macs
    for name, macs in (("kws_ref_model", 2_656_768), ("ad01_int8", 264_192))
    if (path := SHARED / f"{name}.tflite").is_file()
}


@pytest.mark.parametrize("path", KNOWN_MACS, ids=lambda path: path.stem)
def test_multiply_accumulates(path: Path) -> None:
    assert sum(op.macs for op in load_model(path).operators) == KNOWN_MACS[path]


def dense(**changes: Any) -> ModelBuilder:
    """A model with one FULLY_CONNECTED of 4 to 3."""
    model = ModelBuilder()
    x = model.tensor([1, 4], scale=0.5, **changes)
    w = model.tensor([3, 4], scale=0.25, data=bytes(range(12)))
    model.operator("FULLY_CONNECTED", [x, w, -1], [model.tensor([1, 3], scale=0.125, zero_point=-3)], version=4)
    return model


def test_plain_facts() -> None:
    model = read_model(dense().build([0], [2]))
    (op,) = model.operators
    assert (op.name, op.inputs, op.outputs, op.macs, op.version) == ("FULLY_CONNECTED", (0, 1, -1), (2,), 12, 4)
    assert op.options["fused_activation_function"] == "NONE" and op.options["keep_num_dims"] is False
    weights, output = model.tensors[1], model.tensors[2]
    assert (weights.data, weights.shape, weights.nbytes) == (bytes(range(12)), (3, 4), 12)
    assert output.data is None and output.quantization is not None
    assert (output.quantization.scales, output.quantization.zero_points) == ((0.125,), (-3,))


def test_dynamic_batch_is_one() -> None:
    model = ModelBuilder()
    x = model.tensor([-1, 4], scale=0.5, shape_signature=[-1, 4])
    y = model.tensor([1, 4], scale=1 / 256, zero_point=-128, shape_signature=[-1, 4])
    model.operator("SOFTMAX", [x], [y], beta=1.0)
    assert read_model(model.build([x], [y])).tensors[0].shape == (1, 4)


def _wrong_constant() -> bytes:
    model = ModelBuilder()
    w = model.tensor([3, 4], scale=0.25, data=bytes(11))
    model.operator("RESHAPE", [w], [model.tensor([12], scale=0.25)], new_shape=[12])
    return model.build([], [1])


def _wrong_order() -> bytes:
    model = ModelBuilder()
    x, y, z = (model.tensor([1, 4], scale=1 / 256, zero_point=-128) for _ in range(3))
    model.operator("SOFTMAX", [y], [z], beta=1.0)
    model.operator("SOFTMAX", [x], [y], beta=1.0)
    return model.build([x], [z])


def _wrong_options() -> bytes:
    tensor = {"shape": [1], "type": 9, "buffer": 0, "name": "t"}
    operator = {"opcode_index": 0, "inputs": [0], "outputs": [1], "builtin_options": Union("AddOptions", {})}
    graph = {"tensors": [tensor, tensor], "inputs": [0], "outputs": [1], "operators": [operator]}
    code = {"deprecated_builtin_code": 25, "builtin_code": 25}
    return serialise("Model", {"version": 3, "operator_codes": [code], "subgraphs": [graph], "buffers": [{}]})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_wrong_constant(), "takes 12 bytes; it has 11"),
        (_wrong_order(), "reads tensor 1 before anything computes it"),
        (_wrong_options(), "carries AddOptions instead of SoftmaxOptions"),
        (dense().build([0], [7]), "output tensor 7 of 3 does not exist"),
        (dense().build([0, 1], [2]), "is a constant"),
        (serialise("Model", {"version": 3, "buffers": [{}]}), "no graph"),
        (serialise("Model", {"version": 2, "buffers": [{}]}), "schema version 2"),
        (dense(name="x" * 3).build([], [2]), "before anything computes it"),
    ],
)
def test_contradictions_are_named(data: bytes, said: str) -> None:
    with pytest.raises(ModelError) as error:
        read_model(data)
    assert said in error.value.why


scalars = st.fixed_dictionaries(
    {
        "padding": st.integers(-128, 127),
        "stride_w": st.integers(-(2**31), 2**31 - 1),
        "stride_h": st.none() | st.integers(-(2**31), 2**31 - 1),
        "dilation_w_factor": st.none() | st.integers(1, 9),
    }
)


@given(scalars)
def test_writer_and_package_agree_on_options(values: dict[str, int | None]) -> None:
    table = tflite.Conv2DOptions.GetRootAs(serialise("Conv2DOptions", values), 0)
    read = (table.Padding(), table.StrideW(), table.StrideH(), table.DilationWFactor())
    assert read == (values["padding"], values["stride_w"], values["stride_h"] or 0, values["dilation_w_factor"] or 1)


@given(
    st.lists(st.floats(width=32, allow_nan=False), max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.text(max_size=20).filter(lambda text: "\0" not in text),
)
def test_writer_and_package_agree_on_tensors(scales: list[float], points: list[int], name: str) -> None:
    quantization = {"scale": scales, "zero_point": points, "quantized_dimension": 2}
    table = tflite.Tensor.GetRootAs(
        serialise("Tensor", {"shape": [1, 2], "name": name, "quantization": quantization}), 0
    )
    inner = table.Quantization()
    assert table.Name().decode() == name
    assert [inner.Scale(i) for i in range(inner.ScaleLength())] == scales
    assert [inner.ZeroPoint(i) for i in range(inner.ZeroPointLength())] == points
    assert table.ShapeAsNumpy().tolist() == [1, 2] and inner.QuantizedDimension() == 2


def test_writing_is_repeatable() -> None:
    assert seeded_model(5) == seeded_model(5) != seeded_model(6)


def test_constant_data_is_aligned_to_16_bytes() -> None:
    data = dense().build([0], [2])
    assert data.index(bytes(range(12))) % 16 == 0
