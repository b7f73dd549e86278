"""What the ahead-of-time engine refuses, and that what it writes is repeatable and compiles everywhere."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ModelError, SettingsError, UnsupportedModelError
from harness.engines.aot.planner import ALIGNMENT, Block, place
from harness.engines.aot.quant import activation_range, fixed_point
from harness.engines.base import EngineOptions, get_engine
from harness.model.load import load_model, read_model
from harness.model.writer import ModelBuilder
from tests.engines.cases import seeded_model
from tests.engines.host import FIRMWARE, KERNELS

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite"
PLAIN = EngineOptions({})
CORES = {
    "cortex-m4": ["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    "cortex-m55": ["-mcpu=cortex-m55", "-mfloat-abi=hard"],
}


def refusal(data: bytes) -> UnsupportedModelError:
    with pytest.raises(UnsupportedModelError) as error:
        get_engine("aot").check(read_model(data), PLAIN)
    assert error.value.todo
    return error.value


def test_every_unsupported_operator_is_listed_at_once() -> None:
    model = ModelBuilder()
    x, y, z, s = (model.tensor([1, 4], scale=0.5) for _ in range(4))
    model.operator("COS", [x], [y])
    model.operator("ADD", [x, y], [z], fused_activation_function="TANH")
    model.operator("SELECT_V2", [z], [s])
    said = refusal(model.build([x], [s])).why.splitlines()
    assert [line.split(":")[0] for line in said] == [
        "operator 0 (COS)",
        "operator 1 (ADD)",
        "operator 2 (SELECT_V2)",
    ]
    assert "fused_activation_function is TANH" in said[1]


def test_a_float_model_is_called_one() -> None:
    model = ModelBuilder()
    x, y = (model.tensor([1, 4], "float32") for _ in range(2))
    model.operator("SOFTMAX", [x], [y], beta=1.0)
    error = refusal(model.build([x], [y]))
    assert "float model" in error.what and "Quantise" in error.todo


def test_state_that_cannot_be_initialised_is_named() -> None:
    model = ModelBuilder()
    x, y = (model.tensor([1, 4], scale=1 / 256, zero_point=-128) for _ in range(2))
    model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    model.operator("SOFTMAX", [x], [y], beta=1.0)
    error = refusal(model.build([x], [y]))
    assert "operator 0 (CALL_ONCE)" in error.why and "init_subgraph_index is 1" in error.why


def test_graphs_run_once_may_only_assign_constants() -> None:
    model = ModelBuilder()
    init = model.child("init")
    a, b = (init.tensor([1, 4], scale=1 / 256, zero_point=-128) for _ in range(2))
    init.operator("SOFTMAX", [a], [b], beta=1.0)
    x, y = (model.tensor([1, 4], scale=1 / 256, zero_point=-128) for _ in range(2))
    model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    model.operator("SOFTMAX", [x], [y], beta=1.0)
    data = model.build([x], [y])
    with pytest.raises(ModelError) as error:
        get_engine("aot").check(read_model(data), PLAIN)
    assert "graph 1" in error.value.why


def softmax(**changes: Any) -> bytes:
    model = ModelBuilder()
    x = model.tensor([1, 4], scale=changes.get("scale", 0.5), zero_point=changes.get("zero_point", 0))
    y = model.tensor(changes.get("shape", [1, 4]), scale=1 / 256, zero_point=-128)
    model.operator("SOFTMAX", [x], [y], beta=changes.get("beta", 1.0))
    return model.build([x], [y])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale": float("nan")}, "scale"),
        ({"scale": 0.0}, "scale"),
        ({"scale": float("inf")}, "scale"),
        ({"zero_point": 200}, "zero point 200"),
        ({"shape": [1, 5]}, "shape"),
        ({"beta": float("nan")}, "beta"),
        ({"beta": -1.0}, "beta"),
    ],
)
def test_tensors_that_do_not_fit_are_named(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(softmax(**changes)).why


@pytest.mark.parametrize("config", [{"kernels": "fast"}, {"kernel": "naive"}, {"rounding": "tfml"}, {"kernels": 1}])
def test_engine_options_are_checked(config: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        get_engine("aot").check(load_model(DIGITS), EngineOptions(config))


def test_unknown_engine() -> None:
    with pytest.raises(SettingsError) as error:
        get_engine("oat")
    assert "aot" in error.value.why


def test_generation_is_repeatable_and_names_its_layers(tmp_path: Path) -> None:
    model = load_model(DIGITS)
    made = []
    for name in ("a", "longer/b"):
        out = tmp_path / name
        out.mkdir(parents=True)
        made.append(get_engine("aot").generate(model, PLAIN, out))
    assert made[0] == made[1]
    for source in made[0].sources:
        assert (tmp_path / "a" / source).read_bytes() == (tmp_path / "longer/b" / source).read_bytes()
    assert [layer.op for layer in made[0].layers] == [op.name for op in model.operators]
    assert [layer.id for layer in made[0].layers] == list(range(len(model.operators)))
    assert made[0].input_tensors[0].nbytes == 64 and made[0].output_tensors[0].shape == (1, 10)
    assert made[0].weights_bytes < DIGITS.stat().st_size and made[0].arena_bytes > 0


def test_naive_kernels_change_some_operators_only(tmp_path: Path) -> None:
    texts = {}
    for kernels in ("portable", "naive"):
        (tmp_path / kernels).mkdir()
        get_engine("aot").generate(load_model(DIGITS), EngineOptions({"kernels": kernels}), tmp_path / kernels)
        texts[kernels] = (tmp_path / kernels / "model.c").read_text()
    changed = [line for line in texts["naive"].splitlines() if line not in texts["portable"].splitlines()]
    assert changed and all("nn_conv_2d_naive(" in line for line in changed)


@pytest.mark.parametrize("core", sorted(CORES))
@pytest.mark.parametrize("rounding", ["tflm", "litert-ref"])
def test_sections_are_as_asked_for(core: str, rounding: str, tmp_path: Path) -> None:
    options = EngineOptions({"rounding": rounding}, None, ".arena.psram", ".weights.ram")
    made = get_engine("aot").generate(read_model(seeded_model()), options, tmp_path)
    sources = [*(tmp_path / name for name in made.sources if name.endswith(".c")), *made.kernel_sources]
    for source in sources:
        command = ["arm-none-eabi-gcc", *CORES[core], "-mthumb", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
        command += [f"-I{FIRMWARE}", f"-I{KERNELS}", f"-I{tmp_path}", "-c", str(source)]
        subprocess.run([*command, "-o", str(tmp_path / f"{source.stem}.o")], check=True, timeout=60)
    headers = [
        subprocess.run(["arm-none-eabi-objdump", "-h", path], check=True, capture_output=True, text=True).stdout
        for path in (tmp_path / "model.o", tmp_path / "model_weights.o")
    ]
    assert ".arena.psram" in headers[0] and ".weights.ram" in headers[1] and ".rodata" not in headers[1]


blocks = st.builds(
    lambda nbytes, first, span: Block(nbytes, first, first + span),
    st.integers(0, 300),
    st.integers(-1, 12),
    st.integers(0, 6),
)


@given(st.lists(blocks, max_size=25))
def test_what_lives_together_does_not_overlap(given_blocks: list[Block]) -> None:
    offsets, total = place(given_blocks)
    for i, (a, start) in enumerate(zip(given_blocks, offsets, strict=True)):
        assert start % ALIGNMENT == 0 and start + a.nbytes <= total
        for b, other in list(zip(given_blocks, offsets, strict=True))[:i]:
            if a.first <= b.last and b.first <= a.last:
                assert start + a.nbytes <= other or other + b.nbytes <= start


@given(st.floats(2**-30, 2**30))
def test_fixed_points_are_near(factor: float) -> None:
    multiplier, shift = fixed_point(factor)
    assert 1 << 30 <= multiplier < 1 << 31
    assert abs(multiplier * 2.0 ** (shift - 31) / factor - 1) <= 2**-31


def test_activation_ranges() -> None:
    assert activation_range("RELU6", 6 / 255, -128, -128, 127) == (-128, 127)
    assert activation_range("RELU6", 0.1, -10, -128, 127) == (-10, 50)
    assert activation_range("RELU_N1_TO_1", 0.5, 0, -128, 127) == (-2, 2)
    assert activation_range("RELU6", 1e-45, 0, -128, 127) == (0, 127)
