"""What a PPK2 would send while an emulated board runs: from an event log to sample words.

The log is what the counter plugin writes: 32-byte little-endian records of modelled cycles, instructions and energy.
Windows are stored and forwarded: the supply current is the board's idle constant until a whole window is in the log;
then that window is played at its modelled pace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 100_000
RECORD = np.dtype([("cycles", "<u8"), ("instructions", "<u8"), ("energy_fj", "<u8"), ("kind", "<u4"), ("arg", "<u4")])
KIND_GATE = 1
KIND_SAMPLE = 3

RANGES = 5
CODE_MAX = 16383
THRESHOLDS_A = (50e-6, 500e-6, 5e-3, 60e-3)
"""Currents above which the next range is used."""
RETURN = 0.8
"""Part of a threshold below which the range is left again."""
VOLTS_A_CODE = 4 * 1.8 / 163840

SETTLING = (0.2, 0.06, 0.02)
"""Relative size of the converter's error in the first samples after a range change; its sign is drawn."""

Records = np.ndarray[tuple[int], np.dtype[np.void]]


@dataclass(frozen=True)
class Terms:
    """Calibration the virtual device reports: shunts in ohms and correction terms, one value a range."""

    r: tuple[float, ...] = (1003.27, 101.65, 10.15, 0.94, 0.043)
    gs: tuple[float, ...] = (0.0, 16.1068, 15.9843, 17.6043, 1.0)
    gi: tuple[float, ...] = (1.0, 0.99962, 0.99985, 1.00065, 0.98)
    o: tuple[float, ...] = (171.3, 105.8, 88.5, 79.6, 82.2)
    s: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)
    i: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)
    ug: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)

    def metadata(self) -> str:
        """The text that answers the metadata command."""
        lines = ["Calibrated: 1"]
        for label, values in (("R", self.r), ("GS", self.gs), ("GI", self.gi), ("O", self.o), ("S", self.s)):
            lines += [f"{label}{index}: {value:.6f}" for index, value in enumerate(values)]
        for label, values in (("I", self.i), ("UG", self.ug)):
            lines += [f"{label}{index}: {value:.6f}" for index, value in enumerate(values)]
        return "\n".join([*lines, "HW: 9173", "IA: 56", "END"])


@dataclass(frozen=True)
class SignalOptions:
    """Constants of a virtual device and of the board it stands before.

    `volts` turns energy to current. `idle_a` is the board's idle current, a constant stated in its descriptor.
    `noise_lsb` is the converter's rms noise in codes, at least 0.5. `factors`, in turn and from the first again,
    multiply the energy of each window: noise that a bench asks for.
    """

    clock_hz: int
    volts: float
    idle_a: float
    gate_line: int = 0
    noise_lsb: float = 0.7
    lead_s: float = 0.002
    seed: int = 0
    factors: tuple[float, ...] = ()
    terms: Terms = field(default_factory=Terms)

    def __post_init__(self) -> None:
        if self.noise_lsb < 0.5 or self.volts <= 0 or self.clock_hz <= 0 or self.idle_a < 0:
            raise ValueError("a virtual PPK2 needs noise of 0.5 codes or more, a voltage, a clock and an idle current")


@dataclass(frozen=True)
class Playback:
    """A window ready to be played: currents (amperes) and gate level a sample."""

    amperes: NDArray[np.float64]
    gate: NDArray[np.uint8]

    def after(self, idle: int, amperes: float) -> Playback:
        """The same window after so many samples of an idle current."""
        return Playback(
            np.concatenate((np.full(idle, amperes), self.amperes)),
            np.concatenate((np.zeros(idle, np.uint8), self.gate)),
        )


class LogReader:
    """Follows a growing event log; yields each window once both its edges are in."""

    def __init__(self, path: Path, options: SignalOptions) -> None:
        self.path = path
        self.options = options
        self._offset = 0
        self._records = np.empty(0, RECORD)
        self._windows = 0

    def windows(self) -> Iterator[Records]:
        """Records of each newly complete window: from the lead before its rise to its fall."""
        self._read()
        while True:
            gates = np.flatnonzero(self._records["kind"] == KIND_GATE)
            levels = self._records["arg"][gates]
            rises = gates[levels == 1]
            if len(rises) == 0:
                # Only what may be the lead of a later window is worth keeping.
                self._keep(len(self._records))
                return
            falls = gates[(levels == 0) & (gates > rises[0])]
            if len(falls) == 0:
                return
            lead = int(self.options.lead_s * self.options.clock_hz)
            cycles = self._records["cycles"]
            first = int(np.searchsorted(cycles, max(int(cycles[rises[0]]) - lead, 0)))
            yield self._records[first : int(falls[0]) + 1].copy()
            self._records = self._records[int(falls[0]) + 1 :]

    def _keep(self, end: int) -> None:
        lead = int(self.options.lead_s * self.options.clock_hz)
        cycles = self._records["cycles"]
        if end and int(cycles[-1]) > lead:
            self._records = self._records[int(np.searchsorted(cycles, int(cycles[-1]) - lead)) :]

    def _read(self) -> None:
        try:
            size = self.path.stat().st_size
            if size < self._offset:
                # A new boot began the log anew.
                self._offset, self._records = 0, np.empty(0, RECORD)
            whole = (size - self._offset) // RECORD.itemsize
            if whole:
                fresh = np.fromfile(self.path, RECORD, whole, offset=self._offset)
                self._offset += fresh.nbytes
                self._records = np.concatenate((self._records, fresh))
        except FileNotFoundError:
            return


