"""Models as converters of several years write them: what surrounds the operators must not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.core.errors import UnsupportedModelError
from harness.engines.base import EngineOptions, get_engine
from harness.engines.reference import run_reference
from harness.model import writer
from harness.model.load import load_model, read_model
from harness.model.writer import ModelBuilder, Union
from tests.engines.batch import Batch
from tests.engines.cases import random_inputs
from tests.engines.host import HostCompiler
from tests.engines.test_operators import differences

Fields = dict[str, Any]
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}


def keras_like(b: Batch) -> None:
    """A dilated convolution between batches and space, an inverted residual, and a head of a batch that is -1."""
    side, channels, scale = 8, 4, 0.03
    x = b.input([1, side, side, channels], scale, -3)
    block, edges = b.integers([2, 2]), b.integers([2, 2, 2, 2], [2, 2])
    apart = b.model.tensor([4, 6, 6, channels], scale=scale, zero_point=-3)
    b.model.operator("SPACE_TO_BATCH_ND", [x, block, edges], [apart])
    w, scales = b.weights([1, 3, 3, channels], 3)
    bias = b.bias(channels, scale, scales, 1e3, always=True)
    spread = float(scale * np.median(scales) * 74 * 3 * 74 / 50)
    seen = b.model.tensor([4, 4, 4, channels], scale=spread, zero_point=4)
    options = {**WINDOW, "padding": "VALID", "depth_multiplier": 1, "fused_activation_function": "NONE"}
    b.model.operator("DEPTHWISE_CONV_2D", [apart, w, bias], [seen], **options)
    y = b.model.tensor([1, side, side, channels], scale=spread, zero_point=4)
    b.model.operator("BATCH_TO_SPACE_ND", [seen, block, b.integers([0, 0, 0, 0], [2, 2])], [y])
    again = b.model.tensor([1, side, side, channels], scale=spread, zero_point=4)
    b.model.operator("QUANTIZE", [y], [again])
    total = b.model.tensor([1, side, side, channels], scale=2 * max(spread, scale), zero_point=1)
    b.model.operator("ADD", [x, again], [total], fused_activation_function="RELU6")
    mean = b.model.tensor([1, channels], scale=2 * max(spread, scale), zero_point=1)
    b.model.operator("MEAN", [total, b.integers([1, 2])], [mean], keep_dims=False)
    extents, batch, shape = (b.model.tensor(dims, "int32") for dims in ([2], [], [4]))
    b.model.operator("SHAPE", [mean], [extents], out_type=2)
    masks = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 1}
    b.model.operator("STRIDED_SLICE", [extents, b.integers([0]), b.integers([1]), b.integers([1])], [batch], **masks)
    rest = [b.integers([n], []) for n in (1, 1, channels)]
    b.model.operator("PACK", [batch, *rest], [shape], values_count=4, axis=0)
    flat = b.model.tensor(
        [1, 1, 1, channels], scale=2 * max(spread, scale), zero_point=1, shape_signature=[-1, 1, 1, channels]
    )
    b.model.operator("RESHAPE", [mean, shape], [flat])
    w, scales = b.weights([5, channels], 0)
    logits = b.output([1, 5], float(2 * max(spread, scale) * scales[0] * 74 * 74 / 20), 0)
    b.model.operator("FULLY_CONNECTED", [flat, w, -1], [logits], fused_activation_function="NONE")


def fields_of(add: Callable[[Batch], None], monkeypatch: pytest.MonkeyPatch) -> Fields:
    """The tables of a model, before they are written."""
    kept: Fields = {}
    with monkeypatch.context() as patch:
        patch.setattr(writer, "serialise", lambda table, fields: kept.update(fields) or b"")
        b = Batch(np.random.default_rng(4))
        add(b)
        b.finish()
    return kept


def as_it_is(fields: Fields) -> None:
    """As the builder writes it."""


def old_codes(fields: Fields) -> None:
    """Operator numbers in the one byte that they had at first."""
    for code in fields["operator_codes"]:
        code["builtin_code"] = None


def surroundings(fields: Fields) -> None:
    """Metadata, signatures, tensors nobody uses, and a graph nobody calls with an operator nobody knows."""
    graph = fields["subgraphs"][0]
    graph["tensors"].append({"shape": [3], "type": 0, "buffer": 0, "name": "unused", "quantization": None})
    graph["tensors"].append({"shape": [2], "type": 9, "buffer": len(fields["buffers"]), "name": "unused constant"})
    fields["buffers"] += [{"data": b"ab"}, {"data": b"1.14.0\0\0"}]
    fields["metadata"] = [{"name": "min_runtime_version", "buffer": len(fields["buffers"]) - 1}]
    fields["metadata_buffer"] = [len(fields["buffers"]) - 1]
    names = [("inputs", graph["inputs"]), ("outputs", graph["outputs"])]
    maps = {key: [{"name": "t", "tensor_index": index} for index in indices] for key, indices in names}
    fields["signature_defs"] = [{**maps, "signature_key": "serving_default", "subgraph_index": 0}]
    fields["operator_codes"].append({"deprecated_builtin_code": 32, "custom_code": "Nobody", "version": 1})
    tensors = [{"shape": [1], "type": 0, "buffer": 0, "name": name} for name in ("x", "y")]
    unknown = {"opcode_index": len(fields["operator_codes"]) - 1, "inputs": [0], "outputs": [1]}
    fields["subgraphs"].append({"tensors": tensors, "inputs": [0], "outputs": [1], "operators": [unknown], "name": "f"})


def fixed_shapes(fields: Fields) -> None:
    """No shape signatures, and the new shape in the options, too."""
    for tensor in fields["subgraphs"][0]["tensors"]:
        tensor["shape_signature"] = None
    reshape = fields["subgraphs"][0]["operators"][-2]
    reshape["builtin_options"] = Union("ReshapeOptions", {"new_shape": [-1, 1, 1, 4]})


@pytest.mark.parametrize("vary", [as_it_is, old_codes, surroundings, fixed_shapes])
@pytest.mark.parametrize("rounding", ["tflm", "litert-ref"])
def test_what_surrounds_operators_does_not_matter(
    vary: Callable[[Fields], None],
    rounding: str,
    monkeypatch: pytest.MonkeyPatch,
    host_compiler: HostCompiler,
    tmp_path: Path,
) -> None:
    fields = fields_of(keras_like, monkeypatch)
    plain = tmp_path / "plain.tflite"
    plain.write_bytes(writer.serialise("Model", fields))
    vary(fields)
    path = tmp_path / f"{vary.__name__}.tflite"
    path.write_bytes(writer.serialise("Model", fields))
    model = load_model(path)
    inputs = random_inputs([model.tensors[index].nbytes for index in model.inputs], 3, 12)
    names = [operator.name for operator in model.operators]
    engine = host_compiler.engine(model, name=f"{vary.__name__}-{rounding}", rounding=rounding)
    for got, want in zip(engine.run(inputs), run_reference(plain, inputs, rounding), strict=True):
        assert differences(got.layers, want.layers, names) == []
        assert got.outputs == want.outputs


def test_a_refusal_names_every_operator_in_the_way_at_once() -> None:
    model = ModelBuilder()
    x = model.tensor([1, 4], scale=0.1, zero_point=3)
    other = [model.tensor([1, 4], scale=0.2, zero_point=3) for _ in range(4)]
    model.operator("TOPK_V2", [x], [other[0]])
    model.operator("RELU6", [other[0]], [other[1]])
    model.operator("RELU6", [x], [other[2]])
    model.operator("LOG", [other[1]], [other[3]])
    with pytest.raises(UnsupportedModelError) as error:
        get_engine("aot").check(read_model(model.build([x], other)), EngineOptions({}))
    assert error.value.context["problems"] == [
        "operator 0 (TOPK_V2): the operator is not supported",
        "operator 2 (RELU6): input and output have different quantisation",
        "operator 3 (LOG): the operator is not supported",
    ]
