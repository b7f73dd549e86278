"""Random faulty PPK2 streams: what was done to them and what must be found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.power.gating import GatePlan
from harness.power.integrity import RATE_PART, RATE_SAMPLES
from harness.power.report import PowerReport, analyse
from harness.virtual.ppk2_signal import Encoder, SignalOptions
from tests.power.support import CLOCK_HZ, IDLE_A, RATE, VOLTS, Arrivals, Truth, capture, idle_words, window, words_of

GATE = np.uint32(1 << 24)
STREAM = ("power.samples_lost", "power.alignment_lost", "power.word_corrupt", "power.repeated_block")
GATE_CODES = ("power.gate_glitch", "power.extra_windows", "power.missing_windows", "power.gate_high_at_start",
              "power.no_gate_fall", "power.window_observer_mismatch")  # fmt: skip
CLOCK = ("power.window_observer_mismatch", "power.rate_deviation")


@dataclass(frozen=True)
class Faulty:
    """A stream with one fault: at least one of `expected` must be reported, unless it is below the limits."""

    kind: str
    detail: str
    data: bytes
    truth: Truth
    expected: tuple[str, ...]
    detectable: bool = True
    missing: tuple[tuple[int, int], ...] = ()
    gone: str = ""
    clock: float = 1.0

    def report(self, path: Path, rng: np.random.Generator) -> PowerReport:
        """Capture and analyse it with what the firmware would say."""
        waveform = capture(
            self.data, path, rng=rng, arrivals=Arrivals(clock=self.clock), missing=self.missing, gone=self.gone
        )
        return analyse(waveform, GatePlan(inferences=10, completed=10, firmware_s=(self.truth.duration_s,)), 1.0)


@dataclass(frozen=True)
class Clean:
    """A stream without fault, the parts it was made of."""

    words: NDArray[np.uint32]
    truth: Truth
    start: int
    end: int


def clean(rng: np.random.Generator, *, clock: float = 1.0) -> Clean:
    """One window of a little over a second with idle time around it; `clock` is the device's against the truth's."""
    truth = window(rng, rng.uniform(1.02, 1.3), 10 ** rng.uniform(-2.3, -1.3), steps=int(rng.integers(0, 3)))
    options = SignalOptions(round(CLOCK_HZ / clock), VOLTS, IDLE_A, seed=int(rng.integers(1 << 30)))
    words = words_of(
        [truth], Encoder(options), idle=(int(rng.integers(30_000, 50_000)), int(rng.integers(30_000, 50_000)))
    )
    high = np.flatnonzero(words & GATE)
    return Clean(words, truth, int(high[0]), int(high[-1]) + 1)


def _lost_samples(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    count = int(10 ** rng.uniform(0, 3.7))
    if rng.random() < 0.3:
        count = max(count // 64, 1) * 64
    at = int(rng.integers(1000, len(made.words) - count - 1000))
    words = np.concatenate((made.words[:at], made.words[at + count :]))
    inside = at >= made.start and at + count <= made.end
    detectable = count % 64 != 0
    if not detectable and inside:
        detectable = count > 0.003 * (made.end - made.start) + 3
    elif not detectable:
        eighth = len(words) // 8 + RATE // 5
        seen = eighth < at < len(words) - eighth
        detectable = seen and count > RATE_SAMPLES + RATE_PART * len(words) + 0.003 * RATE
    return Faulty("lost samples", f"{count} at {at}", words.tobytes(), made.truth, (*STREAM, *CLOCK, *GATE_CODES),
                  detectable, missing=((4 * at, count),))  # fmt: skip


def _lost_bytes(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    data = made.words.tobytes()
    count = int(rng.integers(1, 400))
    count += count % 4 == 0
    at = int(rng.integers(400, len(data) - count - 400))
    return Faulty("lost bytes", f"{count} at {at}", data[:at] + data[at + count :], made.truth, STREAM)


def _duplicated(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    count = int(10 ** rng.uniform(0, 3.7))
    if rng.random() < 0.4:
        count = max(count // 64, 1) * 64
    at = int(rng.integers(count + 1000, len(made.words) - 1000))
    words = np.concatenate((made.words[:at], made.words[at - count : at], made.words[at:]))
    return Faulty("duplicated block", f"{count} before {at}", words.tobytes(), made.truth, STREAM,
                  missing=((4 * at, -count),))  # fmt: skip


def _glitch(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    count = int(10 ** rng.uniform(0, 3.3))
    at = int(rng.integers(1000, len(made.words) - count - 1000))
    if min(abs(at - edge) for edge in (made.start, made.end)) < count + 1:
        at = made.start + (made.end - made.start) // 2
    words = made.words.copy()
    words[at : at + count] ^= GATE
    return Faulty("gate glitch", f"{count} at {at}", words.tobytes(), made.truth, GATE_CODES)


def _no_rise(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    return Faulty("no rise", "", (made.words & ~GATE).tobytes(), made.truth, ("power.no_gate_rise",))


def _no_fall(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    words = made.words.copy()
    words[made.start :] |= GATE
    return Faulty("no fall", "", words.tobytes(), made.truth, ("power.no_gate_fall",))


def _two_windows(rng: np.random.Generator) -> Faulty:
    first = window(rng, rng.uniform(0.3, 1.2), 10 ** rng.uniform(-2.3, -1.3))
    second = window(rng, rng.uniform(0.3, 1.2), 10 ** rng.uniform(-2.3, -1.3))
    encoder = Encoder(SignalOptions(CLOCK_HZ, VOLTS, IDLE_A, seed=int(rng.integers(1 << 30))))
    words = words_of([first, second], encoder, idle=(20_000, 20_000))
    return Faulty("two windows", "", words.tobytes(), first, ("power.extra_windows",))


def _load(rng: np.random.Generator) -> Faulty:
    truth = window(rng, rng.uniform(1.02, 1.3), 10 ** rng.uniform(-2.3, -1.6))
    encoder = Encoder(SignalOptions(CLOCK_HZ, VOLTS, IDLE_A, seed=int(rng.integers(1 << 30))))
    mean = truth.energy_j / truth.duration_s / VOLTS
    seconds, factor = rng.uniform(0.02, 1.0), rng.uniform(1.6, 8.0)
    before = idle_words(encoder, 20_000)
    spike = idle_words(encoder, round(seconds * RATE), mean * factor)
    words = np.concatenate((before, spike, words_of([truth], encoder, idle=(int(rng.integers(0, 5000)), 20_000))))
    return Faulty("load before the gate", f"{seconds:.3f} s, {factor:.1f} times", words.tobytes(), truth,
                  ("power.load_before_gate",))  # fmt: skip


def _gone(rng: np.random.Generator) -> Faulty:
    made = clean(rng)
    data = made.words.tobytes()
    cut = int(rng.integers(4000, len(data)))
    return Faulty("device gone", f"at byte {cut}", data[:cut], made.truth, ("power.monitor_gone",), gone="unplugged")


def _clock(rng: np.random.Generator) -> Faulty:
    clock = 1.0 + float(rng.choice((-1, 1))) * rng.uniform(0.005, 0.01)
    made = clean(rng, clock=clock)
    return Faulty("clock off", f"{clock:.4f}", made.words.tobytes(), made.truth, CLOCK, clock=clock)


KINDS = {
    "lost samples": _lost_samples,
    "lost bytes": _lost_bytes,
    "duplicated block": _duplicated,
    "gate glitch": _glitch,
    "no rise": _no_rise,
    "no fall": _no_fall,
    "two windows": _two_windows,
    "load before the gate": _load,
    "device gone": _gone,
    "clock off": _clock,
}


def faulty(rng: np.random.Generator, kind: str = "") -> Faulty:
    """A stream with a fault of a kind, or of a drawn one."""
    return KINDS[kind or str(rng.choice(list(KINDS)))](rng)


def wrong_number(report: PowerReport, truth: Truth) -> str:
    """What is wrong with a number that is shown; empty when it is right or none is shown.

    Where no fault is reported the interval is the usual one at 95 %: then only twice of it is wrong.
    """
    if not report.per_inference:
        return ""
    shown = report.per_inference[0]
    true = truth.energy_j / report.plan.inferences
    if abs(shown.energy_j - true) <= shown.u95_j * (1 if report.issues else 2):
        return ""
    return f"{shown.energy_j:.6e} +- {shown.u95_j:.1e} J, true {true:.6e} J"
