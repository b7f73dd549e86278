"""Energy of synthetic windows, faulty and clean PPK2 streams, and a long capture in bounded memory.

python -m tests.campaigns power [calibration|faults|boards|long] [--seed N] [--streams N] [--samples N]
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.power.gating import GatePlan
from harness.power.report import analyse
from harness.power.waveform import Waveform, WaveformWriter
from harness.virtual.ppk2_signal import Encoder, LogReader, SignalOptions, play
from tests.power.faults import Faulty, clean, faulty, wrong_number
from tests.power.support import capture, header, options, window, words_of

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.tflite"
BOARD_OPTIONS = SignalOptions(clock_hz=25_000_000, volts=1.8, idle_a=0.0005)


def calibration(seed: int, windows: int = 200) -> tuple[float, float]:
    """(part of windows of 1 to 100 ms whose error lies inside the 95 % interval, rms interval over rms error)."""
    rng = np.random.default_rng(seed)
    errors, limits = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(windows):
            truth = window(rng, 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-3, -1.2), steps=int(rng.integers(0, 4)))
            words = words_of([truth], Encoder(options(seed=int(rng.integers(1 << 30)))))
            waveform = capture(words.tobytes(), Path(folder) / f"{number}", rng=rng)
            report = analyse(waveform, GatePlan(firmware_s=(truth.duration_s,)), 1.0)
            if report.issues:
                raise AssertionError(f"window {number} of seed {seed}: {report.issues}")
            found = report.windows[0]
            errors.append((found.energy_j - truth.energy_j) / truth.energy_j)
            limits.append(found.energy_u95_j / truth.energy_j)
    inside = float(np.mean(np.abs(errors) <= np.asarray(limits)))
    return inside, math.sqrt(float(np.mean(np.square(limits)) / np.mean(np.square(errors))))


def faults(seed: int, streams: int, cleans: int) -> list[str]:
    """Findings: misses, wrong numbers, alarms; empty when all is well."""
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        for number in range(streams):
            rng = np.random.default_rng([seed, number])
            made = faulty(rng)
            report = made.report(path, rng)
            path.unlink()
            codes = {issue.code for issue in report.issues}
            where = f"seed {seed} stream {number}: {made.kind} {made.detail}"
            if made.detectable and not codes & set(made.expected):
                findings.append(f"MISS {where}: {sorted(codes)}")
            if made.kind != "two windows" and (wrong := wrong_number(report, made.truth)):
                findings.append(f"WRONG {where}: {wrong} {sorted(codes)}")
            elif made.kind == "two windows" and report.per_inference:
                findings.append(f"WRONG {where}: a number is shown")
        for number in range(cleans):
            rng = np.random.default_rng([seed, 1, number])
            part = clean(rng)
            report = Faulty("clean", "", part.words.tobytes(), part.truth, ()).report(path, rng)
            path.unlink()
            if report.issues:
                findings.append(f"ALARM seed {seed} clean {number}: {[issue.message for issue in report.issues]}")
    return findings


def write_long(path: Path, samples: int, gates: int) -> None:
    """A stored waveform with so many samples and windows, in words with noise and range changes."""
    from harness.power.waveform import WaveformWriter

    rng = np.random.default_rng(0)
    writer = WaveformWriter(path, header())
    encoder = Encoder(options(seed=1))
    period = samples // gates
    high = period * 3 // 5
    gate = np.zeros(period, np.uint8)
    gate[(period - high) // 2 : (period - high) // 2 + high] = 1
    kept: list[np.ndarray] = []
    for _ in range(8):
        level = np.where(gate, 10 ** rng.uniform(-2.2, -1.5), 1.5e-3)
        part = encoder.encode(level * (1 + 0.2 * np.sin(np.arange(period) / 50)), gate)
        kept.append(part & ~np.uint32(63 << 18))
    counter = np.arange(period, dtype=np.uint64)
    for number in range(gates):
        start = np.uint64(number * period)
        bits = ((counter + start) & np.uint64(63)).astype(np.uint32) << np.uint32(18)
        writer.append_words(kept[number % len(kept)] | bits)
    writer.close()


_CHILD = """
import json, resource, sys, time
from pathlib import Path
from harness.power.gating import GatePlan
from harness.power.report import analyse
from harness.power.waveform import Waveform
waveform = Waveform(Path(sys.argv[1]))
gates = int(sys.argv[2])
start = time.process_time()
if sys.argv[3] == "decode":
    for block in waveform.blocks():
        pass
    found = gates
else:
    report = analyse(waveform, GatePlan(windows=gates))
    found = len(report.windows)
    assert not report.issues, report.issues
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "windows": found,
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def child(path: Path, gates: int, what: str) -> dict[str, float]:
    """CPU seconds and peak memory of a fresh process that decodes, or analyses, a stored waveform."""
    import json

    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(gates), what], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    value: dict[str, float] = json.loads(done.stdout)
    return value


