"""Statistics of repeated events, grouped by the signature of their runs. Times in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.interop.etdump.dump import EtDump, ProfileEvent, Run


@dataclass(frozen=True)
class Summary:
    """Mean, percentiles (linear between samples) and extremes of some samples."""

    count: int
    avg: float
    p10: float
    p50: float
    p90: float
    min: float
    max: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Summary:
        """Of at least one sample."""
        p10, p50, p90 = (float(value) for value in np.percentile(np.array(samples), [10, 50, 90]))
        return cls(len(samples), float(np.mean(np.array(samples))), p10, p50, p90, min(samples), max(samples))


@dataclass(frozen=True)
class EventSeries:
    """One event over all runs of a group: raw samples in order, and the event of the first run."""

    event: ProfileEvent
    samples: tuple[float, ...]
    metadata: tuple[bytes | None, ...]

    @property
    def all(self) -> Summary:
        """Over every execution, as the SDK's inspector states it."""
        return Summary.of(self.samples)

    @property
    def first_is_warmup(self) -> bool:
        """Whether the first execution is left out of `steady`."""
        return len(self.samples) > 1

    @property
    def steady(self) -> Summary:
        """Without the first execution, unless it is the only one."""
        return Summary.of(self.samples[1:] if self.first_is_warmup else self.samples)


@dataclass(frozen=True)
class RunGroup:
    """Repetitions of one sequence of events. `runs` are positions in the dump."""

    name: str
    runs: tuple[int, ...]
    series: tuple[EventSeries, ...]


def group_runs(dump: EtDump, ticks_per_ms: float = 1e6) -> tuple[RunGroup, ...]:
    """Group the runs of a dump by signature, in order of first appearance.

    Args:
        dump: the dump.
        ticks_per_ms: ticks in a millisecond; a host dump counts nanoseconds. A target's dump does not say.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Run]]] = {}
    for index, run in enumerate(dump.runs):
        groups.setdefault(run.signature, []).append((index, run))
    out: list[RunGroup] = []
    for members in groups.values():
        first = members[0][1]
        series = tuple(
            EventSeries(
                event,
                tuple(run.events[position].ticks / ticks_per_ms for _, run in members),
                tuple(run.events[position].metadata for _, run in members),
            )
            for position, event in enumerate(first.events)
        )
        out.append(RunGroup(first.name, tuple(index for index, _ in members), series))
    return tuple(out)


def outermost(group: RunGroup) -> dict[tuple[int, int], EventSeries]:
    """The event of each (chain, instruction) that contains the others of it, never to be added to them."""
    best: dict[tuple[int, int], EventSeries] = {}
    for series in group.series:
        event = series.event
        if not event.maps_to_operator or event.delegate_id is not None:
            continue
        known = best.get((event.chain, event.instruction))
        if known is None or _contains(event, known.event):
            best[(event.chain, event.instruction)] = series
    return best


def _contains(outer: ProfileEvent, inner: ProfileEvent) -> bool:
    return outer.start <= inner.start and outer.end >= inner.end


def to_dict(series: EventSeries) -> dict[str, Any]:
    """JSON-ready form of a series, for the extension."""
    return {
        "name": series.event.name,
        "chain": series.event.chain,
        "instruction": series.event.instruction,
        "delegate_id": series.event.delegate_id,
        "samples_ms": list(series.samples),
        "first_is_warmup": series.first_is_warmup,
        "steady_count": series.steady.count,
    }
