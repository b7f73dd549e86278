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
from harness.power.ppk2_wire import LOGIC_SHIFT, RANGE_MASK
from harness.power.waveform import Accuracy, Block, Header, edges_in

COVERAGE = 1.96
EDGE_SAMPLES = 1 / math.sqrt(12)
SETTLED = 5
"""Samples after the marked ones that tell the level to which a range change settled."""
SETTLING_MARGIN = 1.6
GAP_MARGIN = 1.2
QUANTILES = (0.5, 0.95, 0.99, 1.0)
PULSE_SAMPLES = 1000
"""Length of the stretches in which load outside the windows is looked for."""
SLEW_A = 0.5
"""Steps between two samples above this are looked at: no target draws them within 10 microseconds."""
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
        return math.hypot(COVERAGE * math.hypot(*standard), self.time_base + self.gaps)


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
    """Largest step between two samples, 0 when it is below what matters."""

    @property
    def energy_u95_j(self) -> float:
        """Half-width of the 95 % interval of the energy, in joules."""
        return self.uncertainty.total


@dataclass(frozen=True)
class Outside:
    """What flowed outside of the windows: floor (the lowest tenth of its stretches of 10 ms) and the strongest
    stretch before the first."""

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
    low: float = math.inf
    high: float = -math.inf
    range_variance: float = 0.0


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
        self.done: list[WindowEnergy] = []
        self.strongest: float | None = None
        self._means: list[NDArray[np.float64]] = []
        self._edges: list[tuple[int, int]] = []
        self._level: int | None = None
        self._word: np.uint32 | None = None
        self._initial = 0

    def run(self, blocks: Iterable[Block]) -> Integration:
        waiting = [_Open(window) for window in self.gates.windows]
        first = waiting[0].window.start if waiting else None
        for block in blocks:
            self._block(block, waiting, first)
            while waiting and waiting[0].window.end <= block.start + len(block.amperes):
                self.done.append(self._close(waiting.pop(0)))
        # Load outside of the windows must not pass for the floor.
        floor = float(np.quantile(np.concatenate(self._means), 0.1)) if self._means else None
        outside = Outside(floor, self.strongest)
        return Integration(tuple(self.done), outside, tuple(self._edges), self._initial)

    def _block(self, block: Block, waiting: Sequence[_Open], first: int | None) -> None:
        stop = block.start + len(block.amperes)
        changes = self._changes(block)
        at = block.start
        for open_window in waiting:
            start, end = open_window.window.start, open_window.window.end
            if start >= stop:
                break
            self._add_outside(block, at, start - GUARD, first)
            self._add(open_window, block, max(start, block.start), min(end, stop), changes)
            at = end + GUARD
        self._add_outside(block, at, stop, first)

    def _changes(self, block: Block) -> NDArray[np.int64]:
        """Indices within a block of the first sample of each new range; notes edges of the gate on the way."""
        line = self.header.gate_line
        if block.start == 0 and len(block.logic):
            self._initial = int(block.logic[0] >> line) & 1
        if block.words is None or len(block.words) == 0:
            found, self._level = edges_in(block.logic, line, self._level, block.start)
            self._edges += found
            return np.empty(0, np.int64)
        words, gate = block.words, np.uint32(1 << (LOGIC_SHIFT + line))
        last = words[0] if self._word is None else self._word
        # One pass for both: range or gate bits that differ from those of the sample before.
        mask = np.uint32(RANGE_MASK) | gate
        flips = words[1:] ^ words[:-1]
        flips &= mask
        places = np.flatnonzero(flips != 0) + 1
        if (words[0] ^ last) & mask:
            places = np.concatenate(([0], places))
        now, before = words[places], words[places - 1]
        before[places == 0] = last
        edges = ((now ^ before) & gate) != 0
        self._edges += [
            (block.start + int(place), int(word & gate != 0))
            for place, word in zip(places[edges], now[edges], strict=True)
        ]
        self._word = words[-1]
        changed: NDArray[np.int64] = places[ranges_of(now) != ranges_of(before)]
        return changed

    def _add_outside(self, block: Block, start: int, end: int, first: int | None) -> None:
        stop = min(end, block.start + len(block.amperes))
        start = max(start, block.start)
        if stop <= start:
            return
        low, high = start - block.start, stop - block.start
        whole = (high - low) // PULSE_SAMPLES * PULSE_SAMPLES
        if whole:
            means = block.amperes[low : low + whole].reshape(-1, PULSE_SAMPLES).mean(axis=1)
            self._means.append(means)
            if first is None or stop <= first:
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
        to.low, to.high = min(to.low, float(values[low:high].min())), max(to.high, float(values[low:high].max()))
        if to.high - to.low > SLEW_A:
            to.steepest = max(to.steepest, float(np.abs(np.diff(values[low:high])).max(initial=0.0)))
        to.changes += len(inside)
        # The first sample of a window is not in the integral, see `_close`.
        first = low + (1 if start == to.window.start else 0)
        to.range_variance += _settling(values, inside, first, high)

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
        mean_a = charge / received
        lowest, highest = gathered.low, gathered.high
        # What a missing sample may differ from the mean that stands for it.
        per_sample = GAP_MARGIN * max(highest - mean_a, mean_a - lowest)
        gaps = 0.0
        if window.lost or window.edge_lost or window.ambiguous:
            gaps = window.lost * per_sample + GAP_MARGIN * window.edge_lost * highest
            if firmware is None:
                gaps += 64 * window.ambiguous * highest
        joule = mean_v * dt
        median, p95, p99, peak = values.quantiles(QUANTILES)
        uncertainty = Uncertainty(
            edges=edge * joule,
            quantisation=values.quantisation(header.accuracy.noise_lsb) * joule,
            range_changes=math.sqrt(gathered.range_variance) * joule,
            calibration=_calibration(header.accuracy, window.samples * dt, energy_j, mean_v),
            # The clocks may disagree because of an unseen loss: the missing samples may be any in the window.
            time_base=_time_base(window.samples, firmware, header.rate_hz) * max(abs(mean_a), highest) * joule,
            gaps=gaps * joule,
        )
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


def _settling(values: NDArray[np.float64], changes: NDArray[np.int64], low: int, high: int) -> float:
    """Variance that range changes add to a charge, in (amperes times samples) squared.

    What the marked samples deviate from the level to which the signal settles after them may be real or may be the
    converter settling. If it is all settling it is the error itself: so the 95 % interval holds it, with a margin.
    """
    total = 0.0
    for index, change in enumerate(changes):
        end = int(changes[index + 1]) if index + 1 < len(changes) else high
        after = values[change + MARKED : min(change + MARKED + SETTLED, end)]
        marked = values[max(change, low) : min(change + MARKED, end)]
        if len(after) == 0:
            after = values[max(low, change - SETTLED) : change]
        if len(after):
            total += (float((marked - after.mean()).sum()) * SETTLING_MARGIN / COVERAGE) ** 2
    return total
