"""Flat histories, and the speed and safety of the index.

python -m tests.campaigns histories [flat|index|appends|killed|all] [SEED]
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness.judge.history_index import HistoryIndex, bundles_below
from harness.judge.trends import change_points

ROOT = Path(__file__).resolve().parents[2]
_WRITER = """
import random, sys
from harness.judge.history_index import HistoryIndex
index, name = HistoryIndex(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    index.append([{
        "run_id": f"{name}-{number}", "timestamp": f"2026-01-01T00:00:{number:06}Z", "board": "b" + name,
        "metric": "clean.us", "value": random.gauss(100, 1),
    }])
    if len(sys.argv) > 4:
        print(f"{name}-{number}", flush=True)
"""
_COMPACTOR = """
import sys
from harness.judge.history_index import HistoryIndex
print("ready", flush=True)
while True:
    HistoryIndex(sys.argv[1]).compact()
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
        running = [_process(_WRITER, name, n, count // writers) for n in range(writers)]
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
        start = time.monotonic()
        command = ["history", "trend", "clean.us", "--index", name, "--json"]
        told = subprocess.run(
            [sys.executable, "-m", "harness.cli", *command], cwd=ROOT, check=True, capture_output=True
        ).stdout
        process_seconds = time.monotonic() - start
    print(f"appends: {total} rows of {count} in {written:.0f} s; compaction and trend of {len(rows)} runs in "
          f"{seconds:.2f} s (limit 1 s); as a process, with change points of {len(json.loads(told)['histories'])} "
          f"histories, {process_seconds:.2f} s", flush=True)  # fmt: skip
    return not failed and total == (count, count) and seconds < 1


def _process(code: str, *arguments: object, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, **more)


def killed(seed: int, moments: int = 20) -> bool:
    """What a writer acknowledged is there once, whenever writers and compactions are ended by `kill -9`."""
    rng = random.Random(seed)
    faults = seen = 0
    for _ in range(moments):
        with tempfile.TemporaryDirectory(prefix="hil-killed-") as name:
            writers = [_process(_WRITER, name, n, 10**6, "tell", stdout=subprocess.PIPE) for n in range(2)]
            compactor = _process(_COMPACTOR, name, stdout=subprocess.PIPE)
            assert compactor.stdout is not None and all(writer.stdout is not None for writer in writers)
            compactor.stdout.readline()
            told: list[bytes] = []
            for process in writers:
                # Pipes hold 64 KiB; a writer that nobody reads would stand still.
                told += [process.stdout.readline() for _ in range(rng.randrange(1, 1500))]  # type: ignore[union-attr]
            for process in rng.sample([*writers, compactor], 3):
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            for process in writers:
                told += process.stdout.read().splitlines()  # type: ignore[union-attr]
            # The last line of a pipe may be cut; it counts only when whole.
            acknowledged = {line.decode().strip() for line in told if b"-" in line}
            history = HistoryIndex(name)
            before = [row[0] for row in history.query("SELECT run_id FROM runs")]
            history.compact()
            after = [row[0] for row in history.query("SELECT run_id FROM runs")]
            left = [path.name for path in (Path(name) / "parts").glob("*.ndjson")]
        missing = {run for run in acknowledged if run not in set(after) and not _cut(run, after)}
        good = sorted(before) == sorted(after) and len(after) == len(set(after)) and not missing and not left
        faults += not good
        seen += len(acknowledged)
    print(f"killed, seed {seed}: {moments} moments, {seen} acknowledged rows, {faults} with faults", flush=True)
    return not faults


def _cut(run: str, stored: list[str]) -> bool:
    """Whether a line is the beginning of the one that its writer was killed in."""
    return any(name.startswith(run) for name in stored)


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
    if part in ("killed", "all"):
        good &= killed(seed)
    return 0 if good else 1
