"""From the bytes of a PPK2 to sample words, currents and the display filter; vectorised, in chunks of any size.

The parser never trusts its alignment: the sample counter of every word is checked. Where it jumps, the parser tells
lost samples, a repeated block, a corrupt word and lost bytes apart, realigns if it must, and records an event; nothing
is filled in. Losses of exact multiples of 64 samples leave no trace in the counter: see `integrity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter  # type: ignore[attr-defined]

from harness.power.ppk2_wire import COUNTER_MASK, KEY_MASK, RANGE_MASK, RANGE_SHIFT, WORD, Calibration

Words = NDArray[np.uint32]
EventKind = Literal["lost", "repeated", "corrupt", "realigned", "start"]

MODULUS = 64
RUN = 12
"""Words whose counters must run on before an alignment is believed: a false match takes 64**-11."""
SUSPECT = 2
"""Words before visible loss of alignment that may be damaged already: the logic byte's loss shows one word later."""
HISTORY = 16384
"""Samples back to which a repeated block is recognised."""
SEARCH_LIMIT = 1 << 16


@dataclass(frozen=True)
class StreamEvent:
    """Something wrong in the stream, before the accepted word `index`.

    `lost` samples are missing there; when `ambiguous`, that number may be too small by a multiple of 64.
    `dropped_bytes` were received and not used.
    """

    kind: EventKind
    index: int
    lost: int = 0
    dropped_bytes: int = 0
    ambiguous: bool = False


@dataclass(frozen=True)
class _Step:
    """Words taken, the byte to go on from, the counter expected there, and whether the buffer is used up."""

    words: Words
    at: int
    expected: int | None
    done: bool = False


