"""Charge and energy of gated windows, with an uncertainty that says where it comes from.

Energy is integrated from exact, unfiltered samples. A sample is the mean over the interval that ends with it, and its
logic bits are read at that end: the rise lies inside the first high sample's interval, the fall inside the first low
one's. Both edge intervals count half, at the level next to them inside the window; so energy and duration cover the
same bounds, and neither depends on what flows outside. The standard uncertainty of an edge is then that of a uniform
distribution one sample wide (JCGM 100:2008, 4.3.7), 0.289 samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from harness.power.distribution import Distribution, new_distribution
from harness.power.gating import GatePlan, Gates, Window
from harness.power.ppk2_decode import MARKED, ranges_of
from harness.power.waveform import Accuracy, Block, Header, edges_in

COVERAGE = 1.96
EDGE_SAMPLES = 1 / math.sqrt(12)
SETTLED = 5
"""Samples after the marked ones that tell the level to which a range change settled."""
QUANTILES = (0.5, 0.95, 0.99, 1.0)
PULSE_SAMPLES = 1000
"""Length of the stretches in which load outside the windows is looked for."""
GUARD = 10
"""Samples next to a window that do not count as outside."""


@dataclass(frozen=True)
class Uncertainty:
    """Parts of the uncertainty of one energy, in joules.

    `edges`, `quantisation`, `range_changes`, `calibration` and `repeats` are standard uncertainties; `time_base` and
    `gaps` are limits of the error. `calibration` is None when nobody calibrated the monitor: then it is not in
    `total`.
    """

    edges: float = 0.0
    quantisation: float = 0.0
    range_changes: float = 0.0
    calibration: float | None = None
    repeats: float = 0.0
    time_base: float = 0.0
    gaps: float = 0.0

    @property
    def total(self) -> float:
        """Half-width of the 95 % interval, in joules."""
        standard = (self.edges, self.quantisation, self.range_changes, self.calibration or 0.0, self.repeats)
        return math.sqrt((COVERAGE * math.hypot(*standard)) ** 2 + self.time_base**2 + self.gaps**2)


@dataclass(frozen=True)
class WindowEnergy:
    """One window: SI units; currents in amperes; `samples` on the time axis, `lost` of them not received."""

    number: int
    label: str
    start: int
    end: int
    samples: int
    lost: int
    duration_s: float
    charge_c: float
    energy_j: float
    uncertainty: Uncertainty
    mean_a: float
    median_a: float
    p95_a: float
    p99_a: float
    peak_a: float
    range_changes: int
    saturated: int
    steepest_a: float
    """Largest step between two samples."""

    @property
    def energy_u95_j(self) -> float:
        """Half-width of the 95 % interval of the energy, in joules."""
        return self.uncertainty.total


@dataclass(frozen=True)
class Outside:
    """What flowed outside of the windows: floor (median) and the strongest stretch of 10 ms before the first."""

    samples: int = 0
    floor_a: float | None = None
    strongest_before_a: float | None = None


@dataclass(frozen=True)
class Integration:
    """All windows of one waveform, and what was outside of them."""

    windows: tuple[WindowEnergy, ...]
    outside: Outside
    edges: tuple[tuple[int, int], ...] = ()
    initial: int = 0


@dataclass
class _Open:
    """A window that is being gathered."""

    window: Window
    values: Distribution | None = None
    head: list[float] = field(default_factory=list)
    last: float = 0.0
    volts_head: float = 0.0
    volts_last: float = 0.0
    changes: int = 0
    steepest: float = 0.0
    range_variance: float = 0.0
    low: float = math.inf
    high: float = -math.inf


def integrate(blocks: Iterable[Block], header: Header, gates: Gates, plan: GatePlan) -> Integration:
    """Integrate all windows in one pass over a waveform's blocks.

    The result's `edges` are those found in the samples themselves, for whoever wants to compare them with stored ones.
    """
    return _Integrator(header, gates, plan).run(blocks)


class _Integrator:
    def __init__(self, header: Header, gates: Gates, plan: GatePlan) -> None:
        self.header = header
        self.plan = plan
        self.gates = gates
        self.steps = None if header.calibration is None else header.calibration.steps()
        self.done: list[WindowEnergy] = []
        self.outside: Distribution | None = None
        self.strongest: float | None = None
        self._edges: list[tuple[int, int]] = []
        self._level: int | None = None
        self._initial = 0

    def run(self, blocks: Iterable[Block]) -> Integration:
        waiting = [_Open(window) for window in self.gates.windows]
        first = waiting[0].window.start if waiting else None
        for block in blocks:
            self._block(block, waiting, first)
            while waiting and waiting[0].window.end <= block.start + len(block.amperes):
                self.done.append(self._close(waiting.pop(0)))
        outside = Outside()
        if self.outside is not None and self.outside.count:
            outside = Outside(self.outside.count, self.outside.quantiles((0.5,))[0], self.strongest)
        return Integration(tuple(self.done), outside, tuple(self._edges), self._initial)

    def _block(self, block: Block, waiting: Sequence[_Open], first: int | None) -> None:
        if self._level is None and len(block.logic):
            self._initial = int(block.logic[0] >> self.header.gate_line) & 1
        found, self._level = edges_in(block.logic, self.header.gate_line, self._level, block.start)
        self._edges += found
        stop = block.start + len(block.amperes)
        changes = _changes(block)
        at = block.start
        for open_window in waiting:
            start, end = open_window.window.start, open_window.window.end
            if start >= stop:
                break
            self._add_outside(block, at, start - GUARD, first)
            self._add(open_window, block, max(start, block.start), min(end, stop), changes)
            at = end + GUARD
        self._add_outside(block, at, stop, first)

    def _add_outside(self, block: Block, start: int, end: int, first: int | None) -> None:
        stop = min(end, block.start + len(block.amperes))
        start = max(start, block.start)
        if stop <= start:
            return
        if self.outside is None:
            self.outside = new_distribution(block)
        low, high = start - block.start, stop - block.start
        self.outside.add(block, low, high, np.empty(0, np.int64))
        if first is None or stop <= first:
            whole = (high - low) // PULSE_SAMPLES * PULSE_SAMPLES
            if whole:
                means = block.amperes[low : low + whole].reshape(-1, PULSE_SAMPLES).mean(axis=1)
                self.strongest = max(float(means.max()), self.strongest or 0.0)

    def _add(self, to: _Open, block: Block, start: int, end: int, changes: NDArray[np.int64]) -> None:
        if end <= start:
            return
        low, high = start - block.start, end - block.start
        if to.values is None:
            to.values = new_distribution(block)
        inside = changes[(changes >= low) & (changes < high)]
        marked = (inside[:, None] + np.arange(MARKED)).ravel()
        to.values.add(block, low, high, marked[marked < high])
        values = block.amperes
        if len(to.head) < 2:
            to.head += [float(x) for x in values[low : min(high, low + 2 - len(to.head))]]
        to.last = float(values[high - 1])
        to.volts_last = float(block.volts[high - 1]) if isinstance(block.volts, np.ndarray) else block.volts
        to.volts_head = to.volts_head or (
            float(block.volts[low]) if isinstance(block.volts, np.ndarray) else block.volts
        )
        if to.window.lost or to.window.edge_lost or to.window.ambiguous:
            to.low = min(to.low, float(values[low:high].min()))
            to.high = max(to.high, float(values[low:high].max()))
        if high - low > 1:
            steps = np.diff(values[low:high])
            to.steepest = max(to.steepest, float(steps.max()), -float(steps.min()))
        to.changes += len(inside)
        to.range_variance += _settling(values, inside, low, high)

    def _close(self, gathered: _Open) -> WindowEnergy:
        window, values, header = gathered.window, gathered.values, self.header
        assert values is not None
        dt = 1.0 / header.rate_hz
        received = values.count
        head = gathered.head[-1]
        # The edge intervals: half of one sample each, at the level next to them.
        trim = 0.5 * head + 0.5 * gathered.last - gathered.head[0] if received > 1 else 0.0
        charge = values.charge() + trim
        power = values.power() + trim * gathered.volts_head
        stretch = window.samples / received
        charge_c, energy_j = charge * stretch * dt, power * stretch * dt
        mean_v = power / charge if charge else gathered.volts_last
        edge = EDGE_SAMPLES * math.hypot(head, gathered.last)
        firmware = self.plan.firmware(window.number)
        per_sample = max(abs(gathered.high - charge / received), abs(charge / received - gathered.low), 0.0)
        mean_a = charge / received
        gaps = 0.0
        if window.lost or window.edge_lost or window.ambiguous:
            gaps = window.lost * per_sample + window.edge_lost * gathered.high
            if firmware is None:
                gaps += 64 * window.ambiguous * gathered.high
        joule = mean_v * dt
        uncertainty = Uncertainty(
            edges=edge * joule,
            quantisation=values.quantisation(header.accuracy.noise_lsb, self.steps) * joule,
            range_changes=math.sqrt(gathered.range_variance) * joule,
            calibration=_calibration(header.accuracy, window.samples * dt, energy_j, mean_v),
            time_base=_time_base(window.samples, firmware, header.rate_hz) * abs(mean_a) * joule,
            gaps=gaps * joule,
        )
        median, p95, p99, peak = values.quantiles(QUANTILES)
        return WindowEnergy(
            number=window.number,
            label=self.plan.label(window.number),
            start=window.start,
            end=window.end,
            samples=window.samples,
            lost=window.lost,
            duration_s=window.samples * dt,
            charge_c=charge_c,
            energy_j=energy_j,
            uncertainty=uncertainty,
            mean_a=mean_a,
            median_a=median,
            p95_a=p95,
            p99_a=p99,
            peak_a=peak,
            range_changes=gathered.changes,
            saturated=values.saturated(),
            steepest_a=gathered.steepest,
        )


def _calibration(accuracy: Accuracy, seconds: float, energy_j: float, volts: float) -> float | None:
    if accuracy.relative is None and accuracy.offset_a is None:
        return None
    offset = (accuracy.offset_a or 0.0) * volts * seconds
    return math.hypot((accuracy.relative or 0.0) * energy_j, offset) / COVERAGE


def _time_base(samples: int, firmware_s: float | None, rate_hz: float) -> float:
    """Samples by which the monitor's and the firmware's clock disagree beyond what the two edges explain."""
    if firmware_s is None:
        return 0.0
    apart = abs(samples - firmware_s * rate_hz)
    return apart if apart > 1.0 else 0.0


def _changes(block: Block) -> NDArray[np.int64]:
    """Indices within a block of the first sample of each new range."""
    if block.words is None:
        return np.empty(0, np.int64)
    ranges = np.flatnonzero((block.words[1:] ^ block.words[:-1]) & np.uint32(0x1C000)) + 1
    if len(ranges) == 0:
        return ranges
    real: NDArray[np.int64] = ranges[ranges_of(block.words[ranges]) != ranges_of(block.words[ranges - 1])]
    return real


def _settling(values: NDArray[np.float64], changes: NDArray[np.int64], low: int, high: int) -> float:
    """Variance that range changes add to a charge, in (amperes times samples) squared.

    What the marked samples deviate from the level to which the signal settles after them may be real or may be the
    converter settling; it counts as a standard uncertainty.
    """
    total = 0.0
    for index, change in enumerate(changes):
        end = int(changes[index + 1]) if index + 1 < len(changes) else high
        after = values[change + MARKED : min(change + MARKED + SETTLED, end)]
        marked = values[change : min(change + MARKED, end)]
        if len(after) == 0:
            after = values[max(low, change - SETTLED) : change]
        if len(after):
            total += float((marked - after.mean()).sum()) ** 2
    return total
