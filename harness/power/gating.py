"""From the edges of the gate line to measured windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.power.waveform import Gap

GLITCH_SAMPLES = 3
"""Pulses of at most so many samples are glitches of the line, not windows; they are reported, never hidden."""


@dataclass(frozen=True)
class GatePlan:
    """What the plan and the firmware say of the windows.

    `inferences` is the planned number a window; `counts` are those numbers where windows differ. `firmware_s` are the
    durations that the firmware measured, in order, None where it did not; `completed` the inferences it says to have
    finished, None when it did not say. `labels` name what each window measures when there are several (a layer range,
    say); windows of one label are repeats.
    """

    windows: int = 1
    inferences: int = 1
    firmware_s: tuple[float | None, ...] = ()
    completed: int | None = None
    labels: tuple[str, ...] = ()
    minimum_s: float = 0.0
    counts: tuple[int, ...] = ()

    @property
    def planned(self) -> int:
        """Inferences in all windows."""
        return sum(self.counts) if self.counts else self.inferences * self.windows

    def count(self, number: int) -> int:
        """Planned inferences of a window."""
        return self.counts[number] if number < len(self.counts) else self.inferences

    def firmware(self, number: int) -> float | None:
        """The firmware's duration of a window in seconds."""
        return self.firmware_s[number] if number < len(self.firmware_s) else None

    def label(self, number: int) -> str:
        """What a window measures."""
        return self.labels[number] if number < len(self.labels) else ""


@dataclass(frozen=True)
class Window:
    """Samples [start, end) during which the gate was high; `lost` of them are missing between those."""

    number: int
    start: int
    end: int
    lost: int = 0
    edge_lost: int = 0
    """Samples missing right at an edge: the edge lies somewhere among them."""
    ambiguous: int = 0
    """Gaps inside that may be larger by a multiple of 64 samples."""

    @property
    def samples(self) -> int:
        """Length on the time axis, in samples: received and lost ones."""
        return self.end - self.start + self.lost


@dataclass(frozen=True)
class Gates:
    """Windows and what was odd about the gate line."""

    windows: tuple[Window, ...]
    glitches: tuple[int, ...] = field(default=())
    high_at_start: bool = False
    high_at_end: bool = False


def find_gates(edges: Sequence[tuple[int, int]], initial: int, total: int, gaps: Sequence[Gap] = ()) -> Gates:
    """Windows between edges of the gate line.

    Args:
        edges: (first sample of the new level, level), in order.
        initial: level of the first sample.
        total: samples in the waveform.
        gaps: where samples are missing.

    A window that was open at the start or at the end of the waveform is not one. Pulses and interruptions of at most
    `GLITCH_SAMPLES` are taken out and listed.
    """
    places, glitches = _without_glitches([(0, initial), *edges], total)
    high_at_start = bool(places) and places[0][1] == 1
    high_at_end = total > 0 and bool(places) and places[-1][1] == 1
    windows: list[Window] = []
    for (start, level), (end, _) in itertools.pairwise(places):
        if level == 1 and start > 0:
            windows.append(_window(len(windows), start, end, gaps))
    return Gates(tuple(windows), tuple(glitches), high_at_start, high_at_end)


def whole_capture(total: int, gaps: Sequence[Gap] = ()) -> Gates:
    """One window over all samples of a capture."""
    return Gates((_window(0, 0, total, gaps),) if total else ())


def _without_glitches(levels: list[tuple[int, int]], total: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Merge short stretches into what surrounds them; also drops repeated levels."""
    kept: list[tuple[int, int]] = [levels[0]]
    glitches: list[int] = []
    for index in range(1, len(levels)):
        start, level = levels[index]
        end = levels[index + 1][0] if index + 1 < len(levels) else total
        if end - start <= GLITCH_SAMPLES and end < total:
            glitches.append(start)
        elif level != kept[-1][1]:
            kept.append((start, level))
    return kept, glitches


def _window(number: int, start: int, end: int, gaps: Sequence[Gap]) -> Window:
    inside = [gap for gap in gaps if start < gap.index < end]
    at_edge = [gap for gap in gaps if gap.index in (start, end)]
    return Window(
        number,
        start,
        end,
        lost=sum(gap.lost for gap in inside),
        edge_lost=sum(gap.lost for gap in at_edge),
        ambiguous=sum(gap.ambiguous for gap in (*inside, *at_edge)),
    )
