"""Engines from outside the package, on both boards: as sources, as a static library, and those that do not keep to
the interface."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.board.descriptor import load_board_type
from harness.core.errors import (
    BuildError,
    DeadlineError,
    FirmwareError,
    HarnessError,
    IdentityMismatchError,
    PlanError,
    ToolMissingError,
)
from harness.core.resources import cache_root
from harness.image.build import build
from harness.image.record import load_build
from harness.judge.compare import compare
from harness.plan.freeze import freeze
from harness.plan.record import Plan
from harness.results.reader import read_bundle, verify_bundle
from harness.runner.run import RunOutcome, run
from tests.e2e.conftest import BOARDS, DIGITS, QUICK, ROOT

EXAMPLE = ROOT / "examples/external-engine"
POCKET = EXAMPLE / "pocket"
CACHE = cache_root()
SHORT = {"boot": 4.0, "window": 4.0, "pass": 4.0, "inference": 4.0, "inspect": 4.0}
Measured = Callable[..., RunOutcome]


def external(directory: Path, **settings: Any) -> dict[str, Any]:
    return {"engine": "external", "engine_config": {"directory": str(directory)}, **settings}


def frozen(directory: Path, board: str = "mps2_an386", **settings: Any) -> Plan:
    return freeze(DIGITS, board=board, **{**QUICK, **external(directory, **settings)})


def copied(tmp_path: Path, name: str = "pocket") -> Path:
    return Path(shutil.copytree(POCKET, tmp_path / name))


def changed(directory: Path, old: str, new: str, file: str = "src/pocket.c") -> Path:
    text = (directory / file).read_text()
    assert old in text, f"{file} does not hold {old!r}"
    (directory / file).write_text(text.replace(old, new, 1))
    return directory


def harness(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env={**os.environ, **environment})


def answer(*arguments: str | Path, **environment: str) -> Any:
    done = harness(*arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def inputs() -> list[tuple[bytes, ...]]:
    draw = np.random.default_rng(3)
    return [(bytes([value]) * 64,) for value in (0x80, 0x7F, 0)] + [(draw.bytes(64),) for _ in range(5)]


@pytest.mark.parametrize("board", BOARDS)
def test_no_byte_differs_and_every_operator_is_counted(measured: Measured, board: str) -> None:
    outcome = measured(DIGITS, board, inputs=inputs(), inspect=8, **external(POCKET))
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert outcome.outputs.inferences == outcome.outputs.inspected == 8
    generated = measured(DIGITS, board)
    assert [layer.op for layer in outcome.outputs.layers] == [layer.op for layer in generated.outputs.layers]
    assert all(layer.elements > 0 and layer.mismatched == 0 for layer in outcome.outputs.layers)
    assert all(layer.cycles > 0 for layer in outcome.result.layers)
    assert outcome.valid and outcome.clean_cycles > generated.clean_cycles > 0
    # What its own tables take of the arena is known when it has run.
    hello = outcome.capture.hello
    assert (hello.engine, hello.engine_version) == ("pocket", "1.0")
    assert 0 < hello.arena_bytes < outcome.build.engine.arena_bytes == 16384


def test_build_record_and_bundle_say_what_was_linked(measured: Measured) -> None:
    outcome = measured(DIGITS, "mps2_an386", **external(POCKET))
    tree = outcome.build.plan.trees[0]
    record = json.loads(outcome.build.record_path.read_text())
    assert record["basis"]["trees"] == {"pocket": tree.sha256}
    assert {"pocket/src/pocket.c", "pocket/src/flat.h", "generated/engine_resources.c"} <= set(
        record["basis"]["sources"]
    )
    assert (record["engine"]["name"], record["engine"]["engine_version"]) == ("external", "pocket 1.0")
    metadata = json.loads((outcome.bundle / "run_metadata.json").read_text())
    assert metadata["config"]["engine"]["type"] == "external"
    assert tree.sha256 in (outcome.bundle / "plan.json").read_text()
    assert metadata["engine"]["version"] == "pocket 1.0"


def test_compared_with_the_packages_engine(measured: Measured) -> None:
    bundles = [measured(DIGITS, "mps2_an386", **settings).bundle for settings in ({}, external(POCKET))]
    outcome = compare(*bundles, ROOT / "examples/digits/latency.yml")
    assert outcome.status == "fail"
    codes = {issue.code for issue in outcome.comparability.issues}
    assert {"dimension.engine_differs", "dimension.engine_version_differs"} <= codes
    assert outcome.comparability.layers_comparable


def static_library(place: Path, board: str) -> Path:
    """A runtime that is a static library for one board's core, and nothing else."""
    core = load_board_type(board).core
    (place / "lib").mkdir(parents=True)
    objects = []
    for source in sorted((POCKET / "src").glob("*.c")):
        objects.append(str(place / f"{source.stem}.o"))
        flags = [*core.cpuflags, "-O2", "-ffunction-sections", f"-I{ROOT / 'firmware'}"]
        subprocess.run(["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", objects[-1]], check=True, timeout=60)
    library = place / "lib" / f"libpocket_{core.name}.a"
    subprocess.run(["arm-none-eabi-ar", "rcsD", str(library), *objects], check=True, timeout=60)
    for item in objects:
        Path(item).unlink()
    (place / "runtime.yaml").write_text(
        "harness_runtime: 1\nname: pocket-lib\nversion: '1.0'\narena_bytes: 16384\n"
        f"libraries: [{{path: lib/{library.name}, cores: [{core.name}]}}]\n"
    )
    return place


