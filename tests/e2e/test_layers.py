"""Every layer of every model, on both boards, equals the host reference byte for byte; one changed byte is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.image.record import Build
from harness.runner.run import RunOutcome
from tests.e2e.conftest import BOARDS, DIGITS
from tests.e2e.every_layer import (
    FILES,
    INPUTS,
    KERNELS,
    STREAMING,
    STREAMING_INPUTS,
    checked,
    every_operator,
    run_inputs,
)
from tests.engines.cases import seeded_model


def whole_models() -> list[tuple[str, str]]:
    names = ("digits", "seeded", *sorted(FILES.keys() - STREAMING))
    return [("operators", BOARDS[0]), *((name, board) for name in names for board in BOARDS)]


def streaming_models() -> list[tuple[str, str, str]]:
    """Both kernel sets for each model, on one board each; the campaign `layers` runs the full square."""
    return [
        (name, BOARDS[(number + turn) % 2], kernels)
        for number, name in enumerate(sorted(STREAMING))
        for turn, kernels in enumerate(KERNELS)
    ]


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    directory = tmp_path_factory.mktemp("models")

    def path(name: str) -> Path:
        if name == "digits":
            return DIGITS
        if name == "seeded":
            file = directory / "seeded.tflite"
            file.write_bytes(seeded_model())
            return file
        if name == "operators":
            file = directory / "operators.tflite"
            file.write_bytes(every_operator())
            return file
        return FILES[name]

    return path


def check_all(outcome: RunOutcome, count: int) -> None:
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert outcome.outputs.inferences == outcome.outputs.inspected == count
    assert len(outcome.outputs.layers) == len(outcome.build.engine.layers)
    produced = [sum(layer.output_bytes) for layer in outcome.build.engine.layers]
    for layer, nbytes in zip(outcome.outputs.layers, produced, strict=True):
        assert (layer.elements, layer.mismatched) == (nbytes * count, 0)
    assert outcome.outputs.reference["package"] == "tflite-micro"
    assert outcome.valid, outcome.evaluation.issues


@pytest.mark.parametrize(("name", "board"), whole_models())
def test_no_byte_differs(
    built: Callable[..., Build], model_path: Callable[[str], Path], tmp_path: Path, name: str, board: str
) -> None:
    check_all(run_inputs(built(model_path(name), board), tmp_path / "bundle", INPUTS), INPUTS)


@pytest.mark.parametrize(("name", "board", "kernels"), streaming_models())
def test_no_byte_of_a_streaming_model_differs_nor_of_its_state(
    built: Callable[..., Build], tmp_path: Path, name: str, board: str, kernels: str
) -> None:
    made = built(FILES[name], board, backend=kernels)
    outcome = run_inputs(made, tmp_path / "bundle", STREAMING_INPUTS)
    check_all(outcome, STREAMING_INPUTS)
    assert checked(outcome).states == sum(layer.op == "READ_VARIABLE" for layer in made.engine.layers) > 0


@pytest.mark.parametrize(
    ("board", "layer"), [*((BOARDS[0], layer) for layer in range(10)), *((BOARDS[1], layer) for layer in (0, 5, 9))]
)
def test_one_changed_byte_in_any_layer_is_found_and_named(
    measured: Callable[..., RunOutcome], board: str, layer: int
) -> None:
    outcome = measured(DIGITS, board, test_fault=f"corrupt@{layer}", iterations=1)
    assert outcome.outputs.match is False
    first = outcome.outputs.differing_layers[0]
    assert (first.layer, first.op) == (layer, outcome.build.engine.layers[layer].op)
    assert first.mismatched == 1