def play(records: Records, options: SignalOptions, phase: float, factor: float = 1.0) -> Playback:
    """Currents and gate of a window.

    Args:
        records: of one window, in order, from its lead to its fall.
        options: constants.
        phase: where between two samples the first record lies, 0 to 1.
        factor: on the window's energy.

    Each sample is the mean current over the interval that ends with it; its gate bit is the level at that end.
    """
    seconds = (records["cycles"] - records["cycles"][0]).astype(np.float64) / options.clock_hz
    joules = (records["energy_fj"] - records["energy_fj"][0]).astype(np.float64) * (1e-15 * factor)
    start = phase / RATE_HZ
    seconds = seconds + start
    idle_w = options.idle_a * options.volts
    count = int(np.ceil(seconds[-1] * RATE_HZ)) + 1
    tail = (count + 1) / RATE_HZ
    # Idle before the first record and after the last; several records of one cycle keep their order.
    times = np.concatenate(([0.0], seconds, [tail]))
    energy = np.concatenate(([0.0], joules + start * idle_w, [joules[-1] + (start + tail - seconds[-1]) * idle_w]))
    grid = np.arange(count + 1) / RATE_HZ
    amperes = np.diff(np.interp(grid, times, energy)) * (RATE_HZ / options.volts)
    gates = records["kind"] == KIND_GATE
    order = np.searchsorted(seconds[gates], grid[1:], side="right")
    levels = np.concatenate(([0], records["arg"][gates] & 1))[order]
    return Playback(amperes, levels.astype(np.uint8))


class Encoder:
    """Turns currents into sample words as the device would: ranges with hysteresis, noise, sample counter."""

    def __init__(self, options: SignalOptions) -> None:
        self.options = options
        self.sent = 0
        self._range = 0
        self._settling: list[float] = []
        self._random = np.random.default_rng(options.seed)

    def phase(self) -> float:
        """A drawn place between two samples."""
        return float(self._random.random())

    def encode(self, amperes: NDArray[np.float64], gate: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The next words, shape of `amperes`."""
        count = len(amperes)
        ranges = self._ranges(amperes)
        measured = amperes * (1.0 + self._errors(ranges))
        ideal = self._codes(measured, ranges)
        noise = self._random.normal(0.0, self.options.noise_lsb, count)
        codes = np.clip(np.rint(ideal + noise), 0, CODE_MAX).astype(np.uint32)
        counter = ((np.arange(count, dtype=np.uint64) + self.sent) & 63).astype(np.uint32)
        logic = gate.astype(np.uint32) << self.options.gate_line
        self.sent += count
        self._range = int(ranges[-1]) if count else self._range
        words = codes | (ranges.astype(np.uint32) << 14) | (counter << 18) | (logic << 24)
        return words.astype(np.uint32, copy=False)

    def _ranges(self, amperes: NDArray[np.float64]) -> NDArray[np.int64]:
        limits = np.asarray(THRESHOLDS_A)
        lowest = np.searchsorted(limits, amperes, side="left")
        highest = np.searchsorted(limits * RETURN, amperes, side="left")
        pair = lowest * RANGES + highest
        starts = np.concatenate(([0], np.flatnonzero(np.diff(pair)) + 1)) if len(pair) else np.empty(0, np.int64)
        current = self._range
        chosen = []
        for low, high in zip(lowest[starts].tolist(), highest[starts].tolist(), strict=True):
            current = min(max(current, low), high)
            chosen.append(current)
        return np.repeat(np.asarray(chosen, np.int64), np.diff(np.concatenate((starts, [len(pair)]))))

    def _errors(self, ranges: NDArray[np.int64]) -> NDArray[np.float64]:
        errors = np.zeros(len(ranges))
        left = self._settling[: len(ranges)]
        errors[: len(left)] = left
        self._settling = self._settling[len(left) :]
        before = np.concatenate(([self._range], ranges[:-1])) if len(ranges) else ranges
        for change in np.flatnonzero(before != ranges):
            sign = self._random.uniform(-1.0, 1.0)
            pattern = [sign * part for part in SETTLING]
            room = errors[change : change + len(pattern)]
            room[:] = pattern[: len(room)]
            self._settling = pattern[len(room) :]
        return errors

    def _codes(self, amperes: NDArray[np.float64], ranges: NDArray[np.int64]) -> NDArray[np.float64]:
        terms = self.options.terms
        r, gs, gi, o, s, i, ug = (
            np.asarray(values)[ranges] for values in (terms.r, terms.gs, terms.gi, terms.o, terms.s, terms.i, terms.ug)
        )
        wanted = amperes / ug - s * self.options.volts - i
        # gs g^2 + gi g = wanted; this form of the root has no cancellation and holds for gs = 0.
        g = 2 * wanted / (gi + np.sqrt(gi * gi + 4 * gs * wanted))
        codes: NDArray[np.float64] = g * r / VOLTS_A_CODE + o / 4
        return codes