@pytest.mark.parametrize("board", BOARDS)
def test_a_static_library_gives_the_same_bytes(measured: Measured, tmp_path: Path, board: str) -> None:
    place = changed(static_library(tmp_path / "lib", board), "pocket-lib", "pocket", "runtime.yaml")
    outcome = measured(DIGITS, board, inputs=inputs(), inspect=8, **external(place))
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert [layer.op for layer in outcome.result.layers if layer.cycles > 0] == [
        layer.op for layer in outcome.build.engine.layers
    ]
    (name,) = outcome.build.basis["libraries"]
    assert name.startswith("pocket/lib/libpocket_cortex-m")
    assert load_build(outcome.build.directory).sha256 == outcome.build.sha256


def test_a_library_for_another_core_is_refused_by_member(tmp_path: Path) -> None:
    place = static_library(tmp_path / "lib", "mps3_an547")
    changed(place, "cortex-m55]", "cortex-m55, cortex-m4]", "runtime.yaml")
    with pytest.raises(BuildError) as caught:
        frozen(place, "mps2_an386")
    assert "libpocket_cortex-m55.a(arithmetic.o)" in caught.value.what
    assert "Armv8.1-M" in caught.value.why and "cortex-m4" in caught.value.why


def test_a_changed_tree_is_refused_with_both_digests(tmp_path: Path) -> None:
    place = copied(tmp_path)
    plan = frozen(place)
    changed(place, "arena_bytes: 16384", "arena_bytes: 16385", "runtime.yaml")
    with pytest.raises(PlanError) as caught:
        build(plan, tmp_path / "build")
    now = frozen(place).trees[0].sha256
    assert f"sources.pocket: frozen {plan.trees[0].sha256}, now {now}" in caught.value.why
    assert not (tmp_path / "build").exists()


def test_a_plan_finds_its_runtime_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = copied(tmp_path)
    plan = frozen(place)
    first = build(plan, tmp_path / "first")
    moved = Path(shutil.move(place, tmp_path / "elsewhere"))
    with pytest.raises(ToolMissingError) as caught:
        build(plan, tmp_path / "build")
    assert plan.trees[0].sha256 in caught.value.why and "--runtime" in caught.value.todo
    assert build(plan, tmp_path / "second", runtimes=[moved]).sha256 == first.sha256
    monkeypatch.setenv("HARNESS_RUNTIMES", str(tmp_path))
    assert build(plan, tmp_path / "third").sha256 == first.sha256
    # The tree that was named is another one now; the one that is meant lies beside it.
    changed(copied(tmp_path), '"1.0"', '"2.0"', "runtime.yaml")
    assert build(plan, tmp_path / "fourth").sha256 == first.sha256


