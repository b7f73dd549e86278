"""The backend `cmsis-nn` on both boards: the bytes of the portable kernels, in fewer instructions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.core.errors import HardFaultError, PlanError, SettingsError, ToolMissingError
from harness.engines.aot import cmsis_nn, cmsis_nn_sources
from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.runner.run import RunOutcome, run
from tests.e2e.conftest import BOARDS, DIGITS, ROOT
from tests.engines import cases
from tests.engines.cases import Batch

SHARED = ROOT.parent / "shared/models"
KWS = SHARED / "kws_ref_model.tflite"
INPUTS = 4
OPERATORS = (
    (cases.conv_2d, 40),
    (cases.depthwise_conv_2d, 40),
    (cases.fully_connected, 20),
    (cases.average_pool_2d, 15),
    (cases.max_pool_2d, 15),
)
MOST_INSTRUCTIONS = {"mps2_an386": 8_000_000, "mps3_an547": 2_300_000}
"""Per inference of the keyword-spotting model at -O2."""


def model_files() -> list[tuple[str, str]]:
    """Random operators on both boards, real models on either; the campaign `layers` runs all on both."""
    shared = sorted(path.name for path in SHARED.glob("*.tflite")) if SHARED.is_dir() else []
    names = [(name, BOARDS[number % 2]) for number, name in enumerate(shared) if name != KWS.name]
    return [*(("random", board) for board in BOARDS), *names]


def random_operators() -> bytes:
    batch = Batch(np.random.default_rng(11))
    for add, count in OPERATORS:
        for _ in range(count):
            add(batch)
    return batch.finish()


def random_inputs(build: Build) -> list[tuple[bytes, ...]]:
    draw = np.random.default_rng(5)
    sizes = [tensor.nbytes for tensor in build.engine.input_tensors]
    extremes = [tuple(bytes([value]) * size for size in sizes) for value in (0x80, 0x7F)]
    return [*extremes, *(tuple(draw.bytes(size) for size in sizes) for _ in range(INPUTS - 2))]


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "random.tflite"
    file.write_bytes(random_operators())
    return file


@pytest.mark.parametrize(("name", "board"), model_files())
def test_no_byte_of_any_layer_differs(
    measured: Callable[..., RunOutcome], built: Callable[..., Build], random_model: Path, name: str, board: str
) -> None:
    check_layers(measured, built, random_model if name == "random" else SHARED / name, board)


def check_layers(
    measured: Callable[..., RunOutcome], built: Callable[..., Build], model: Path, board: str
) -> RunOutcome:
    made = built(model, board, backend="cmsis-nn")
    outcome = measured(model, board, backend="cmsis-nn", inputs=random_inputs(made), inspect=INPUTS)
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert outcome.outputs.inspected == INPUTS
    assert all(layer.elements > 0 and layer.mismatched == 0 for layer in outcome.outputs.layers)
    return outcome


@pytest.mark.parametrize("board", BOARDS)
def test_fewer_instructions_than_portable(measured: Callable[..., RunOutcome], board: str) -> None:
    portable, library = (measured(DIGITS, board, backend=backend).capture.clean for backend in ("portable", "cmsis-nn"))
    assert library.observed["emulator.instructions"] < 0.8 * portable.observed["emulator.instructions"]
    assert (library.observed["emulator.mve_instructions"] > 0) == (board == "mps3_an547")
    assert portable.observed["emulator.mve_instructions"] == 0


if KWS.is_file():

    @pytest.mark.parametrize("board", BOARDS)
    def test_keyword_spotting_is_exact_and_stays_below_its_limit(
        measured: Callable[..., RunOutcome], built: Callable[..., Build], board: str
    ) -> None:
        clean = check_layers(measured, built, KWS, board).capture.clean
        assert clean.observed["emulator.instructions"] / clean.iterations <= MOST_INSTRUCTIONS[board]


def test_too_little_scratch_is_a_fault_that_names_the_operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true_size = cmsis_nn.conv_scratch
    monkeypatch.setattr(cmsis_nn, "conv_scratch", lambda place, features: max(0, true_size(place, features) - 1))
    made = build(freeze(DIGITS, board="mps2_an386", backend="cmsis-nn"), tmp_path / "build")
    with pytest.raises(HardFaultError) as raised:
        run(made, out=tmp_path / "bundle")
    assert any("cmsis_conv_2d" in frame for frame in raised.value.context["backtrace"])


def copy_of_the_library(tmp_path: Path) -> Path:
    installed = cmsis_nn_sources.find_tree(None)
    return Path(shutil.copytree(installed.path, tmp_path / "library"))


def test_a_users_tree_is_pinned_by_its_digest(tmp_path: Path) -> None:
    place = copy_of_the_library(tmp_path)
    plan = freeze(DIGITS, board="mps2_an386", backend="cmsis-nn", engine_config={"cmsis-nn": str(place)})
    packaged = freeze(DIGITS, board="mps2_an386", backend="cmsis-nn")
    assert plan.trees[0].option == "cmsis-nn" and plan.trees[0].sha256 == packaged.trees[0].sha256
    assert plan.intent_hash == packaged.intent_hash, "where the sources lie is no part of a plan's identity"
    assert build(plan, tmp_path / "one").sha256 == build(packaged, tmp_path / "two").sha256
    changed = place / "cmsis_nn/Source/ConvolutionFunctions/arm_convolve_s8.c"
    changed.write_text(changed.read_text() + "\n")
    with pytest.raises(PlanError) as raised:
        build(plan, tmp_path / "three")
    assert "sources.cmsis-nn" in str(raised.value)
    again = freeze(DIGITS, board="mps2_an386", backend="cmsis-nn", engine_config={"cmsis-nn": str(place)})
    assert again.intent_hash != plan.intent_hash


def test_a_configuration_file_names_the_tree_beside_it(tmp_path: Path) -> None:
    copy_of_the_library(tmp_path)
    config = tmp_path / "config.yml"
    config.write_text(f"model: {DIGITS}\nboard: mps2_an386\nbackend: cmsis-nn\nengine-config: {{cmsis-nn: library}}\n")
    plan = freeze(config=config)
    assert plan.trees[0].path == str(tmp_path / "library")
    assert plan.settings["engine-config"] == {}


def test_what_is_no_cmsis_nn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(**settings: object) -> None:
        freeze(DIGITS, board="mps2_an386", **{"backend": "cmsis-nn", **settings})

    with pytest.raises(SettingsError, match="no directory"):
        frozen(engine_config={"cmsis-nn": str(tmp_path / "nowhere")})
    place = copy_of_the_library(tmp_path)
    with pytest.raises(SettingsError, match="backend is 'portable'"):
        frozen(engine_config={"cmsis-nn": str(place)}, backend="portable")
    header = place / "cmsis_nn/Include/arm_nnfunctions.h"
    header.write_text(header.read_text().replace("bias_dims", "upscale_dims"))
    with pytest.raises(SettingsError, match="later CMSIS-NN"):
        frozen(engine_config={"cmsis-nn": str(place)})
    (place / "cmsis_nn/Source/PoolingFunctions/arm_avgpool_s8.c").unlink()
    with pytest.raises(SettingsError, match=r"lacks files"):
        frozen(engine_config={"cmsis-nn": str(place)})
    (place / "cmsis_nn/Source/outside.c").symlink_to(DIGITS)
    with pytest.raises(SettingsError, match="leads out"):
        frozen(engine_config={"cmsis-nn": str(place)})
    monkeypatch.setattr(cmsis_nn_sources, "PACKAGE_SHA256", "0" * 64)
    with pytest.raises(ToolMissingError, match="does not carry the known sources"):
        frozen()
    monkeypatch.setattr(cmsis_nn_sources, "PACKAGE", "no-such-package")
    with pytest.raises(ToolMissingError, match="not installed"):
        frozen()
