"""Raw samples do not depend on when the host speaks or on what else the machine does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.image.record import Build
from tests.campaigns.determinism import differing_runs
from tests.e2e.conftest import BOARDS, DIGITS

RUNS = 20
LONGEST_DELAY_SECONDS = 0.05
"""The campaign of the same name delays by up to half a second."""


@pytest.mark.parametrize("board", BOARDS)
def test_raw_samples_are_identical(built: Callable[..., Build], board: str) -> None:
    assert differing_runs(built(DIGITS, board, iterations=3), RUNS, LONGEST_DELAY_SECONDS) == 0