LIES: dict[str, tuple[str, str, str, type[HarnessError], str]] = {
    "fewer events than operators": (
        "src/pocket.c", "observer->after(observer->ctx, op);", "if (op < 9u) observer->after(observer->ctx, op);",
        FirmwareError, "engine_events",
    ),
    "an end without a begin": (
        "src/pocket.c", "observer->before(observer->ctx, op);", "(void)observer;", FirmwareError, "engine_events",
    ),
    "an operator far out of the table": (
        "src/pocket.c", "observer->after(observer->ctx, op);", "observer->after(observer->ctx, op + 100000000u);",
        FirmwareError, "engine_events",
    ),
    "a shorter table": (
        "src/pocket.c", "info.op_count = flat_length(list);", "info.op_count = flat_length(list) - 1u;",
        IdentityMismatchError, "operators: it says 9",
    ),
    "another operator's name": (
        "src/kernels.c", 'op->name = "RESHAPE"', 'op->name = "SOFTMAX"', IdentityMismatchError, "operator table",
    ),
    "a hang": (
        "src/pocket.c", "operations[op].run(", "for (;;) {\n}\noperations[op].run(", DeadlineError, "clean window",
    ),
    "a byte behind the arena": (
        "src/pocket.c", "return 0;\n}\n",
        "engine_resources.arena[engine_resources.arena_bytes] = 1u;\nreturn 0;\n}\n", FirmwareError, "engine_arena",
    ),
    "a byte before the arena": (
        "src/pocket.c", "info.arena_bytes = used;", "info.arena_bytes = used;\nengine_resources.arena[-1] = 1u;",
        FirmwareError, "engine_arena",
    ),
    "an inference that fails": ("src/pocket.c", "return 0;\n}\n", "return 77;\n}\n", FirmwareError, "engine_invoke"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_an_engine_that_lies_fails_with_an_error_that_says_so(tmp_path: Path, lie: str) -> None:
    file, old, new, error, told = LIES[lie]
    place = copied(tmp_path)
    text = (place / file).read_text()
    # The last place is the one in engine_invoke().
    head, found, tail = text.rpartition(old)
    assert found, f"{file} does not hold {old!r}"
    (place / file).write_text(head + new + tail)
    image = build(frozen(place), tmp_path / "build")
    with pytest.raises(error) as caught:
        run(image, out=tmp_path / "bundle", deadlines=SHORT)
    assert told in f"{caught.value} {caught.value.context}" and caught.value.todo
    manifest = verify_bundle(tmp_path / "bundle")
    assert (str(manifest.status), str(manifest.validity)) == ("failed", "invalid")
    assert read_bundle(tmp_path / "bundle").layers == ()


def test_wrong_bytes_are_a_mismatch_that_names_the_operator(tmp_path: Path) -> None:
    place = changed(copied(tmp_path), "best = x > best", "best = x < best", "src/kernels.c")
    outcome = run(build(frozen(place), tmp_path / "build"), out=tmp_path / "bundle", inputs=inputs()[3:], inspect=5)
    assert outcome.outputs.match is False
    assert outcome.outputs.differing_layers[0].op == "MAX_POOL_2D"


def test_too_small_an_arena_is_the_engines_own_error(tmp_path: Path) -> None:
    with pytest.raises(FirmwareError) as caught:
        run(build(frozen(POCKET, arena_size=4096), tmp_path / "build"), out=tmp_path / "bundle", deadlines=SHORT)
    assert caught.value.context["error"] == "engine_init" and caught.value.context["detail"] == 2


def test_static_constructors_are_refused(tmp_path: Path) -> None:
    place = copied(tmp_path)
    with (place / "src/pocket.c").open("a") as file:
        file.write("__attribute__((constructor)) static void early(void) { used = 16u; }\n")
    with pytest.raises(BuildError) as caught:
        build(frozen(place), tmp_path / "build")
    assert "static constructors" in caught.value.context["stderr"]


def test_groups_of_operators_are_layers_of_their_own(tmp_path: Path) -> None:
    """A runtime that runs convolution, depthwise, pointwise and pooling as one reports three layers for ten."""
    place = copied(tmp_path)
    with (place / "runtime.yaml").open("a") as file:
        file.write("layers:\n- {operator: 3, name: BLOCK}\n- {operator: 7, name: BLOCK}\n- {operator: 9, name: HEAD}\n")
    source = place / "src/pocket.c"
    text = source.read_text()
    for old, new in (
        ("info.op_count = flat_length(list);", "ops[0] = ops[3]; ops[1] = ops[7]; ops[2] = ops[9];\n"
         'ops[0].name = ops[1].name = "BLOCK"; ops[2].name = "HEAD";\ninfo.op_count = 3u;'),
        ("        operations[op].run(&operations[op]);\n",
         "        static const uint32_t ends[] = {0u, 4u, 8u, 10u};\n"
         "        for (uint32_t i = ends[op]; i < ends[op + 1u]; i++) {\n"
         "            operations[i].run(&operations[i]);\n        }\n"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    source.write_text(text)
    outcome = run(build(frozen(place), tmp_path / "build"), out=tmp_path / "bundle", inputs=inputs(), inspect=8)
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert [(layer.op, layer.mismatched) for layer in outcome.outputs.layers] == [
        ("BLOCK", 0), ("BLOCK", 0), ("HEAD", 0),
    ]  # fmt: skip
    single = build(freeze(DIGITS, board="mps2_an386", **QUICK), tmp_path / "aot").engine.layers
    assert sum(layer.macs for layer in outcome.build.engine.layers) == sum(layer.macs for layer in single)


def test_the_command_line_from_a_directory_to_a_bundle(tmp_path: Path) -> None:
    listed = answer("runtimes", "list", HARNESS_RUNTIMES=str(EXAMPLE))["runtimes"]
    by_name = {item["name"]: item for item in listed}
    assert by_name["aot"]["state"] == by_name["pocket"]["state"] == "ready"
    assert by_name["aot+cmsis-nn"]["state"] in ("ready", "missing")
    cache = {"HARNESS_CACHE_DIR": str(tmp_path / "cache"), "HARNESS_RUNTIMES": str(EXAMPLE)}
    before = answer("runtimes", "show", "pocket", "--board", "mps2_an386", **cache)
    assert before["prepared"]["cached"] == 0 and before["sha256"] == by_name["pocket"]["sha256"]
    made = answer("runtimes", "prepare", "pocket", "--board", "mps2_an386", **cache)["prepared"]
    assert made["compiled"] == made["cached"] == made["objects"] > 3
    known = {"HARNESS_RUNTIMES": str(EXAMPLE)}
    plan = tmp_path / "plan.json"
    quick = ["--iterations", "2", "--warmup", "1", "--window-mode", "fixed"]
    options = ["--engine", "external", "--engine-config", "runtime=pocket", "-o", plan, *quick]
    answer("freeze", DIGITS, "--board", "mps2_an386", *options, **known)
    assert json.loads(plan.read_text())["trees"][0]["sha256"] == by_name["pocket"]["sha256"]
    answer("build", plan, "--out", tmp_path / "build", **known)
    result = answer("run", tmp_path / "build", "--board", "mps2_an386", "--out", tmp_path / "bundle", **known)
    assert result["outputs"]["match"] is True and result["validity"] == "valid"


def test_the_example_suite_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(CACHE))
    shutil.copytree(EXAMPLE, pytester.path / "external-engine", dirs_exist_ok=True)
    shutil.copytree(
        ROOT / "examples/digits", pytester.path / "digits", ignore=shutil.ignore_patterns("test_*", "hil-*")
    )
    result = pytester.runpytest_subprocess("external-engine", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["test_right_in_every_layer*emulated*match*"])
