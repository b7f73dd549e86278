"""Counts against sequences whose counts are known by construction."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.core.proc import end_guarded, spawn_guarded
from tests.counters.conftest import Probe
from tests.counters.rig import BOARDS, board_type, build, run

# Each body ends in the `bx lr` of the empty one it is compared with; pop {pc} stands for it where the body calls.
EXPECTED = {
    "nops": {"instructions": 10, "loads": 0, "stores": 0, "branches": 0},
    "loop": {"instructions": 201, "branches": 100},
    "compare": {"instructions": 1 + 5 + 5 + 4, "branches": 5 + 4},
    "passed": {"instructions": 6, "loads": 2, "stores": 1},
    "failed": {"instructions": 6, "loads": 1, "stores": 0},
    "calls": {"instructions": 5, "loads": 1, "stores": 1, "branches": 5 - 1},
    "lists": {"instructions": 5, "loads": 4, "stores": 2},
    "early": {"instructions": 3, "branches": 0},
    "late": {"instructions": 5, "branches": 1},
}


@pytest.mark.parametrize("name", BOARDS)
def test_known_sequences(name: str, probe: Probe) -> None:
    values = probe(name, "sequences").values
    for body, counts in EXPECTED.items():
        found = {counter: values[f"{body}.{counter}"] for counter in counts}
        assert found == counts, body


def test_taken_and_not_taken_branches_cost_what_the_table_says(probe: Probe) -> None:
    values = probe("mps2_an386", "sequences").values
    # subs 1; bne 1 and 2 more for each of 99 taken; mov 1
    assert values["loop.cycles"] == 1 + 100 + 100 + 2 * 99
    # movs 1; subs 5; cbz 5 of which one taken; b 4 of three cycles
    assert values["compare.cycles"] == 1 + 5 + 5 + 2 + 4 * 3


def test_energy_is_per_instruction_and_per_cycle(probe: Probe) -> None:
    emulator = board_type("mps2_an386").emulator
    assert emulator is not None and emulator.energy is not None
    fj = emulator.energy.fj
    assert probe("mps2_an386", "sequences").values["nops.energy"] == 10 * (fj["default"] + fj["cycle"])


def test_vector_instructions(probe: Probe) -> None:
    vectors = probe("mps3_an547", "vectors")
    values = vectors.values
    assert (values["copy.mve"], values["copy.loads"], values["copy.stores"]) == (2, 2, 1)
    # three trips of two vector instructions and one loop end
    assert (values["tail.mve"], values["tail.branches"]) == (6, 3)
    assert values["mixed.mve"] == 7
    assert values["mixed.branches"] == 0
    assert values["mixed.stores"] == 0
    assert vectors.summary["executed.loop_end"] >= 3


@pytest.mark.parametrize("name", BOARDS)
def test_instructions_of_conditional_blocks_across_translation_blocks(name: str, probe: Probe) -> None:
    # The IT block straddles a page, where the emulator begins a new piece of translated code in its middle.
    values = probe(name, "straddle").values
    assert values["straddle.instructions"] == 4 + 4
    assert values["straddle.loads"] == 1


@pytest.mark.parametrize("name", BOARDS)
def test_runs_are_identical_on_a_loaded_machine(name: str, probe: Probe, tmp_path: Path) -> None:
    quiet = probe(name, "sequences")
    board = board_type(name)
    elf = build(board, "sequences", tmp_path)
    busy = [spawn_guarded([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        loaded = [run(board, elf) for _ in range(2)]
    finally:
        for process in busy:
            end_guarded(process)
    assert all(again.output == quiet.output and again.summary == quiet.summary for again in loaded)
