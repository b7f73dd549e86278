"""What the harness adds to a run: from lease to published bundle, beside a bare script on the same ELF.

The script starts the same emulator, flashes, sends the same commands and only reads RTT to the end frame: no checks, no
reference, no bundle. Caches are warm for both. Ten interleaved pairs; the goal is a median difference of at most 1 s.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.bench.inventory import load_bench
from harness.bench.provider import LeaseRequest
from harness.capture.conversation import capture
from harness.capture.frames import FrameDecoder
from harness.capture.wire import Record
from harness.core.deadline import Deadline
from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.runner.measure import capture_request, expected_image, wanted_inferences
from harness.runner.run import run

ROOT = Path(__file__).resolve().parents[1]
NONCE = 0x12345678


class Recorder:
    """Passes everything on and keeps what went to the target."""

    name = "recorder"

    def __init__(self, inner: Any) -> None:
        self.inner, self.sent = inner, bytearray()

    def read(self, max_bytes: int = 65536) -> bytes:
        return bytes(self.inner.read(max_bytes))

    def write(self, data: bytes) -> int:
        taken = int(self.inner.write(data))
        self.sent += data[:taken]
        return taken

    def close(self) -> None:
        self.inner.close()


def record_commands(image: Build) -> bytes:
    """The commands of one real conversation."""
    with load_bench().lease(LeaseRequest((image.plan.board,), None, "benchmark"), Deadline(30, "a board")) as lease:
        probe = lease.open_probe()
        probe.flash(image.elf, lease.board_type)
        recorder = Recorder(probe.boot_rtt(image.rtt_address, Deadline(10, "the firmware")))
        inferences = wanted_inferences(image, ()).cases
        capture(recorder, expected_image(image), capture_request(image, inferences, inferences), nonce=NONCE)
        return bytes(recorder.sent)


def bare_run(image: Build, commands: bytes) -> float:
    """Seconds of the bare script."""
    start = time.perf_counter()
    with load_bench().lease(LeaseRequest((image.plan.board,), None, "benchmark"), Deadline(30, "a board")) as lease:
        probe = lease.open_probe()
        probe.flash(image.elf, lease.board_type)
        transport = probe.boot_rtt(image.rtt_address, Deadline(10, "the firmware"))
        decoder, ended = FrameDecoder(), False
        while not ended:
            if commands:
                commands = commands[transport.write(commands) :]
            data = transport.read()
            ended = any(getattr(item, "type", None) == Record.END for item in decoder.feed(data))
            if not data:
                time.sleep(0.0005)
    return time.perf_counter() - start


def full_run(image: Build, out: Path) -> float:
    """Seconds of a run with everything."""
    start = time.perf_counter()
    run(image, out=out)
    return time.perf_counter() - start


def main(pairs: int = 10) -> None:
    """Run and print the table."""
    for board in ("mps2_an386", "mps3_an547"):
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            plan = freeze(ROOT / "examples/digits/digits.tflite", board=board)
            image = build(plan, work / "build")
            commands = record_commands(image)
            full_run(image, work / "warm")
            rows = [(bare_run(image, commands), full_run(image, work / f"b{i}")) for i in range(pairs)]
        bare, full = (statistics.median(column) for column in zip(*rows, strict=True))
        added = statistics.median(f - b for b, f in rows)
        print(f"{board}: bare {bare:.3f} s, harness {full:.3f} s, median difference {added:.3f} s (goal: at most 1 s)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
