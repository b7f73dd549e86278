"""Which counters are measured in which pass: few exist at once, so a selection of events becomes several passes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.capture.events import (
    CPU_CYCLES,
    EVENTS,
    GROUPS,
    OBSERVATIONS,
    PREFIX,
    Event,
    find_event,
    group_events,
)
from harness.capture.wire import Source
from harness.core.errors import SettingsError

Selection = Mapping[str, str | Sequence[str]]
"""Counter groups to `default`, `all`, `none` or a list of event names in measuring order."""

DEFAULT_SELECTION: Selection = dict.fromkeys(GROUPS, "default")
NO_PMU = "not available on this core: it has no PMU, only a cycle counter"
SMALL_WITH_PMU = "not read on this core: its PMU counts in place of the small counters of a DWT"
SMALL_ABSENT = "not available on this core: its DWT has no profiling counters"
SMALL_STILL = "not available: the small counters of the DWT stood still in the self-test"
NO_COUNTERS = "not available: this target has no cycle counter"
REFUSED = "not counted by this core: its PMU refuses the event"
NO_PLUGIN = "not available: this emulator keeps no counters; it tells instructions alone, from its fixed -icount"
NO_EMULATOR = "not available on silicon: only an emulator knows it"


@dataclass(frozen=True)
class ColumnPlan:
    """One column to measure: where it is read, its number there, the name users see."""

    source: Source
    number: int
    name: str


CYCLES = ColumnPlan(Source.CYCLES, 0, CPU_CYCLES)


@dataclass(frozen=True)
class PassPlan:
    """One instrumented pass; the first column is the cycle counter, where there is one."""

    name: str
    columns: tuple[ColumnPlan, ...]


@dataclass(frozen=True)
class Passes:
    """Passes in measuring order, and what of the selection cannot be measured, with reasons."""

    passes: tuple[PassPlan, ...]
    unavailable: Mapping[str, str]


def select_events(selection: Selection) -> dict[str, tuple[Event, ...]]:
    """Events of each chosen group. An empty selection means the default of every group.

    Raises:
        SettingsError: an unknown group or event, or an event of another group.
    """
    out: dict[str, tuple[Event, ...]] = {}
    for group, chosen in (selection or DEFAULT_SELECTION).items():
        if group not in GROUPS:
            raise SettingsError(
                f"There is no counter group {group!r}.", why=_near(group, GROUPS), todo=f"Groups: {', '.join(GROUPS)}."
            )
        if chosen == "none":
            continue
        if chosen == "all":
            out[group] = group_events(group)
        elif chosen == "default":
            out[group] = tuple(event for event in group_events(group) if event.default)
        elif isinstance(chosen, str):
            raise SettingsError(f"Counters of group {group} must be default, all, none or a list, not {chosen!r}.")
        else:
            out[group] = tuple(_event(group, name) for name in chosen)
    return {group: out[group] for group in GROUPS if group in out}


def small_state(self_test: Mapping[str, int]) -> str | None:
    """Why the small counters of a DWT cannot be read, as the self-test tells; None where they can."""
    if self_test.get("event_slots"):
        return SMALL_WITH_PMU
    if not self_test.get("small_present"):
        return SMALL_ABSENT
    return None if self_test.get("small_advance") else SMALL_STILL


def plan_passes(
    selection: Selection, *, cycles: bool, slots: int, observer: bool, no_small: str | None = SMALL_ABSENT
) -> Passes:
    """Lay a selection out over the counters that a target has.

    Args:
        selection: counters by group.
        cycles: whether the target has a cycle counter; without one nothing is measured.
        slots: event counters that exist at once; 0 on a core without PMU.
        observer: whether the target is an emulator that tells what it saw.
        no_small: why the small counters of a DWT cannot be read; None where they can.
    """
    groups = select_events(selection)
    wanted = [event.name for events in groups.values() for event in events]
    if not cycles and observer:
        columns = (ColumnPlan(Source.OBSERVER, index, name) for index, name in enumerate(OBSERVATIONS))
        return Passes((PassPlan("emulator", tuple(columns)),), dict.fromkeys([CPU_CYCLES, *wanted], NO_PLUGIN))
    if not cycles:
        return Passes((), dict.fromkeys([CPU_CYCLES, *wanted], NO_COUNTERS))
    passes: list[PassPlan] = []
    unavailable = {} if observer else dict.fromkeys(OBSERVATIONS, NO_EMULATOR)
    small = groups.pop("dwt", ())
    if no_small is not None:
        unavailable.update((event.name, no_small) for event in small)
        small = ()
    for group, events in groups.items():
        counted = [event for event in events if event.name != CPU_CYCLES]
        if slots == 0:
            unavailable.update((event.name, NO_PMU) for event in counted)
            continue
        for index, some in enumerate(_batches(counted, slots)):
            columns = (ColumnPlan(Source.EVENT, event.number, event.name) for event in some)
            passes.append(PassPlan(f"{group}_{index}", (CYCLES, *columns)))
    if small:
        passes.append(PassPlan("dwt_0", (CYCLES, *(ColumnPlan(Source.SMALL, e.number, e.name) for e in small))))
    if not passes and groups:
        passes.append(PassPlan(f"{next(iter(groups))}_0", (CYCLES,)))
    if observer:
        columns = (ColumnPlan(Source.OBSERVER, index, name) for index, name in enumerate(OBSERVATIONS))
        passes.append(PassPlan("emulator", (CYCLES, *columns)))
    return Passes(tuple(passes), unavailable)


def _batches(events: Sequence[Event], size: int) -> Iterable[Sequence[Event]]:
    return (events[start : start + size] for start in range(0, len(events), size))


def _event(group: str, name: str) -> Event:
    event = find_event(name)
    if event is None:
        raise SettingsError(
            f"There is no counter {name!r}.",
            why=_near(name if name.startswith(PREFIX) else PREFIX + name, EVENTS),
            todo=f"Counters of group {group}: {', '.join(e.name.removeprefix(PREFIX) for e in group_events(group))}.",
        )
    if event.group != group:
        raise SettingsError(
            f"Counter {event.name} belongs to group {event.group!r}, not {group!r}.",
            todo=f"List it under {event.group!r}.",
        )
    return event


def _near(text: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(text, list(names), n=1)
    return f"Did you mean {near[0]!r}?" if near else ""
