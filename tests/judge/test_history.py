"""The index of many runs: nothing lost, nothing twice, whoever writes, compacts or is killed; trends and outliers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cli._main import run_cli
from harness.core.errors import EvidenceError, UsageError
from harness.judge.history_index import COLUMNS, HistoryIndex, bundles_below, rows_of
from harness.judge.trends import change_points, outliers
from harness.results.bundle import publish
from harness.results.reader import read_bundle
from tests.results.builders import make_bundle, make_capture, make_context, make_run

ROOT = Path(__file__).resolve().parents[2]


def row(number: int, value: float = 1.0, **more: Any) -> dict[str, Any]:
    stamp = f"2026-01-01T00:00:{number:06}Z"
    return {"run_id": str(number), "bundle": f"b{number}", "timestamp": stamp, "metric": "m", "value": value, **more}


def count(index: HistoryIndex) -> tuple[int, int]:
    return index.query("SELECT count(*), count(DISTINCT run_id) FROM runs")[0]  # type: ignore[return-value]


def test_bundles_are_indexed_once_and_failed_ones_not_at_all(tmp_path: Path) -> None:
    make_bundle(tmp_path / "runs/a")
    make_bundle(tmp_path / "runs/b", context=make_context(bench={"serial": 7}))
    make_bundle(tmp_path / "runs/invalid", make_capture(overflow_layer=0))
    broken = make_bundle(tmp_path / "runs/broken")
    (broken / "summary.json").write_text("{}")
    index = HistoryIndex(tmp_path / "index")
    assert count(index) == (0, 0)
    added, refused = index.index(bundles_below(tmp_path / "runs"))
    assert added == 2 and len(refused) == 2
    assert index.index(bundles_below(tmp_path / "runs"))[0] == 0
    run = read_bundle(tmp_path / "runs/b")
    stored = dict(index.query("SELECT metric, value FROM runs WHERE serial = '7'"))
    assert stored == {item["metric"]: item["value"] for item in rows_of(run)}
    assert "layer[0].cycles" in stored and "clean.us" in stored


def test_every_row_is_seen_once_before_during_and_after_compactions(tmp_path: Path) -> None:
    index = HistoryIndex(tmp_path)
    for number in range(24):
        index.append([row(number)])
        if number % 2:
            assert index.compact()
            assert count(index) == (number + 1, number + 1)
    assert not list((tmp_path / "parts").iterdir())
    assert len(list((tmp_path / "merged").iterdir())) <= 17


def test_a_compaction_killed_at_any_point_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harness.judge.history_index as module

    index = HistoryIndex(tmp_path)
    for number in range(5):
        index.append([row(number)])
    real, unlink = module.atomic_write, Path.unlink

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "atomic_write", killed)
    with pytest.raises(KeyboardInterrupt):
        index.compact()
    assert count(index) == (5, 5)
    monkeypatch.setattr(module, "atomic_write", real)
    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        index.compact()
    monkeypatch.setattr(Path, "unlink", unlink)
    assert count(index) == (5, 5)
    index.append([row(5)])
    assert count(index) == (6, 6)
    assert index.compact() and count(index) == (6, 6)
    assert not list((tmp_path / "parts").iterdir())


def test_a_batch_that_was_cut_short_is_not_there(tmp_path: Path) -> None:
    index = HistoryIndex(tmp_path)
    index.append([row(1), row(2)])
    (part,) = (tmp_path / "parts").iterdir()
    whole = part.read_bytes()
    index.append([row(3), row(4)])
    both = part.read_bytes()
    for end in (len(whole) + 5, both.index(b"\n", len(whole)) + 1, len(both) - 1):
        part.write_bytes(both[:end])
        assert count(index) == (2, 2)
    assert index.compact() and count(index) == (2, 2)


def test_a_file_that_its_process_may_still_add_to_is_left_alone(tmp_path: Path) -> None:
    first, second = HistoryIndex(tmp_path), HistoryIndex(tmp_path)
    first.append([row(1)])
    assert second.compact() and count(second) == (1, 1)
    first.append([row(2)])
    assert len(list((tmp_path / "parts").iterdir())) == 1 and count(second) == (2, 2)
    del first
    assert second.compact() and count(second) == (2, 2)
    assert not list((tmp_path / "parts").iterdir())


def test_what_a_full_disk_refused_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = HistoryIndex(tmp_path)
    index.append([row(1)])
    real = os.write

    def full(fd: int, data: bytes) -> int:
        real(fd, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        index.append([row(2)])
    monkeypatch.setattr(os, "write", real)
    index.append([row(3)])
    assert count(index) == (2, 2)


def test_large_files_are_closed_and_small_merged_ones_taken_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harness.judge.history_parts as parts

    monkeypatch.setattr(parts, "ROTATE_BYTES", 1)
    index = HistoryIndex(tmp_path)
    for number in range(40):
        index.append([row(number)])
    assert not list((tmp_path / "parts").iterdir())
    assert count(index) == (40, 40) and len(list((tmp_path / "merged").iterdir())) <= 17


def test_processes_append_and_are_killed_while_others_compact(tmp_path: Path) -> None:
    code = (
        "import sys; from harness.judge.history_index import HistoryIndex\n"
        "index = HistoryIndex(sys.argv[1])\n"
        "for number in range(10**6):\n"
        "    name = f'{sys.argv[2]}-{number}'\n"
        "    index.append([{'run_id': name, 'metric': 'm', 'value': 1.0}])\n"
        "    print(name, flush=True)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(n)], stdout=subprocess.PIPE, cwd=ROOT)
        for n in range(2)
    ]
    told: list[bytes] = []
    index = HistoryIndex(tmp_path)
    for writer in writers:
        assert writer.stdout is not None
        told += [writer.stdout.readline() for _ in range(100)]
        index.compact(wait=False)
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.read().splitlines()
        writer.wait()
    index.compact()
    rows, distinct = count(index)
    assert rows == distinct
    stored = {name for (name,) in index.query("SELECT run_id FROM runs")}
    assert {name.decode().strip() for name in told if name.strip()} <= stored


def test_queries_that_are_wrong_say_so(tmp_path: Path) -> None:
    index = HistoryIndex(tmp_path)
    index.append([row(1)])
    with pytest.raises(UsageError, match="cannot be answered") as caught:
        index.query("SELECT nothing FROM nowhere")
    assert "timestamp" in caught.value.todo
    assert set(COLUMNS) >= set(row(1))


def test_change_points_are_found_where_they_are() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(100, 1, 60), rng.normal(103, 1, 40), rng.normal(99, 1, 50)])
    first, second = change_points(values.tolist())
    assert abs(first.index - 60) <= 2 and abs(second.index - 100) <= 2
    assert (
        first.p <= 0.01 and first.before == pytest.approx(100, abs=0.5) and first.after == pytest.approx(103, abs=0.5)
    )
    assert change_points(values.tolist(), cuts=[60, 100]) == ()
    bump = np.concatenate([rng.normal(100, 1, 90), rng.normal(103, 1, 20), rng.normal(100, 1, 90)])
    up, down = change_points(bump.tolist())
    assert abs(up.index - 90) <= 3 and abs(down.index - 110) <= 3, "a rise that went away again"
    assert change_points([5.0] * 100) == () and change_points([1.0, 2.0]) == ()
    exact = change_points([5.0] * 10 + [6.0] * 10)
    assert [(point.index, point.before, point.after) for point in exact] == [(10, 5.0, 6.0)]


def test_flat_histories_are_quiet() -> None:
    rng = np.random.default_rng(3)
    assert sum(bool(change_points(rng.standard_t(3, 100).tolist(), seed=n)) for n in range(60)) <= 4


def test_outliers_among_boards() -> None:
    group = {f"b{n}": 100.0 + 0.1 * n for n in range(6)}
    (found,) = outliers({**group, "odd": 110.0})
    assert (found.name, found.gates) == ("odd", True) and found.z > 4
    assert outliers(group) == () and outliers({}) == ()
    assert outliers({**group, "near": 100.9}) == (), "below the effect floor"
    (small,) = outliers({"a": 1.0, "b": 1.0, "c": 9.0})
    assert not small.gates
    assert outliers({f"b{n}": 100.0 for n in range(6)} | {"odd": 100.5}) == ()
    assert outliers({f"b{n}": 0.0 for n in range(6)} | {"odd": 1.0})[0].gates


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "index")
    for number in range(12):
        cycles = (5000, 3000, 2500, 2000, 500) if number < 6 else (6000, 3000, 2500, 2000, 500)
        stamp = f"2026-01-01T00:00:{number:02}.000Z"
        content = make_run(make_capture(cycles), run_id=f"run-{number}").content
        publish(tmp_path / f"runs/{number:02}", replace(content, timestamp=stamp))
    assert run_cli(["history", "index", str(tmp_path / "runs"), "--index", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == 12
    assert run_cli(["history", "trend", "total_cycles", "--index", place, "--json"]) == 0
    (history,) = json.loads(capsys.readouterr().out)["histories"]
    (change,) = history["changes"]
    assert (change["before"], change["after"]) == (13000, 14000)
    assert change["timestamp"].startswith("2026-01-01T00:00:06")
    assert run_cli(["history", "trend", "total_cycles", "--index", place]) == 0
    assert run_cli(["history", "outliers", "total_cycles", "--index", place]) == 0
    capsys.readouterr()
    assert run_cli(["sql", "SELECT count(DISTINCT bundle) AS n FROM runs", "--index", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": ["n"], "rows": [[12]]}
    assert run_cli(["sql", "SELEC", "--index", place]) == 2
    assert run_cli(["history", "index", str(tmp_path / "none"), "--index", place]) == 2
    capsys.readouterr()
    for kind in ("trend", "outliers"):
        assert run_cli(["history", kind, "total_cycle", "--index", place]) == 2
        assert "Did you mean 'total_cycles'?" in capsys.readouterr().err


def filled(path: Path) -> HistoryIndex:
    index = HistoryIndex(path)
    index.append([row(1), row(2)])
    assert index.compact()
    return index


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"merged": 5, "absorbed": []}', '{"merged": [5], "absorbed": []}',
     '{"merged": [], "absorbed": [[1]]}', '{"merged": "abc", "absorbed": []}', '{"merged": [".."], "absorbed": []}',
     '{"merged": [], "absorbed": ["../../victim.ndjson"]}', '{"merged": ["/etc/x.parquet"], "absorbed": []}'],
)  # fmt: skip
def test_a_damaged_list_of_files_is_told_and_touches_nothing_outside(tmp_path: Path, text: str) -> None:
    index = filled(tmp_path / "index")
    victim = tmp_path / "victim.ndjson"
    victim.write_text("mine")
    (index.path / "current.json").write_text(text)
    for ask in (lambda: count(index), index.compact):
        with pytest.raises(EvidenceError, match=r"current\.json is broken"):
            ask()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("data", [b"{nonsense\n\n", b'{"value": "x"}\n\n', b"\xff\xfe\n\n"])
def test_a_damaged_part_is_named_and_no_query_is_blamed(tmp_path: Path, data: bytes) -> None:
    index = filled(tmp_path / "index")
    part = index.path / "parts/1-1-a.ndjson"
    part.write_bytes(data)
    for ask in (lambda: index.query("SELECT * FROM runs"), index.compact):
        with pytest.raises(EvidenceError, match=r"1-1-a\.ndjson is damaged"):
            ask()
    assert not list((index.path / "merged").glob(".*"))
    index.append([row(3)])
    part.unlink()
    assert count(index) == (3, 3)


def test_a_damaged_or_missing_merged_file_is_named(tmp_path: Path) -> None:
    index = filled(tmp_path)
    [merged] = (tmp_path / "merged").iterdir()
    merged.write_bytes(b"junk")
    with pytest.raises(EvidenceError, match=f"{merged.name} is damaged"):
        count(index)
    merged.unlink()
    with pytest.raises(EvidenceError) as caught:
        count(index)
    assert f"{merged.name} is missing" in str(caught.value)


def test_a_query_for_what_is_not_there_is_the_querys_fault(tmp_path: Path) -> None:
    index = filled(tmp_path)
    for sql in ("SELECT * FROM 'nothing.csv'", "COPY runs TO '/nonexistent/x'"):
        with pytest.raises(UsageError, match="cannot be answered"):
            index.query(sql)


def test_text_that_utf8_cannot_hold_spoils_nothing(tmp_path: Path) -> None:
    odd = make_bundle(tmp_path / os.fsdecode(b"runs/\xff"))
    index = HistoryIndex(tmp_path / "index")
    assert index.index([odd]) == (1, []) and index.index([odd]) == (0, [])
    index.append([row(1, board="\ud800")])
    assert index.compact()
    assert index.query("SELECT board FROM runs WHERE run_id = '1'") == [("\\ud800",)]


def test_what_a_killed_compaction_left_is_removed_by_the_next(tmp_path: Path) -> None:
    index = filled(tmp_path)
    (tmp_path / "merged/.1-a.parquet").write_bytes(b"half")
    index.append([row(3)])
    assert index.compact() and count(index) == (3, 3)
    assert not (tmp_path / "merged/.1-a.parquet").exists()


@pytest.mark.parametrize("command", [["sql", "SELECT 1"], ["history", "trend", "m"], ["history", "outliers", "m"],
                                     ["history", "compact"]])  # fmt: skip
def test_a_history_that_is_not_there_is_an_error_not_an_empty_answer(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([*command, "--index", str(tmp_path / "none")]) == 2
    assert "There is no history" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
