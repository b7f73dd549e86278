"""What the cost of an operator is counted from."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.load import load_model, read_model
from harness.model.operators import OperatorFacts, operator_facts
from harness.predict.features import _inside, features, kind_of
from tests.engines.real_models import DIGITS
from tests.predict.networks import network


@given(
    extent=st.integers(1, 12),
    kernel=st.integers(1, 5),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    padding=st.sampled_from(["SAME", "VALID"]),
)
def test_taps_inside_the_image_are_counted_as_a_loop_counts_them(
    extent: int, kernel: int, stride: int, dilation: int, padding: str
) -> None:
    reach = (kernel - 1) * dilation + 1
    positions = -(-extent // stride) if padding == "SAME" else max(0, (extent - reach) // stride + 1)
    before = max((positions - 1) * stride + reach - extent, 0) // 2 if padding == "SAME" else 0
    counted = sum(
        0 <= position * stride - before + tap * dilation < extent
        for position in range(positions)
        for tap in range(kernel)
    )
    assert _inside(extent, positions, kernel, stride, dilation, padding) == counted


def test_features_of_a_known_model() -> None:
    facts = operator_facts(load_model(DIGITS), {0: ["nn_conv_2d"]})
    first, depthwise, pointwise, pool = facts[:4]
    assert kind_of(first) == "CONV_2D/nn_conv_2d" and kind_of(depthwise) == "DEPTHWISE_CONV_2D/int8"
    assert features(first) == {
        "work": 6912, "windowed": 6912, "outputs": 768, "moved": 64 * 9, "steps": 64, "constant": 1,
    }  # fmt: skip
    # 8x8, 3x3, padded on every side: 22 of 24 taps a row or column lie inside.
    assert features(depthwise)["work"] == 22 * 22 * 12 < depthwise.macs
    assert features(pointwise)["windowed"] == 0 and features(pointwise)["moved"] == 0
    assert features(pool) == {"work": 64 * 24, "outputs": 16 * 24, "steps": 16, "constant": 1}


@pytest.mark.parametrize("seed", range(6))
def test_facts_survive_json(seed: int) -> None:
    model = read_model(network(seed))
    facts = operator_facts(model, {0: ["a", "b"]})
    assert sum(item.macs for item in facts) == sum(operator.macs for operator in model.operators)
    assert all(math.prod(item.outputs[0]) == item.output_bytes for item in facts)
    again = [OperatorFacts.from_dict(json.loads(json.dumps(item.to_dict()))) for item in facts]
    assert tuple(again) == facts


@pytest.mark.parametrize(
    ("field", "value"),
    [("macs", -1), ("macs", True), ("inputs", [[1, -2]]), ("window", [1]), ("kernels", [1]), ("op", 3), ("outputs", 5)],
)
def test_damaged_facts_are_refused(field: str, value: object) -> None:
    facts = operator_facts(load_model(DIGITS))[0].to_dict()
    with pytest.raises(ValueError):
        OperatorFacts.from_dict({**facts, field: value})
    with pytest.raises(ValueError):
        OperatorFacts.from_dict({**facts, "more": 1})
