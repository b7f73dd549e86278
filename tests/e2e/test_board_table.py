"""The table of emulated boards: the digits suite on every type, over every transport it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness.board.descriptor import board_types
from harness.judge.compare import compare
from harness.judge.profile_file import load_profile
from harness.runner.run import RunOutcome
from tests.campaigns.determinism import raw_samples
from tests.e2e.conftest import DIGITS

IMAGES = 40
NOTICED_PCT = 2.0
TYPES = {name: board for name, board in board_types().items() if board.source == "emulated"}
ROWS = [(name, transport) for name, board in TYPES.items() for transport in board.transports]
HELD_OUT = np.load(DIGITS.with_name("held_out.npz"))
PROFILE = DIGITS.with_name("latency.yml")

Measured = Callable[..., RunOutcome]


def digits(measured: Measured, board: str, **settings: Any) -> RunOutcome:
    inputs = [(image.tobytes(),) for image in HELD_OUT["images"][:IMAGES]]
    return measured(DIGITS, board, inputs=inputs, inspect=2, **settings)


def test_every_emulated_type_is_in_the_table() -> None:
    assert {"mps2_an386", "mps2_an500", "mps2_an505", "mps3_an547", "stm32f405"} == {name for name, _ in ROWS}
    assert {(name, "rtt") for name in TYPES} <= set(ROWS)


@pytest.mark.parametrize(("board", "transport"), ROWS)
def test_digits_are_right_and_repeat(measured: Measured, board: str, transport: str) -> None:
    first, second = (digits(measured, board, transport=transport) for _ in range(2))
    for outcome in (first, second):
        assert outcome.outputs.match is True, outcome.outputs.explain()
        assert outcome.outputs.inspected == 2 and len(outcome.outputs.layers) == 10
        assert outcome.valid, outcome.evaluation.issues
        scores = outcome.output_array().reshape(IMAGES, -1)
        assert np.mean(scores.argmax(axis=1) == HELD_OUT["labels"][:IMAGES]) >= 0.95
    assert first.clean_cycles is not None and first.clean_cycles > 100_000
    assert raw_samples(first.capture) == raw_samples(second.capture)
    judged = compare(first.bundle, second.bundle, load_profile(PROFILE))
    assert judged and judged.status == "pass", judged.explain()


@pytest.mark.parametrize("board", TYPES)
def test_slower_kernels_are_a_regression(measured: Measured, board: str) -> None:
    usual = digits(measured, board)
    slower = digits(measured, board, engine_config={"kernels": "naive"})
    judged = compare(usual.bundle, slower.bundle, load_profile(PROFILE))
    assert judged.status == "fail"
    # Constants move with the code before them, which the small cache of one chip's flash notices a little.
    assert {layer.op for layer in judged.changed_layers if abs(layer.delta_pct or 0.0) > NOTICED_PCT} == {"CONV_2D"}


@pytest.mark.parametrize("board", [name for name in TYPES if name not in ("mps2_an386", "mps3_an547")])
@pytest.mark.parametrize("settings", [{"backend": "cmsis-nn"}, {"toolchain": "llvm"}], ids=["cmsis-nn", "llvm"])
def test_other_kernels_and_compilers_give_the_same_bytes(
    measured: Measured, board: str, settings: dict[str, Any]
) -> None:
    """The two first boards have suites of their own for both."""
    outcome = digits(measured, board, **settings)
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert all(layer.elements > 0 and layer.mismatched == 0 for layer in outcome.outputs.layers)
    assert outcome.valid
