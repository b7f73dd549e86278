"""The pytest plugin: inert until a test carries the `hil` marker or asks for one of its fixtures.

Only pytest and the standard library are imported here; everything else waits for the first run.
"""

from __future__ import annotations

from harness.pytest_plugin.fixtures import (
    baseline,
    board,
    capture,
    flashed_board,
    hil_board_type,
    hil_expected,
    hil_inputs,
    image,
    plan,
    power,
    run,
    verdict,
)
from harness.pytest_plugin.hooks import (
    pytest_addoption,
    pytest_configure,
    pytest_generate_tests,
    pytest_runtest_call,
    pytest_runtest_makereport,
)

__all__ = [
    "baseline",
    "board",
    "capture",
    "flashed_board",
    "hil_board_type",
    "hil_expected",
    "hil_inputs",
    "image",
    "plan",
    "power",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "run",
    "verdict",
]
