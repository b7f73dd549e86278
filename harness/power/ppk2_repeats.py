"""Blocks of exactly a multiple of 64 samples that came twice: the sample counter runs on, only the content tells.

Noise makes equal blocks impossible by chance: with rms noise of half an ADC step two samples are equal in about a third
of cases, 64 in a row never. A stream without noise, where neighbours are equal most of the time, is not judged; `blind`
then says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.power.ppk2_decode import Words
from harness.power.ppk2_wire import COUNTER_MASK, COUNTER_SHIFT, KEY_MASK, WORD
from harness.power.waveform import Gap

FRAME = 64
KEEP_FRAMES = 1024
"""Distance back, in frames, at which a repeated block is recognised: 0.66 s."""
MIN_CODES = 3
"""Different codes that a frame must hold to be evidence."""
EQUAL_LIMIT = 0.6

_RANDOM = np.random.default_rng(20240229)
_WEIGHTS: NDArray[np.uint64] = _RANDOM.integers(1, 2**63, FRAME, dtype=np.uint64) | np.uint64(1)


class RepeatFinder:
    """Looks at accepted words as they come. `gaps` holds what was found: `lost` is negative, the samples too many."""

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.blind = 0
        """Frames that held too little noise to be judged."""
        self._buffer: Words = np.empty(0, WORD)
        self._start = 0
        """Index of the buffer's first word."""
        self._seen: dict[int, int] = {}

    def feed(self, words: Words) -> None:
        """Look at the next words."""
        if len(words) == 0:
            return
        old = len(self._buffer)
        self._buffer = np.concatenate((self._buffer, words))
        # Far enough back that a run across two feeds shows whole in one of them.
        fresh = max(old - 4 * FRAME, 0)
        self._neighbours(fresh)
        self._frames(fresh)
        keep = KEEP_FRAMES * FRAME
        if len(self._buffer) > 2 * keep:
            cut = len(self._buffer) - keep
            self._buffer = self._buffer[cut:]
            self._start += cut
            self._seen = {key: at for key, at in self._seen.items() if at >= self._start}

    def _neighbours(self, fresh: int) -> None:
        """A block of 64 right after itself."""
        part = self._buffer[fresh:]
        if len(part) < 2 * FRAME:
            return
        same = part[FRAME:] == part[:-FRAME]
        half = FRAME // 2
        whole = len(same) // half * half
        rows = same[:whole].reshape(-1, half)
        for row in np.flatnonzero(rows.all(axis=1)):
            at = fresh + int(row) * half + FRAME
            if self._evidence(self._buffer[at - FRAME : at]):
                self._found(at, FRAME)

    def _frames(self, fresh: int) -> None:
        counters = (self._buffer[fresh : fresh + FRAME] >> np.uint32(COUNTER_SHIFT)) & np.uint32(COUNTER_MASK)
        zero = np.flatnonzero(counters == 0)
        if len(zero) == 0:
            return
        first = fresh + int(zero[0])
        count = (len(self._buffer) - first) // FRAME
        if count == 0:
            return
        frames = self._buffer[first : first + count * FRAME].reshape(-1, FRAME)
        hashes = (frames.astype(np.uint64) * _WEIGHTS).sum(axis=1)
        for row, key in enumerate(hashes.tolist()):
            at = self._start + first + row * FRAME
            before = self._seen.get(key)
            self._seen[key] = at
            if before is None or before >= at or before < self._start:
                continue
            back = at - before
            here = at - self._start
            if not np.array_equal(frames[row], self._buffer[here - back : here - back + FRAME]):
                continue
            if self._evidence(frames[row]):
                self._found(here, back)

    def _evidence(self, words: Words) -> bool:
        keys = words & np.uint32(KEY_MASK)
        if len(np.unique(keys)) >= MIN_CODES and float(np.mean(keys[1:] == keys[:-1])) < EQUAL_LIMIT:
            return True
        self.blind += 1
        return False

    def _found(self, at: int, back: int) -> None:
        """Note the run of words around `at` that equal those `back` before them, once."""
        start, end = at, at
        while start > back and self._buffer[start - 1] == self._buffer[start - 1 - back]:
            start -= 1
        while end < len(self._buffer) and self._buffer[end] == self._buffer[end - back]:
            end += 1
        index = self._start + start
        if end - start < FRAME or any(gap.index - back < index < gap.index - gap.lost + back for gap in self.gaps[-4:]):
            return
        self.gaps.append(Gap(index, -back, "repeated-kept"))
