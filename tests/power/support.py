"""Synthetic windows with known energy, PPK2 streams of them, faults, and captures of such streams."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.power.ppk2_stream import Ppk2Stream
from harness.power.ppk2_wire import Calibration, parse_metadata
from harness.power.recording import Lateness
from harness.power.waveform import Accuracy, Header, Waveform, WaveformWriter
from harness.virtual.ppk2_signal import RECORD, Encoder, SignalOptions, play

CLOCK_HZ = 25_000_000
VOLTS = 3.3
IDLE_A = 1.5e-3
RATE = 100_000


def options(seed: int = 0, noise_lsb: float = 0.7) -> SignalOptions:
    return SignalOptions(clock_hz=CLOCK_HZ, volts=VOLTS, idle_a=IDLE_A, seed=seed, noise_lsb=noise_lsb)


def calibration() -> Calibration:
    return parse_metadata(options().terms.metadata())


def header(**changes: object) -> Header:
    facts: dict[str, object] = {
        "monitor": "ppk2",
        "serial": "test",
        "rate_hz": float(RATE),
        "encoding": "ppk2-words",
        "source": "emulated",
        "volts": VOLTS,
        "accuracy": Accuracy(relative=0.0, basis="by construction"),
        "calibration": calibration(),
    }
    return Header(**{**facts, **changes})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Truth:
    """A window's records as a plugin logs them, and what they say exactly."""

    records: np.ndarray
    energy_j: float
    duration_s: float


def window(rng: np.random.Generator, seconds: float, mean_a: float, *, steps: int = 0, ripple: float = 0.3) -> Truth:
    """A window whose current ripples around a mean; `steps` times it jumps to another level for a while.

    Its log has a record every 2,500 cycles like a plugin's. The energy is that of the log, in whole femtojoules.
    """
    cycles_total = round(seconds * CLOCK_HZ)
    points = max(cycles_total // 2500, 8)
    cycles = np.linspace(0, cycles_total, points + 1).astype(np.uint64)
    times = (cycles[:-1] + cycles[1:]) / 2 / CLOCK_HZ
    level = np.full(points, mean_a)
    for _ in range(steps):
        at, length = sorted(rng.integers(0, points, 2))
        level[at:length] = mean_a * 10 ** rng.uniform(-1.0, 0.5)
    wave = 1.0 + ripple * np.sin(2 * np.pi * times * rng.uniform(200, 3000) + rng.uniform(0, 6))
    power = level * wave * VOLTS
    energy = np.concatenate(([0.0], np.cumsum(power * np.diff(cycles) / CLOCK_HZ))) * 1e15
    return _records(cycles, np.rint(energy).astype(np.uint64), int(rng.integers(1 << 30)))


def _records(cycles: NDArray[np.uint64], energy_fj: NDArray[np.uint64], start: int) -> Truth:
    records = np.zeros(len(cycles) + 2, RECORD)
    records["kind"] = 3
    records["cycles"][1:-1] = cycles + np.uint64(start)
    records["energy_fj"][1:-1] = energy_fj + np.uint64(7_000_000)
    for end, level in ((0, 1), (-1, 0)):
        inner = 1 if end == 0 else -2
        records["cycles"][end] = records["cycles"][inner]
        records["energy_fj"][end] = records["energy_fj"][inner]
        records["kind"][end], records["arg"][end] = 1, level
    return Truth(records, float(energy_fj[-1]) * 1e-15, float(cycles[-1]) / CLOCK_HZ)


def words_of(truths: list[Truth], encoder: Encoder, *, idle: tuple[int, int] = (3000, 3000)) -> NDArray[np.uint32]:
    """The stream of windows with idle time around each; idle lengths are drawn below the second number."""
    parts = []
    for truth in truths:
        parts.append(idle_words(encoder, idle[0]))
        played = play(truth.records, encoder.options, encoder.phase())
        parts.append(encoder.encode(played.amperes, played.gate))
    parts.append(idle_words(encoder, idle[1]))
    return np.concatenate(parts)


def idle_words(encoder: Encoder, count: int, amperes: float = IDLE_A) -> NDArray[np.uint32]:
    return encoder.encode(np.full(count, amperes), np.zeros(count, np.uint8))


@dataclass(frozen=True)
class Arrivals:
    """How a host sees a stream: jitter of each read and the device's clock against the host's."""

    jitter_s: float = 0.004
    clock: float = 1.0
    step: int = 4096


def capture(
    data: bytes,
    path: Path,
    *,
    rng: np.random.Generator | None = None,
    arrivals: Arrivals | None = None,
    missing: tuple[tuple[int, int], ...] = (),
    gone: str = "",
    of: Header | None = None,
) -> Waveform:
    """Store a byte stream as a recording does.

    `missing` lists (byte offset, samples that never came there; negative: came twice): the host's clock runs on over
    them.
    """
    rng = rng or np.random.default_rng(0)
    arrivals = arrivals or Arrivals()
    stream, writer = Ppk2Stream(), WaveformWriter(path, of or header())
    lateness = Lateness(float(RATE))
    for start in range(0, len(data), arrivals.step):
        part = data[start : start + arrivals.step]
        end = start + len(part)
        sent = end / 4 + sum(samples for offset, samples in missing if offset <= end)
        now = sent / (RATE * arrivals.clock) + abs(rng.normal(0, arrivals.jitter_s))
        if stream.feed(part, writer):
            lateness.add(now, writer.samples)
    gaps = stream.finish(writer)
    writer.close(gaps=gaps, lateness=lateness.values, gone=gone)
    return Waveform(path)
