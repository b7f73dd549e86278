"""kill -9 of pytest, of QEMU and of the compiler at random moments of the digits suite.

After each: every visible bundle verifies, no process is left after 2 s, the next lease of a board takes at most 5 s.
Arguments: how many moments for each victim (default 20), a seed, and victims (default all three).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.bench.inventory import load_bench
from harness.bench.provider import LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError
from harness.results.manifest import MANIFEST_NAME
from harness.results.reader import verify_bundle

ROOT = Path(__file__).resolve().parents[2]
LONGEST = {"pytest": 8.0, "qemu-system-arm": 6.0, "arm-none-eabi-gcc": 4.0}
BOARDS = ("mps2_an386", "mps3_an547")


@dataclass(frozen=True)
class Process:
    """One process of this machine."""

    pid: int
    parent: int
    name: str


def processes() -> dict[int, Process]:
    """All processes that are not zombies."""
    found: dict[int, Process] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, tail = (entry / "stat").read_text().rsplit(")", 1)
            except OSError:
                continue
            state, parent = tail.split()[:2]
            if state != "Z":
                pid = int(entry.name)
                found[pid] = Process(pid, int(parent), head.split("(", 1)[1])
    return found


def descendants(root: int) -> Iterator[Process]:
    """Children of a process, theirs, and so on."""
    everything = processes()
    wanted = {root}
    grew = True
    while grew:
        more = {p.pid for p in everything.values() if p.parent in wanted} - wanted
        grew = bool(more)
        wanted |= more
    return (everything[pid] for pid in wanted - {root} if pid in everything)


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether a condition holds before the time is over."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def one(victim: str, delay: float, work: Path) -> list[str]:
    """One moment; returns what went wrong."""
    environment = {**os.environ, "HIL_OUT": str(work / "out"), "PYTHONDONTWRITEBYTECODE": "1"}
    if victim == "arm-none-eabi-gcc":
        environment["HARNESS_CACHE_DIR"] = str(work / "cache")
    suite = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", str(ROOT / "examples/digits")],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    family: set[int] = set()
    end = time.monotonic() + delay
    while time.monotonic() < end and suite.poll() is None:
        family |= {p.pid for p in descendants(suite.pid)}
        time.sleep(0.005)
    struck = strike(victim, suite.pid)
    family |= {p.pid for p in descendants(suite.pid)}
    wrong: list[str] = []
    if victim != "pytest":
        output, _ = suite.communicate(timeout=300)
        if b"Traceback" in output and b"INTERNALERROR" in output:
            wrong.append("internal error of pytest")
        if struck and b"regression" in output and b"0 regressions" not in output:
            wrong.append("looks like a regression")
    else:
        suite.communicate(timeout=30)
    if not within(2.0, lambda: not family & processes().keys()):
        wrong.append(f"left behind: {[processes().get(pid) for pid in family & processes().keys()]}")
    wrong += bundles(work / "out")
    wrong += leases()
    return wrong


def strike(victim: str, suite: int) -> bool:
    """Kill the victim by its id; False when it was not running."""
    pids = [suite] if victim == "pytest" else [p.pid for p in descendants(suite) if p.name == victim[:15]]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
    return bool(pids)


def bundles(out: Path) -> list[str]:
    """Published bundles verify; what was not published has no manifest under a visible name."""
    wrong = []
    for directory in out.iterdir() if out.is_dir() else ():
        if directory.name.startswith(".") or directory.name == "builds":
            continue
        if not (directory / MANIFEST_NAME).is_file():
            wrong.append(f"half a bundle: {directory.name}")
            continue
        try:
            verify_bundle(directory)
        except HarnessError as error:
            wrong.append(f"{directory.name}: {error.what}")
    return wrong


def leases(seconds: float = 5.0) -> list[str]:
    """Every board can be leased again in time."""
    wrong = []
    for board in BOARDS:
        start = time.monotonic()
        try:
            with load_bench().lease(LeaseRequest((board,), None, "campaign"), Deadline(seconds, f"a {board}")):
                pass
        except HarnessError as error:
            wrong.append(f"{board}: {error.what}")
        if time.monotonic() - start > seconds:
            wrong.append(f"{board}: leased after {time.monotonic() - start:.1f} s")
    return wrong


def main(arguments: list[str]) -> int:
    """Returns 0 when nothing went wrong."""
    count = int(arguments[0]) if arguments else 20
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    draw = random.Random(seed)
    victims = arguments[2:] or list(LONGEST)
    # The stand-ins for hardware are compiled on first use; that is not what the five seconds are about.
    if wrong := leases(120.0):
        print("; ".join(wrong))
        return 1
    failures = 0
    for victim in victims:
        longest = LONGEST[victim]
        for number in range(count):
            delay = draw.uniform(0.2, longest)
            work = Path(tempfile.mkdtemp(prefix="hil-kill-"))
            try:
                wrong = one(victim, delay, work)
            finally:
                shutil.rmtree(work, ignore_errors=True)
            failures += bool(wrong)
            print(f"{victim:18} {number + 1:2}/{count} at {delay:5.2f} s: {'; '.join(wrong) or 'ok'}", flush=True)
    print(f"{len(victims) * count} moments, {failures} with faults (seed {seed})")
    return 1 if failures else 0