class StreamParser:
    """Splits bytes into aligned words and records what went wrong. One per capture; feed, then finish."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.accepted = 0
        self._tail = b""
        self._expected: int | None = None
        self._history = np.empty(0, WORD)

    def feed(self, data: bytes) -> Words:
        """Accepted words of everything fed so far that were not returned yet; a few are held back."""
        return self._parse(data, final=False)

    def finish(self) -> Words:
        """The words held back at the end of the stream."""
        return self._parse(b"", final=True)

    def _parse(self, data: bytes, *, final: bool) -> Words:
        buffer = self._tail + data if self._tail else bytes(data)
        raw = np.frombuffer(buffer, np.uint8)
        parts: list[Words] = []
        step = _Step(_NONE, 0, self._expected)
        while not step.done:
            step = self._step(raw, step.at, step.expected, final)
            if len(step.words):
                parts.append(step.words)
                self.accepted += len(step.words)
                recent = step.words[-HISTORY:]
                self._history = np.concatenate((self._history, recent))[-HISTORY:]
        self._expected = step.expected
        self._tail = b"" if final else buffer[step.at :]
        if not parts:
            return _NONE
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _step(self, raw: NDArray[np.uint8], at: int, expected: int | None, final: bool) -> _Step:
        """Take words from byte `at` up to the next fault and deal with that fault."""
        if expected is None:
            return self._start(raw, at)
        count = (len(raw) - at) // 4
        words = raw[at : at + 4 * count].view(WORD)
        counters = _counters(raw, at, count)
        fault = _first_break(counters, expected)
        if fault is None:
            take = count if final else max(count - SUSPECT, 0)
            return _Step(words[:take], at + 4 * take, (expected + take) % MODULUS, done=True)
        if count - fault <= RUN and not final:
            return self._wait(words, fault, at, expected)
        wanted = (expected + fault) % MODULUS
        after = counters[fault : fault + RUN]
        step = self._repeated(words, counters, fault, at, wanted, final)
        if step is not None:
            return step
        if len(after) >= 3 and _runs_on(after):
            # The word at the join may be put together from two: its counter is right, its code perhaps not.
            ahead = (int(after[0]) - wanted) % MODULUS
            self._event("lost", fault, dropped=4, lost=ahead + 1, ambiguous=True)
            return _Step(words[:fault], at + 4 * (fault + 1), int(after[1]))
        if len(after) >= 3 and after[1] == (wanted + 1) % MODULUS and _runs_on(after[1:]):
            self._event("corrupt", fault, dropped=4, lost=1)
            return _Step(words[:fault], at + 4 * (fault + 1), int(after[1]))
        return self._realign(raw, words, fault, at, expected, final)

    def _start(self, raw: NDArray[np.uint8], at: int) -> _Step:
        found = _find_alignment(raw, at)
        if found is None:
            drop = len(raw) - at > SEARCH_LIMIT
            return _Step(_NONE, len(raw) - 4 * RUN if drop else at, None, done=True)
        if found > at:
            self._event("start", 0, dropped=found - at)
        return _Step(_NONE, found, int(raw[found + 2] >> 2))

    @staticmethod
    def _wait(words: Words, fault: int, at: int, expected: int) -> _Step:
        """Not enough bytes after the fault to tell what it is."""
        take = max(fault - SUSPECT, 0)
        return _Step(words[:take], at + 4 * take, (expected + take) % MODULUS, done=True)

    def _repeated(
        self, words: Words, counters: NDArray[np.uint8], fault: int, at: int, wanted: int, final: bool
    ) -> _Step | None:
        """Deal with a block that came twice: the same words as before, after which the counter runs on."""
        back = (wanted - int(counters[fault])) % MODULUS or MODULUS
        known = np.concatenate((self._history, words[:fault]))[-HISTORY:]
        for size in range(back, len(known) + 1, MODULUS):
            same = min(size, 2 * RUN, len(words) - fault)
            if not np.array_equal(words[fault : fault + same], known[-size : len(known) - size + same]):
                continue
            if fault + size >= len(words):
                if not final:
                    return self._wait(words, fault, at, (wanted - fault) % MODULUS)
                self._event("repeated", fault, dropped=4 * (len(words) - fault))
                return _Step(words[:fault], at + 4 * len(words), wanted, done=True)
            if counters[fault + size] == wanted:
                self._event("repeated", fault, dropped=4 * size)
                return _Step(words[:fault], at + 4 * (fault + size), wanted)
        return None

    def _realign(self, raw: NDArray[np.uint8], words: Words, fault: int, at: int, expected: int, final: bool) -> _Step:
        keep = max(fault - SUSPECT, 0)
        first = at + 4 * keep
        wanted = (expected + keep) % MODULUS
        found = _find_alignment(raw, at + 4 * max(fault - 1, 0) + 1)
        if found is None:
            if final:
                self._event("realigned", keep, dropped=len(raw) - first, ambiguous=True)
                return _Step(words[:keep], len(raw), wanted, done=True)
            if len(raw) - first <= SEARCH_LIMIT:
                return _Step(words[:keep], first, wanted, done=True)
            # Nothing but noise: forget it, begin anew where it ends.
            rest = 4 * RUN
            self._event(
                "realigned", keep, dropped=len(raw) - first - rest, lost=(len(raw) - first) // 4, ambiguous=True
            )
            return _Step(words[:keep], len(raw) - rest, None, done=True)
        # Here too.
        found += 4
        short = (int(raw[found + 2] >> 2) - wanted) % MODULUS
        estimate = (found - first + 3) // 4
        lost = short + MODULUS * max(0, round((estimate - short) / MODULUS))
        self._event("realigned", keep, dropped=found - first, lost=lost, ambiguous=True)
        return _Step(words[:keep], found, int(raw[found + 2] >> 2))

    def _event(self, kind: EventKind, offset: int, *, dropped: int = 0, lost: int = 0, ambiguous: bool = False) -> None:
        self.events.append(StreamEvent(kind, self.accepted + offset, lost, dropped, ambiguous))


_NONE: Words = np.empty(0, WORD)


def _counters(raw: NDArray[np.uint8], at: int, count: int) -> NDArray[np.uint8]:
    """Sample counters of `count` words from byte `at` on."""
    counters: NDArray[np.uint8] = raw[at + 2 : at + 4 * count : 4] >> np.uint8(2)
    return counters


def _first_break(counters: NDArray[np.uint8], expected: int) -> int | None:
    """Index of the first word whose counter is not one above its predecessor's."""
    if len(counters) == 0:
        return None
    if counters[0] != expected:
        return 0
    broken = ((counters[1:] - counters[:-1]) & COUNTER_MASK) != 1
    index = int(broken.argmax()) if len(broken) else 0
    return index + 1 if len(broken) and broken[index] else None


def _runs_on(counters: NDArray[np.uint8]) -> bool:
    return bool(np.all(((counters[1:] - counters[:-1]) & COUNTER_MASK) == 1))


def _find_alignment(raw: NDArray[np.uint8], start: int) -> int | None:
    """The first byte at or after `start` from which the counters of RUN words run on."""
    span = 4096
    while True:
        stop = min(len(raw), start + span)
        found = [f for phase in range(4) if (f := _first_run(raw, start + phase, stop)) is not None]
        if found:
            return min(found)
        if stop == len(raw):
            return None
        span *= 8


