"""Programs are linked and run once a session for each board and set of options; tests look at what they printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.counters import rig

Probe = Callable[..., rig.Run]


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """Runs a program of firmware/ on a board with the plugin; returns what it printed and what was counted."""

    @cache
    def run(name: str, program: str, *, options: str = "") -> rig.Run:
        board = rig.board_type(name)
        return rig.run(board, rig.build(board, program, tmp_path_factory.mktemp(program)), options=options)

    return run
