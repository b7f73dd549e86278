"""Fixtures, from small to whole: plan, image, board, flashed_board, capture, power, run, baseline, verdict."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from harness.bench.provider import BoardLease
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.plan.record import Plan
    from harness.pytest_plugin.verdicts import JudgedPair
    from harness.results.power import PowerEvidence
    from harness.runner.board import FlashedBoard
    from harness.runner.run import RunOutcome


@pytest.fixture
def hil_board_type(request: pytest.FixtureRequest) -> str:
    """Name of the board type this test runs on; skips (or fails under `--hil-strict`) when the bench has none."""
    from harness.pytest_plugin import session

    return session.board_type(request)


@pytest.fixture
def hil_inputs(request: pytest.FixtureRequest) -> Any:
    """Inputs to run through the model for its outputs; override it in a test module.

    One array of shape (N, *input shape), or a sequence of N tuples with one array, bytes or `Path` per model input. By
    default those that the marker names as `inputs` or `input_seed`, on which windows and passes run, too. Without any,
    the one inference that is checked uses zero bytes.
    """
    from harness.pytest_plugin import session

    return session.marked_inputs(request)


@pytest.fixture
def hil_expected(request: pytest.FixtureRequest) -> Any:
    """Outputs to compare with in place of the host reference, given as inputs are; override it in a test module.

    By default the files that the marker names as `expected`, else None: the host reference.
    """
    from harness.pytest_plugin import session

    return session.marked_expected(request)


@pytest.fixture
def plan(request: pytest.FixtureRequest, hil_board_type: str) -> Plan:
    """The frozen plan of this test on this board type."""
    from harness.pytest_plugin import session

    return session.freeze_plan(request, hil_board_type)


@pytest.fixture
def image(request: pytest.FixtureRequest, plan: Plan) -> Build:
    """The firmware image of the plan."""
    from harness.pytest_plugin import session

    return session.build_image(request, plan)


@pytest.fixture
def board(request: pytest.FixtureRequest, image: Build) -> Generator[BoardLease, None, None]:
    """A leased board of the image's type; released, halted, when the test ends in whatever way."""
    from harness.pytest_plugin import session

    with session.leased_board(request, image) as lease:
        yield lease


@pytest.fixture
def flashed_board(request: pytest.FixtureRequest, board: BoardLease, image: Build) -> FlashedBoard:
    """The leased board with the image in it, identified, read back and halted."""
    from harness.pytest_plugin import session

    return session.flashed(request, board, image)


@pytest.fixture
def capture(request: pytest.FixtureRequest, flashed_board: FlashedBoard, hil_inputs: Any) -> Capture:
    """Everything one boot of the image said, decoded and checked; no bundle."""
    from harness.pytest_plugin import session

    return session.capture_boot(request, flashed_board, hil_inputs)


@pytest.fixture
def run(
    request: pytest.FixtureRequest, board: BoardLease, image: Build, hil_inputs: Any, hil_expected: Any
) -> RunOutcome:
    """One measured run with a published bundle."""
    from harness.pytest_plugin import session

    return session.measured_run(request, board, image, hil_inputs, hil_expected)


@pytest.fixture
def power(request: pytest.FixtureRequest, run: RunOutcome) -> PowerEvidence:
    """Energy of the test's run; the marker, or `--hil-power`, says which monitor measures it."""
    from harness.pytest_plugin import session

    return session.measured_power(request, run)


@pytest.fixture
def baseline(
    request: pytest.FixtureRequest, board: BoardLease, image: Build, hil_inputs: Any, hil_expected: Any
) -> Path:
    """The bundle to compare with: the one `--hil-baseline` names, else a second boot on the same board.

    The second boot uses the marker's `baseline` settings when there are any.
    """
    from harness.pytest_plugin import session

    return session.baseline_bundle(request, board, image, hil_inputs, hil_expected)


@pytest.fixture
def verdict(request: pytest.FixtureRequest, run: RunOutcome) -> Callable[..., JudgedPair]:
    """`verdict(profile=PATH)`: what a comparison profile says of this run against the baseline.

    The answer is true when something was judged and nothing failed, and explains itself when false.
    """
    from harness.pytest_plugin import session

    return session.judge_with(request, run)
