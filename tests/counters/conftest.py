"""Programs are compiled and run once a module and board; tests look at what they printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.counters import rig

Probe = Callable[..., rig.Run]


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """Compiles a program for a board, runs it with the plugin, returns what it printed and what was counted."""

    def run(name: str, program: str, *, options: str = "") -> rig.Run:
        board = rig.board_type(name)
        return rig.run(board, rig.build(board, program, tmp_path), options=options)

    return run
