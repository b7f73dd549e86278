"""Flat histories, and the speed and safety of the index.

python -m tests.campaigns histories [flat|index|appends|all] [SEED]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from harness.judge.history_index import HistoryIndex, bundles_below
from harness.judge.trends import change_points

ROOT = Path(__file__).resolve().parents[2]
_WRITER = """
import sys
from harness.judge.history_index import HistoryIndex
index = HistoryIndex(sys.argv[1])
for number in range(int(sys.argv[3])):
    stamp = f"2026-01-01T00:00:{number:06}Z"
    name = f"{sys.argv[2]}-{number}"
    index.append([{"run_id": name, "timestamp": stamp, "board": "b" + sys.argv[2], "metric": "clean.us", "value": 1.0}])
"""


def flat(seed: int, histories: int = 1000, runs: int = 200) -> bool:
    """At most 2 % of histories without a change may show one."""
    rng = np.random.default_rng(seed)
    found = 0
    for number in range(histories):
        values = rng.normal(100, 1, runs) if number % 2 else 100 + rng.standard_t(3, runs)
        found += bool(change_points(values.tolist(), seed=number))
    print(f"flat, seed {seed}: change points in {found} of {histories} histories of {runs} runs", flush=True)
    return found <= 0.02 * histories


def index(bundles: int = 10_000) -> bool:
    """So many bundles are indexed in under a minute."""
    from tests.results.builders import make_bundle

    with tempfile.TemporaryDirectory(prefix="hil-index-") as name:
        root = Path(name)
        for number in range(bundles):
            make_bundle(root / f"runs/{number // 100:03}/{number:05}")
        start = time.monotonic()
        added, refused = HistoryIndex(root / "index").index(bundles_below(root / "runs"))
        seconds = time.monotonic() - start
    print(f"index: {added} bundles in {seconds:.1f} s (limit 60 s), {len(refused)} refused", flush=True)
    return added == bundles and seconds < 60


def appends(count: int = 100_000, writers: int = 8) -> bool:
    """So many single appends lose nothing, and a trend is read in under a second, compaction included."""
    with tempfile.TemporaryDirectory(prefix="hil-appends-") as name:
        start = time.monotonic()
        running = [
            subprocess.Popen([sys.executable, "-c", _WRITER, name, str(n), str(count // writers)], cwd=ROOT)
            for n in range(writers)
        ]
        try:
            failed = [process.wait() for process in running if process.wait()]
        finally:
            for process in running:
                process.kill()
        written = time.monotonic() - start
        history = HistoryIndex(name)
        start = time.monotonic()
        history.compact()
        rows = history.query("SELECT value FROM runs WHERE metric = 'clean.us' AND board = 'b3' ORDER BY timestamp")
        seconds = time.monotonic() - start
        total = history.query("SELECT count(*), count(DISTINCT run_id) FROM runs")[0]
    print(f"appends: {total} rows of {count} in {written:.0f} s; compaction and trend of {len(rows)} runs in "
          f"{seconds:.2f} s (limit 1 s)", flush=True)  # fmt: skip
    return not failed and total == (count, count) and seconds < 1


def main(arguments: list[str]) -> int:
    """Returns 0 when every limit holds."""
    part = arguments[0] if arguments else "all"
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    good = True
    if part in ("flat", "all"):
        good &= flat(seed)
    if part in ("index", "all"):
        good &= index()
    if part in ("appends", "all"):
        good &= appends()
    return 0 if good else 1
