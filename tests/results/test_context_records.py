"""The facts of a bundle are taken from the real records of plan, build and board."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.board.descriptor import load_board_type
from harness.engines.base import LayerFacts, TensorFacts
from harness.image.elf import MemoryUse
from harness.image.engine_facts import EngineFacts
from harness.plan.record import Plan, PlanModel
from harness.plan.settings import resolve
from harness.plan.toolchain import ToolchainFacts
from harness.results.assemble import assemble
from harness.results.bundle import publish
from harness.results.outputs import OutputsCheck
from harness.results.reader import read_bundle
from tests.results.builders import MODEL_SHA, OPS, good_outputs, make_capture


def make_plan(board: str) -> Plan:
    kind = load_board_type(board)
    settings = resolve(None, {"board": board, "cpu_clock": "nominal", "engine_config": {"kernels": "naive"}}).plan
    placed = {**settings, "arena-location": kind.defaults.arena, "weights-location": kind.defaults.weights}
    return Plan(
        settings=placed,
        model=PlanModel("somewhere/digits.tflite", MODEL_SHA, 9000),
        board_facts=kind.firmware_facts(),
        toolchain=ToolchainFacts("arm-none-eabi-gcc", "12.2.1", "0" * 64),
        baseline="0" * 64,
        harness_version="0.1.0",
    )


def make_build(plan: Plan) -> SimpleNamespace:
    """What of a `Build` the assembly looks at, made of the real parts."""
    engine = EngineFacts(
        name="aot",
        engine_version="3",
        kernels_version="1",
        arena_bytes=16384,
        weights_bytes=5000,
        layers=tuple(LayerFacts(i, op, i, 100 * i, (i,), (10,)) for i, op in enumerate(OPS)),
        input_tensors=(TensorFacts("in", 0, "int8", (1, 8, 8, 1), 64, None),),
        output_tensors=(TensorFacts("out", 5, "int8", (1, 10), 10, None),),
    )
    memory = {
        "code": MemoryUse("code", 1 << 19, text=30000, initial_values=100),
        "ram": MemoryUse("ram", 1 << 18, data=100, bss=20000),
    }
    return SimpleNamespace(
        plan=plan,
        engine=engine,
        elf_facts=SimpleNamespace(memory=memory),
        lifecycle="carry",
        timing_scope="invoke_only",
        build_id="0" * 32,
        sha256="1" * 64,
        directory=Path(),
        to_dict=lambda: {"schema": "harness.compiled-build", "schema_version": 1},
    )


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
def test_a_run_of_real_records(tmp_path: Path, board: str) -> None:
    plan = make_plan(board)
    assembled = assemble(
        make_capture(),
        make_build(plan),
        plan,
        load_board_type(board),
        outputs_check=good_outputs(),
        bench={"serial": 7},
    )
    assert assembled.evaluation.validity == "valid"
    run = read_bundle(publish(tmp_path / "b", assembled.content))
    assert run.source == "emulated"
    assert run.manifest is not None
    stated = run.manifest.comparability
    assert (stated["board"], stated["toolchain"], stated["engine_config"]) == (board, "gcc", "kernels=naive")
    assert stated["counter_model"].startswith("cost-table ")
    assert run.harness["identity"]["intent_hash"] == plan.intent_hash
    assert run.harness["bench"]["serial"] == 7
    assert run.summary["binary"] == {"text": 30000, "data": 100, "bss": 20000, "total": 50100}
    used = {row["region"]: (row["used"], row["free"]) for row in run.summary["memory_regions"]["regions"]}
    assert used["ram"] == (20100, (1 << 18) - 20100)
    assert run.metadata["model"]["name"] == "digits.tflite"
    assert [row["macs"] for row in run.layers] == [0, 100, 200, 300, 400]
    assert assembled.result.metadata.config_snapshot["engine"]["config"] == {"kernels": "naive"}


def test_outputs_not_compared_are_recorded_with_the_reason(tmp_path: Path) -> None:
    plan = make_plan("mps3_an547")
    check = OutputsCheck.not_compared("no reference")
    assembled = assemble(make_capture(), make_build(plan), plan, load_board_type("mps3_an547"), outputs_check=check)
    assert assembled.evaluation.issues == ()
    run = read_bundle(publish(tmp_path / "b", assembled.content))
    assert run.harness["outputs"]["reason"] == "no reference"