def _first_run(raw: NDArray[np.uint8], start: int, stop: int) -> int | None:
    counters = _counters(raw, start, max(stop - start, 0) // 4)
    if len(counters) < RUN:
        return None
    good = ((counters[1:] - counters[:-1]) & COUNTER_MASK) == 1
    bad = np.flatnonzero(~good)
    edges = np.concatenate(([-1], bad, [len(good)]))
    runs = np.flatnonzero(np.diff(edges) - 1 >= RUN - 1)
    return None if len(runs) == 0 else start + 4 * (int(edges[runs[0]]) + 1)


MARKED = 3
"""Samples from a range change on that the display filter replaces and the uncertainty considers."""
ALPHA_FAST = 0.18
ALPHA_SLOW = 0.06
TOP_RANGE = 4


def ranges_of(words: Words) -> NDArray[np.uint8]:
    """Range 0..4 of each word, dtype uint8."""
    ranges: NDArray[np.uint8] = np.minimum((words & RANGE_MASK) >> RANGE_SHIFT, TOP_RANGE).astype(np.uint8)
    return ranges


class Decoder:
    """Currents and display values of accepted words; chunk by chunk, with the state carried over.

    Args:
        calibration: of the device that sent them.
        vdd_volts: supply that the correction terms refer to.
    """

    def __init__(self, calibration: Calibration, vdd_volts: float) -> None:
        self.table = calibration.amperes(vdd_volts)
        self._fast = self._slow = 0.0
        self._range: int | None = None
        self._since = MARKED
        """Samples since the last range change, at most MARKED."""

    def amperes(self, words: Words) -> NDArray[np.float64]:
        """Exact currents in amperes, shape of `words`: one table look-up a sample, no state."""
        amperes: NDArray[np.float64] = self.table[words & KEY_MASK]
        return amperes

    def decode(self, words: Words) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """(exact currents, display currents, indices of marked samples) of the next chunk; amperes."""
        exact = self.amperes(words)
        if len(words) == 0:
            return exact, exact.copy(), np.empty(0, np.int64)
        changes = self._changes(words)
        marked = _spread(changes, self._since, len(words))
        top = ranges_of(words[marked]) == TOP_RANGE
        frozen = marked[top & (_age(marked, changes, self._since) < 2)]
        fast, slow = self._averages(exact, frozen)
        display = exact.copy()
        display[marked] = np.where(top, slow[marked], fast[marked])
        self._fast, self._slow = float(fast[-1]), float(slow[-1])
        self._since = min(MARKED, len(words) - int(changes[-1]) if len(changes) else self._since + len(words))
        return exact, display, marked

    def _changes(self, words: Words) -> NDArray[np.int64]:
        inside = np.flatnonzero((words[1:] ^ words[:-1]) & RANGE_MASK) + 1
        first = int(ranges_of(words[:1])[0])
        changed = self._range is not None and self._range != first
        if len(inside):
            ranges = ranges_of(words[inside - 1]), ranges_of(words[inside])
            inside = inside[ranges[0] != ranges[1]]
        if self._range is None:
            self._fast = self._slow = float(self.amperes(words[:1])[0])
        self._range = int(ranges_of(words[-1:])[0])
        return np.concatenate(([0], inside)) if changed else inside

    def _averages(
        self, exact: NDArray[np.float64], frozen: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both exponential averages after each sample; `frozen` samples leave them as they were."""
        if len(frozen) == 0:
            return _ema(exact, ALPHA_FAST, self._fast), _ema(exact, ALPHA_SLOW, self._slow)
        moving = np.ones(len(exact), bool)
        moving[frozen] = False
        kept = exact[moving]
        place = np.cumsum(moving)
        both = []
        for alpha, start in ((ALPHA_FAST, self._fast), (ALPHA_SLOW, self._slow)):
            both.append(np.concatenate(([start], _ema(kept, alpha, start)))[place])
        return both[0], both[1]


def _ema(values: NDArray[np.float64], alpha: float, start: float) -> NDArray[np.float64]:
    if len(values) == 0:
        return values
    out: NDArray[np.float64] = lfilter([alpha], [1.0, alpha - 1.0], values, zi=[(1.0 - alpha) * start])[0]
    return out


def _spread(changes: NDArray[np.int64], since: int, count: int) -> NDArray[np.int64]:
    """Indices of samples within MARKED of a change, including one in an earlier chunk `since` samples ago."""
    early = np.arange(max(0, min(MARKED - since, count)))
    if len(changes) == 0:
        return early
    places = (changes[:, None] + np.arange(MARKED)).ravel()
    places = np.concatenate((early, places[places < count]))
    if len(early) or (len(changes) > 1 and int(np.diff(changes).min()) < MARKED):
        places = np.unique(places)
    return places


def _age(marked: NDArray[np.int64], changes: NDArray[np.int64], since: int) -> NDArray[np.int64]:
    """Samples between each marked one and the change before it."""
    known = np.concatenate(([-since], changes))
    return marked - known[np.searchsorted(known, marked, side="right") - 1]
