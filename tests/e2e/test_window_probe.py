"""The busy-loop probe and the pause before the window on emulated boards, from the settings to the bundle."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from harness.core.errors import SettingsError
from harness.plan.freeze import freeze
from harness.results.reader import read_bundle
from harness.results.recompute import check_recomputed
from harness.runner.run import RunOutcome
from tests.e2e.conftest import BOARDS, DIGITS


@pytest.mark.parametrize("board", BOARDS)
def test_probe_and_pause(measured: Callable[..., RunOutcome], board: str) -> None:
    settings = {"clean_window_probe": "busy_loop", "settle_ms": 2, "per_layer": False}
    first, second = (measured(DIGITS, board, **settings) for _ in range(2))
    own = read_bundle(first.bundle).harness
    probe = own["window_probe"]
    assert probe == read_bundle(second.bundle).harness["window_probe"], "the same loop takes the same time"
    assert probe["count"] == 3 and probe["least_ticks"] == probe["most_ticks"] == probe["ticks"] / 3
    assert 2 <= probe["ticks_per_round"] < 8
    assert 0 < probe["overhead_instructions"] < 1000
    assert 2 * 25_000 <= probe["settle_ticks"] < 2 * 25_000 + 500
    assert own["run"]["clean_window_probe"] == "busy_loop" and own["run"]["settle_ticks"] == probe["settle_ticks"]
    latency = json.loads((first.bundle / "summary.json").read_text())["latency"]
    assert latency["clean_workload"] == "busy_loop_v1"
    assert not [name for name in latency if name.startswith("device_clean_infer")], "a loop is no inference"
    assert "clean_window" not in own and own["unavailable"]["clean window"]
    assert check_recomputed(first.bundle) == 1
    assert first.outputs.match is True and not first.evaluation.issues


def test_settle_is_resolved_by_the_board_and_power_refuses_the_probe() -> None:
    assert freeze(DIGITS, board="mps2_an386").settings["settle-ms"] == 0
    assert freeze(DIGITS, board="nrf52840dk").settings["settle-ms"] == 100
    assert freeze(DIGITS, board="nrf52840dk", settle_ms=0).settings["settle-ms"] == 0
    with pytest.raises(SettingsError, match="power is to be measured too"):
        freeze(DIGITS, board="mps2_an386", power="ppk2", clean_window_probe="busy_loop")