def long(samples: int) -> bool:
    """Analyse a long capture and compare with decoding it alone."""
    gates = 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long"
        write_long(path, samples, gates)
        decode = min((child(path, gates, "decode") for _ in range(2)), key=lambda value: value["seconds"])
        full = min((child(path, gates, "analyse") for _ in range(2)), key=lambda value: value["seconds"])
        size = path.stat().st_size
    ratio, speed = full["seconds"] / decode["seconds"], samples / full["seconds"] / 1e6
    print(
        f"{samples / 1e6:.0f} million samples, {gates} gates, {size / 1e6:.0f} MB on disk:"
        f" decode {decode['seconds']:.2f} s, all {full['seconds']:.2f} s, ratio {ratio:.2f} (limit 1.5),"
        f" {speed:.1f} million samples a second (limit 10), peak {full['peak_mb']:.0f} MB (limit 300)"
    )
    return ratio <= 1.5 and speed >= 10 and full["peak_mb"] <= 300


def board_window(board: str) -> np.ndarray:
    """What the counter plugin logs of one inference of the demo's model on an emulated board."""
    from harness.bench.inventory import load_bench
    from harness.image.build import build
    from harness.plan.freeze import freeze
    from harness.runner.board import flash_board, lease_board
    from harness.runner.deadlines import Deadlines
    from harness.runner.measure import capture_request, measure
    from harness.virtual.command import EVENTS

    plan = freeze(DIGITS, board=board, iterations=1, warmup=1, per_layer=False, window_mode="fixed")
    limits = Deadlines.of({})
    with tempfile.TemporaryDirectory() as folder:
        made = build(plan, Path(folder) / "build")
        with lease_board(load_bench(None), made, serial=None, holder="campaign", deadlines=limits) as lease:
            measure(flash_board(lease, made, limits), capture_request(made, (), ()), limits)
            log = lease._hold.emulator.directory / EVENTS  # type: ignore[attr-defined]
            (records,) = LogReader(log, BOARD_OPTIONS).windows()
    return records


def boards(seeds: int) -> bool:
    """One window of each board of the demo under many seeds of noise, against the energy in its log."""
    good = True
    for board in ("mps2_an386", "mps3_an547"):
        records = board_window(board)
        truth = (int(records["energy_fj"][-1]) - int(records["energy_fj"][0])) * 1e-15
        ratios = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(seeds):
                encoder = Encoder(replace(BOARD_OPTIONS, seed=seed))
                part = play(records, encoder.options, encoder.phase()).after(3000, encoder.options.idle_a)
                words = encoder.encode(part.amperes, part.gate)
                tail = encoder.encode(np.full(3000, encoder.options.idle_a), np.zeros(3000, np.uint8))
                writer = WaveformWriter(Path(folder) / str(seed), header(volts=BOARD_OPTIONS.volts))
                writer.append_words(np.concatenate((words, tail)))
                writer.close()
                found = analyse(Waveform(Path(folder) / str(seed)), GatePlan(), 1.0).windows[0]
                ratios.append(abs(found.energy_j - truth) / found.energy_u95_j)
        inside = float(np.mean(np.asarray(ratios) <= 1.0))
        print(f"{board}, {seeds} seeds: {inside:.1%} inside, largest error {max(ratios):.2f} intervals")
        good &= 0.90 <= inside <= 0.995 and max(ratios) <= 2.0
    return good


def main(arguments: list[str]) -> int:
    """Run the campaign; 0 when all limits hold."""
    parser = argparse.ArgumentParser(prog="power")
    parser.add_argument("part", nargs="?", choices=("calibration", "faults", "boards", "long", "all"), default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--samples", type=int, default=100_000_000)
    given = parser.parse_args(arguments)
    good = True
    if given.part in ("calibration", "all"):
        inside, ratio = calibration(given.seed)
        print(f"calibration, seed {given.seed}: {inside:.1%} inside, interval {ratio:.2f} times the rms error")
        good &= 0.90 <= inside <= 0.99 and ratio <= 3.0
    if given.part in ("faults", "all"):
        findings = faults(given.seed, given.streams, given.streams // 2)
        print(*findings, sep="\n", end="\n" if findings else "")
        print(
            f"faults, seed {given.seed}: {given.streams} faulty, {given.streams // 2} clean, {len(findings)} findings"
        )
        good &= not findings
    if given.part in ("boards", "all"):
        good &= boards(given.streams // 2)
    if given.part in ("long", "all"):
        good &= long(given.samples)
    return 0 if good else 1
