"""Adding single rows from several processes and reading a trend, beside SQLite in one run.

    python benchmarks/history.py [--rows 20000] [--writers 4] [--repeat 3] [--json]

Both keep the same rows: SQLite in one file with a write-ahead log and an index over metric and board, one transaction a
row. Goal: adding, compacting and one trend together take at most as long as SQLite's adding and the same trend.
`scripts/campaign histories` shows the sizes and times that are promised.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.judge.history_index import COLUMNS, HistoryIndex  # noqa: E402

OURS = """
import sys
from harness.judge.history_index import HistoryIndex
index = HistoryIndex(sys.argv[1])
def add(row):
    index.append([row])
"""
PEER = """
import sqlite3, sys
link = sqlite3.connect(sys.argv[1] + "/history.db", timeout=60, isolation_level=None)
def add(row):
    names = ", ".join(row)
    link.execute(f"INSERT INTO runs ({names}) VALUES (?, ?, ?, ?, ?)", list(row.values()))
"""
LOOP = """
import random
name = sys.argv[2]
for number in range(int(sys.argv[3])):
    add({"run_id": f"{name}-{number}", "timestamp": f"2026-01-01T00:00:{number:06}Z", "board": "b" + name,
         "metric": "clean.us", "value": random.gauss(100, 1)})
"""
TREND = "SELECT value FROM runs WHERE metric = 'clean.us' AND board = 'b1' ORDER BY timestamp"


def written(code: str, place: str, rows: int, writers: int) -> float:
    """Seconds in which so many processes add so many rows."""
    start = time.perf_counter()
    running = [
        subprocess.Popen([sys.executable, "-c", code + LOOP, place, str(n), str(rows // writers)], cwd=ROOT)
        for n in range(writers)
    ]
    if max([process.wait() for process in running]):
        raise RuntimeError("a writer failed")
    return time.perf_counter() - start


def measure(rows: int, writers: int) -> dict[str, float]:
    """Seconds of one round of each."""
    expected = rows // writers
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as peer:
        with sqlite3.connect(f"{peer}/history.db") as link:
            link.execute("PRAGMA journal_mode = WAL")
            link.execute(f"CREATE TABLE runs ({', '.join(COLUMNS)})")
            link.execute("CREATE INDEX by_metric ON runs (metric, board, timestamp)")
        out = {"append": written(OURS, ours, rows, writers), "SQLite append": written(PEER, peer, rows, writers)}
        start = time.perf_counter()
        index = HistoryIndex(ours)
        index.compact()
        assert len(index.query(TREND)) == expected
        out["compact and trend"] = time.perf_counter() - start
        start = time.perf_counter()
        with sqlite3.connect(f"{peer}/history.db") as link:
            assert len(link.execute(TREND).fetchall()) == expected
        out["SQLite trend"] = time.perf_counter() - start
    return out


def main() -> int:
    """Print medians and the ratio; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    rounds = [measure(settings.rows, settings.writers) for _ in range(settings.repeat)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    ours, peer = (
        sum(medians[name] for name in names)
        for names in (("append", "compact and trend"), ("SQLite append", "SQLite trend"))
    )
    goals = {"ours / SQLite": (ours / peer, 1.0)}
    met = {name: value <= goal for name, (value, goal) in goals.items()}
    if settings.json:
        print(json.dumps({"seconds": medians, "goals": {name: [*goals[name], met[name]] for name in goals}}))
    else:
        for name, value in medians.items():
            print(f"{name:<24}{value:10.3f} s")
        for name, (value, goal) in goals.items():
            print(f"{name:<24}{value:10.3f}    goal <= {goal:g}: {'met' if met[name] else 'MISSED'}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
