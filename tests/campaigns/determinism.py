"""Identical raw samples whatever the host does: random delays before each host message, and a busy machine.

Arguments: how many runs (default 20) and the longest delay in milliseconds (default 500).
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.bench.inventory import load_bench
from harness.capture.conversation import capture
from harness.capture.record import Capture
from harness.capture.session import Transport
from harness.core.deadline import Deadline
from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.runner.board import flash_board, lease_board
from harness.runner.deadlines import Deadlines
from harness.runner.measure import capture_request, expected_image, wanted_inferences

ROOT = Path(__file__).resolve().parents[2]
LOAD = "while True: pass"


@dataclass
class DelayingTransport:
    """Waits a random time before each message to the target."""

    inner: Transport
    longest: float
    draw: random.Random
    name: str = field(init=False, default="delaying")
    waits: int = field(init=False, default=0)

    def read(self, max_bytes: int = 65536) -> bytes:
        """Pass on what came."""
        return self.inner.read(max_bytes)

    def write(self, data: bytes) -> int:
        """Wait, then pass on."""
        self.waits += 1
        time.sleep(self.draw.uniform(0, self.longest))
        return self.inner.write(data)

    def close(self) -> None:
        """Close the inner transport."""
        self.inner.close()


def raw_samples(result: Capture) -> tuple[bytes, ...]:
    """Everything that was measured, as bytes."""
    clean = result.clean
    window = (
        b"" if clean is None else clean.samples.tobytes() + repr((clean.ticks, sorted(clean.observed.items()))).encode()
    )
    return (window, *(record.samples.tobytes() for record in result.passes))


def one_run(image: Build, longest: float, seed: int) -> Capture:
    """One boot with delays drawn from a seed."""
    deadlines = Deadlines.of({})
    with lease_board(load_bench(), image, serial=None, holder="determinism", deadlines=deadlines) as lease:
        ready = flash_board(lease, image, deadlines)
        transport = ready.probe.boot_rtt(image.rtt_address, Deadline(10, "the firmware to start"))
        slow = DelayingTransport(transport, longest, random.Random(seed))
        inferences = wanted_inferences(image, ()).cases
        request = capture_request(image, inferences, inferences)
        return capture(slow, expected_image(image), request, watch=ready.probe.check_target)


def differing_runs(image: Build, runs: int, longest: float) -> int:
    """How many of the runs differ from the first, with a second process loading the machine."""
    load = subprocess.Popen([sys.executable, "-c", LOAD])
    try:
        first = raw_samples(one_run(image, 0.0, 0))
        return sum(raw_samples(one_run(image, longest, seed)) != first for seed in range(1, runs))
    finally:
        load.kill()
        load.wait()


def main(arguments: list[str]) -> int:
    """Returns 0 when all runs agree on both boards."""
    runs = int(arguments[0]) if arguments else 20
    longest = (int(arguments[1]) if len(arguments) > 1 else 500) / 1000
    failed = 0
    for board in ("mps2_an386", "mps3_an547"):
        with tempfile.TemporaryDirectory() as work:
            plan = freeze(ROOT / "examples/digits/digits.tflite", board=board, iterations=5)
            wrong = differing_runs(build(plan, Path(work) / "build"), runs, longest)
        print(f"{board}: {runs} runs, delays up to {longest * 1000:.0f} ms, {wrong} differ from the first", flush=True)
        failed += wrong
    return 1 if failed else 0
