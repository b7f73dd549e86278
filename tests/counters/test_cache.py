"""The cache model against walks whose misses follow from arithmetic."""

from __future__ import annotations

import pytest

from tests.counters.conftest import Probe
from tests.counters.rig import BOARDS, board_type

SIZE, LINE, WAYS = 4096, 32, 4
SETS = SIZE // LINE // WAYS
AREA_BELOW_PAGES = 0x1C000
AREA_BYTES = 0x10000

# Accesses and misses of each walk, from an empty cache.
WALKS = {
    "sequential": (1024, 1024 * 4 // LINE),
    "fits": (10 * SIZE // LINE, SIZE // LINE),  # loaded once, then all hits
    "too_big": (10 * 160, 10 * 160),  # five lines a set: the one needed next is always the oldest
    "one_set_fits": (100 * WAYS, WAYS),
    "one_set_thrashes": (100 * (WAYS + 1), 100 * (WAYS + 1)),
    "bytes": (64, 64 // LINE),
    "writes": (10 * 160, 10 * 160),
}


def _only_the_area_cached(name: str) -> str:
    emulator = board_type(name).emulator
    assert emulator is not None
    area = emulator.pages.dwt - AREA_BELOW_PAGES
    rest = [(0x0, 0x1FFF_FFFF), (0x2100_0000, 0x2FFF_FFFF)]
    tcm = "".join(f",tcm={first:#x}-{last:#x}" for first, last in rest)
    return f"cache={SIZE}:{LINE}:{WAYS}{tcm},cacheable={area:#x}-{area + AREA_BYTES - 1:#x}"


@pytest.mark.parametrize("name", BOARDS)
def test_misses_follow_from_arithmetic(name: str, probe: Probe) -> None:
    run = probe(name, "walks", options=_only_the_area_cached(name))
    found = {walk: (run.values[walk] & 0xFFFF_FFFF, run.values[walk] >> 32) for walk in WALKS}
    assert found == WALKS
    assert run.values["warm"] == 0
    assert run.values["emptied"] == SIZE // LINE


@pytest.mark.parametrize("name", BOARDS)
def test_misses_cost_cycles_and_energy(name: str, probe: Probe) -> None:
    emulator = board_type(name).emulator
    assert emulator is not None and emulator.energy is not None
    cached = _only_the_area_cached(name)
    with_cost = probe(name, "walks", options=cached).summary
    free = probe(name, "walks", options=f"{cached},cost.miss=0,fj.miss=0").summary
    misses = with_cost["cache_misses"]
    assert emulator.cache is not None
    cycles = misses * emulator.cache.miss_cycles
    assert with_cost["cycles"] - free["cycles"] == cycles
    fj = emulator.energy.fj
    assert with_cost["energy"] - free["energy"] == misses * fj["miss"] + cycles * fj["cycle"]


def test_only_what_was_written_is_written_back(probe: Probe) -> None:
    summary = probe("mps2_an386", "walks", options=_only_the_area_cached("mps2_an386")).summary
    # Two fills of 1600 lines. Emptying the cache between them drops the lines it holds; the walk after them evicts all.
    assert summary["cache_write_backs"] == 2 * 1600 - SIZE // LINE


@pytest.mark.parametrize("geometry", ["4096:24:4", "4096:32:3", "0:32:4", "4096:32"])
def test_impossible_geometries_are_refused(geometry: str, probe: Probe) -> None:
    with pytest.raises(AssertionError, match=f"this option cannot be used: cache={geometry}"):
        probe("mps2_an386", "walks", options=f"cache={geometry}")
