"""What the plugin is told, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.board.descriptor import BoardType
from harness.core.errors import BoardDescriptorError
from harness.virtual import counters
from tests.counters import rig
from tests.counters.conftest import Probe


def _changed(board: BoardType, **emulator: object) -> BoardType:
    assert board.emulator is not None
    return board.model_copy(update={"emulator": board.emulator.model_copy(update=emulator)})


@pytest.mark.parametrize("name", rig.BOARDS)
def test_costs_are_dense_and_defaults_come_first(name: str, tmp_path: Path) -> None:
    words = counters.plugin_args(rig.board_type(name), tmp_path / "pages").split(",")
    costs = [word for word in words if word.startswith("cost.")]
    assert costs[0].startswith("cost.default=")
    assert next(word for word in words if word.startswith("fj.")).startswith("fj.default=")
    assert len(set(words)) == len(words)


def test_commas_in_paths_are_escaped() -> None:
    arguments = counters.plugin_args(rig.board_type("mps2_an386"), Path("/a,b/pages"))
    assert arguments.endswith("pages=/a,,b/pages")


def test_unknown_kind_is_refused_with_a_suggestion() -> None:
    board = rig.board_type("mps2_an386")
    assert board.emulator is not None
    table = board.emulator.cost_table.model_copy(update={"cycles": {"default": 1, "lod": 2}})
    with pytest.raises(BoardDescriptorError, match="'lod'") as caught:
        counters.plugin_args(_changed(board, cost_table=table), Path("/pages"))
    assert "load" in caught.value.why


def test_silicon_has_no_plugin() -> None:
    board = rig.board_type("mps2_an386").model_copy(update={"emulator": None})
    with pytest.raises(BoardDescriptorError):
        counters.plugin_args(board, Path("/pages"))
    assert counters.cost_table_version(board) is None
    assert counters.modelled_events(board) == ()


def test_reasons_of_unavailable_events() -> None:
    m4, m55 = rig.board_type("mps2_an386"), rig.board_type("mps3_an547")
    assert "no performance monitoring unit" in (counters.event_unavailable_reason(m4, 0x08) or "")
    assert counters.event_unavailable_reason(m55, 0x08) is None
    assert "exceptions" in (counters.event_unavailable_reason(m55, 0x09) or "")
    assert "not an event" in (counters.event_unavailable_reason(m55, 0x7777) or "")
    assert "no cache" in (counters.event_unavailable_reason(_changed(m55, cache=None), 0x03) or "")


def test_tables_have_versions() -> None:
    board = rig.board_type("mps3_an547")
    assert board.emulator is not None
    assert counters.cost_table_version(board) == f"mps3_an547/{board.emulator.cost_table.version}"
    assert counters.energy_table_version(board) is not None
    assert "not validated against silicon" in board.emulator.cost_table.basis


@pytest.mark.parametrize(
    "option", ["nonsense=1", "cost.lod=1", "cost.load=-1", "dwt=0x20000001", "access=5-4", "pmu_counters=32", "bus=0"]
)
def test_plugin_refuses_what_it_does_not_know(option: str, probe: Probe) -> None:
    with pytest.raises(AssertionError, match=f"this option cannot be used: {option}"):
        probe("mps2_an386", "mixed", options=option)


def test_missing_page_file_ends_the_emulator_with_a_message(probe: Probe, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the file of page addresses cannot be read"):
        probe("mps2_an386", "mixed", options=f"pages={tmp_path / 'nowhere'}")


def test_page_file_without_a_page_ends_the_emulator_with_a_message(probe: Probe, tmp_path: Path) -> None:
    (tmp_path / "part").write_text("dwt=0x1000\n")
    with pytest.raises(AssertionError, match="the file of page addresses lacks a page"):
        probe("mps2_an386", "mixed", options=f"pages={tmp_path / 'part'}")
