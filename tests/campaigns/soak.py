"""Consecutive runs on two emulated boards in parallel: every bundle valid, the same counters, and nothing grows.

Arguments: how many runs in all (default 1000). Each board has a process of its own, as in a suite run by xdist; after
every run it notes its memory, descriptors, threads and children, and what lies in its directories.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.core.deadline import Deadline
from harness.image.build import build
from harness.plan.freeze import freeze
from harness.results.reader import verify_bundle
from harness.runner.run import run
from tests.campaigns.determinism import raw_samples

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.tflite"
BOARDS = ("mps2_an386", "mps3_an547")
SECONDS_A_RUN = 60.0
MEMORY_BYTES = 4 << 20
"""How much the median of the last tenth may lie above that of the second tenth: allocators move, leaks add up."""
COUNTS = ("descriptors", "threads", "children", "files")


def usage(places: Sequence[Path]) -> dict[str, int]:
    """What this process holds now: bytes of memory, and counts."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {
        "memory": int(status["VmRSS"].split()[0]) * 1024,
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": int(status["Threads"]),
        "children": len(children),
        "files": sum(len(files) + len(folders) for place in places for _, folders, files in os.walk(place)),
    }


def work(board: str, runs: int, place: Path) -> None:
    """Run one board again and again; one line of JSON a run."""
    plan = freeze(DIGITS, board=board, iterations=3, warmup=1, window_mode="fixed")
    made = build(plan, place / "build")
    for _ in range(runs):
        outcome = run(made, out=place / "bundle")
        verify_bundle(outcome.bundle)
        samples = hashlib.sha256(repr(raw_samples(outcome.capture)).encode()).hexdigest()
        shutil.rmtree(outcome.bundle)
        good = outcome.valid and outcome.outputs.match is True
        # The temporary directory and what the bundle left beside the build are this board's own.
        line = {"valid": good, "samples": samples, **usage([Path(tempfile.gettempdir()), place])}
        print(json.dumps(line), flush=True)


def judge(board: str, lines: Sequence[dict[str, Any]], wanted: int) -> list[str]:
    """What is wrong with the runs of one board."""
    wrong = []
    if len(lines) != wanted or not all(line["valid"] for line in lines):
        wrong.append(f"{sum(bool(line['valid']) for line in lines)} of {wanted} runs are valid")
    if len({line["samples"] for line in lines}) > 1:
        wrong.append("counters differ between runs")
    tenth = max(1, len(lines) // 10)
    early, late = lines[tenth : 2 * tenth] or lines, lines[-tenth:]
    for name in COUNTS:
        if max(line[name] for line in late) > max(line[name] for line in early):
            wrong.append(f"{name} grew from {early[0][name]} to {late[-1][name]}")
    grown = statistics.median(line["memory"] for line in late) - statistics.median(line["memory"] for line in early)
    if grown > MEMORY_BYTES:
        wrong.append(f"memory grew by {grown / 2**20:.1f} MiB")
    print(
        f"{board}: {sum(bool(line['valid']) for line in lines)} valid runs, {len({line['samples'] for line in lines})} "
        f"set of counters, memory {grown / 2**20:+.2f} MiB, "
        + ", ".join(f"{name} {early[0][name]} to {late[-1][name]}" for name in COUNTS),
        flush=True,
    )
    return wrong


def main(arguments: list[str]) -> int:
    """Returns 0 when nothing is wrong."""
    if arguments[:1] == ["work"]:
        work(arguments[1], int(arguments[2]), Path(arguments[3]))
        return 0
    runs = int(arguments[0]) if arguments else 1000
    share = runs // len(BOARDS)
    faults: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hs") as text:
        place = Path(text)
        workers = {board: _start(board, share, place) for board in BOARDS}
        deadline = Deadline(120 + SECONDS_A_RUN * share, "the runs to end", "soak")
        try:
            for board, (process, output) in workers.items():
                if process.wait(deadline.remaining()) != 0:
                    faults.append(f"{board}: the process ended with status {process.returncode}")
                lines = [json.loads(line) for line in output.read_text().splitlines()]
                faults += [f"{board}: {fault}" for fault in judge(board, lines, share)]
        finally:
            for process, _ in workers.values():
                process.kill()
                process.wait()
        left = [path for path in (place / "run").rglob("*") if path.is_dir() and path.name.isdecimal()]
        faults += [f"the emulator's directory {path.name} was left" for path in left]
    print(f"{share * len(BOARDS)} runs in {time.monotonic() - began:.0f} s, {len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


def _start(board: str, runs: int, place: Path) -> tuple[subprocess.Popen[bytes], Path]:
    own = place / board
    (own / "tmp").mkdir(parents=True)
    output = place / f"{board}.jsonl"
    environment = {**os.environ, "HARNESS_RUNTIME_DIR": str(place / "run"), "TMPDIR": str(own / "tmp")}
    command = [sys.executable, "-m", "tests.campaigns", "soak", "work", board, str(runs), str(own)]
    with output.open("wb") as stream:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=stream), output
