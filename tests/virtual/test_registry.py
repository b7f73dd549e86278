"""Registry entries count only while their emulator lives."""

from __future__ import annotations

import os
from pathlib import Path

from harness.virtual.registry import places, read_entry, reclaim, registered, try_lock, write_entry


def test_an_entry_counts_only_while_its_lock_is_held() -> None:
    where = places(77)
    write_entry(where, {"serial": "77", "region": ["code,0x0,0x1000,0x0", "ram,0x20000000,0x1000,0x0"]})
    assert where.entry.read_text().count("region=") == 2
    assert registered() == {}
    lock = try_lock(where.lock)
    assert lock is not None
    assert registered()[77]["serial"] == "77"
    os.close(lock)
    assert registered() == {}


def test_what_dead_boards_left_is_removed_and_live_boards_are_not_touched() -> None:
    dead, live = places(1), places(2)
    for where in (dead, live):
        where.directory.mkdir()
        (where.directory / "qmp").touch()
        write_entry(where, {"serial": str(where.serial)})
        where.lock.touch()
    lock = try_lock(live.lock)
    assert reclaim() == [1]
    assert not dead.directory.exists() and not dead.entry.exists()
    assert live.directory.exists() and live.entry.exists()
    assert lock is not None
    os.close(lock)
    assert reclaim() == [2]
    assert reclaim() == []


def test_foreign_files_are_passed_over(runtime: Path) -> None:
    places(1)
    (runtime / "registry" / "notes.board").write_text("serial=1\n")
    (runtime / "boards" / "notes.lock").touch()
    assert registered() == {} and reclaim() == []


def test_a_missing_entry_reads_as_empty(tmp_path: Path) -> None:
    assert read_entry(tmp_path / "none") == {}
