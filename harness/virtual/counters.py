"""The counter plugin of emulated boards: where it is, how it is told about a board, what it models.

The plugin (native/counters, C) is loaded into the emulator. It serves pages of guest RAM that look like a DWT, an
Armv8.1-M PMU and the emulator's own observations. Counts of instructions are exact; cycles, stalls and energy follow
the board's cost tables and are modelled, never measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import BoardDescriptorError
from harness.core.suggest import did_you_mean
from harness.virtual.native_build import NATIVE_DIR, build_shared, host_compiler
from harness.virtual.plugin_host import VERIFIED_INTERFACE
from harness.virtual.pmu_events import EVENTS, PmuEvent

if TYPE_CHECKING:
    from harness.board.descriptor import BoardType
    from harness.board.emulation import CostTable, Emulator, EnergyTable

SOURCES = NATIVE_DIR / "counters"

OBSERVER_COUNTERS: tuple[str, ...] = (
    "instructions",
    "cycles",
    "loads",
    "stores",
    "branches",
    "mve_instructions",
    "l1d_accesses",
    "l1d_misses",
    "energy_fj",
)
"""The observer page's values in their order; users see them as `emulator.<name>`."""

_COMMON_COSTS = ("default", "branch_taken", "condition_failed", "word")


def plugin_path(interface: int = VERIFIED_INTERFACE) -> Path:
    """The compiled plugin for a version of the emulator's plugin interface; made on first use.

    Raises:
        ToolMissingError: this host has no C compiler.
        BuildError: the compiler refused.
        DeadlineError: it did not end.
    """
    # What runs at every access of the target is spread over several files; GCC joins them without further tools.
    joined = ("-flto",) if "gcc" in host_compiler().resolve().name else ()
    return build_shared("libharness-counters.so", SOURCES, flags=(f"-DCOUNTERS_INTERFACE={interface}", *joined))


@cache
def instruction_kinds() -> tuple[str, ...]:
    """The kinds of instruction that cost tables name, as the plugin's source lists them."""
    return tuple(re.findall(r'^    X\(\w+, "(\w+)"', (SOURCES / "kinds.h").read_text("utf-8"), re.MULTILINE))


def plugin_args(
    board: BoardType,
    pages_file: Path,
    *,
    summary: Path | None = None,
    events: Path | None = None,
    swo: Path | None = None,
) -> str:
    """What follows the plugin's path in QEMU's `-plugin` argument.

    Args:
        board: an emulated board type.
        pages_file: where the launcher writes the pages' addresses inside the emulator before the core starts.
        summary: when given, all raw counts are written there as the emulator ends.
        swo: when given, and the board has an ITM page, its trace packets go into a ring in this file.
        events: when given, edges of the gate and energy while it is high are logged there, see `ppk2_signal`.

    Raises:
        BoardDescriptorError: the board is not emulated, or a cost table names an unknown kind of instruction.
    """
    emulator = board.emulator
    if emulator is None:
        raise BoardDescriptorError(
            f"{board.name} is not an emulated board type.",
            why="It has no emulator section, so there is nothing for the counter plugin to stand in for.",
            todo="Name an emulated board type.",
        )
    options = [*_places(board, emulator), *_memory(emulator), *_costs(board, emulator)]
    options += [f"{key}={value}" for key, value in emulator.options.items()]
    # QEMU splits at commas and reads two of them as one.
    options.append("pages=" + str(pages_file).replace(",", ",,"))
    if summary is not None:
        options.append("summary=" + str(summary).replace(",", ",,"))
    if events is not None:
        options.append("events=" + str(events).replace(",", ",,"))
    if swo is not None and emulator.pages.itm is not None:
        options.append("swo=" + str(swo).replace(",", ",,"))
    return ",".join(options)


def _range(first: int, behind: int) -> str:
    return f"{first:#x}-{behind - 1:#x}"


def _places(board: BoardType, emulator: Emulator) -> Iterable[str]:
    yield f"dwt={emulator.pages.dwt:#x}"
    yield f"observer={emulator.pages.observer:#x}"
    if emulator.pages.itm is not None:
        yield f"itm={emulator.pages.itm:#x}"
    if emulator.pages.pmu is not None:
        yield f"pmu={emulator.pages.pmu:#x}"
        yield f"pmu_counters={board.core.counter_slots}"
    code = emulator.access_code
    yield f"access={_range(code.origin, code.origin + code.length)}"


def _memory(emulator: Emulator) -> Iterable[str]:
    yield f"bus={emulator.bus_bytes}"
    for first, behind in emulator.tcm:
        yield f"tcm={_range(first, behind)}"
    if emulator.cache is not None:
        yield f"cache={emulator.cache.size}:{emulator.cache.line}:{emulator.cache.ways}"
        for first, behind in emulator.cache.cacheable:
            yield f"cacheable={_range(first, behind)}"


def _costs(board: BoardType, emulator: Emulator) -> Iterable[str]:
    yield from _table(board, "cost_table.cycles", "cost", emulator.cost_table.cycles, _COMMON_COSTS)
    if emulator.cache is not None:
        yield f"cost.miss={emulator.cache.miss_cycles}"
    if emulator.energy is not None:
        yield from _table(board, "energy.fj", "fj", emulator.energy.fj, (*_COMMON_COSTS, "miss", "cycle"))


def _table(
    board: BoardType, field: str, prefix: str, table: Mapping[str, int], others: tuple[str, ...]
) -> Iterable[str]:
    known = (*others, *instruction_kinds())
    for name in sorted(table, key=lambda name: (name != "default", name)):
        if name not in known:
            raise BoardDescriptorError(
                f"Board type {board.name!r}: emulator.{field} names {name!r}, which is no kind of instruction.",
                why=did_you_mean(name, known),
                todo="Correct the descriptor.",
                context={"known": sorted(known)},
            )
        yield f"{prefix}.{name}={table[name]}"


def cost_table_version(board: BoardType) -> str | None:
    """Name and version of the table that a board's modelled cycles come from; None on silicon."""
    return _version(board, board.emulator.cost_table) if board.emulator is not None else None


def energy_table_version(board: BoardType) -> str | None:
    """Name and version of the table that a board's modelled energy comes from; None when it models none."""
    energy = board.emulator.energy if board.emulator is not None else None
    return _version(board, energy) if energy is not None else None


def _version(board: BoardType, table: CostTable | EnergyTable) -> str:
    return f"{board.name}/{table.version}"


def modelled_events(board: BoardType) -> tuple[PmuEvent, ...]:
    """The PMU events that the plugin counts on a board; empty where the core has no PMU."""
    emulator = board.emulator
    if emulator is None or emulator.pages.pmu is None:
        return ()
    given = {None: True, "cache": emulator.cache is not None, "tcm": bool(emulator.tcm)}
    return tuple(event for event in EVENTS if event.modelled and given[event.needs])


def event_unavailable_reason(board: BoardType, number: int) -> str | None:
    """Why an event number reads back as unsupported on an emulated board; None when it is counted."""
    if any(event.number == number for event in modelled_events(board)):
        return None
    if board.emulator is None or board.emulator.pages.pmu is None:
        return f"{board.core.name} has no performance monitoring unit"
    known = {event.number: event for event in EVENTS}
    event = known.get(number)
    if event is None:
        return "not an event of the Armv8.1-M architecture"
    return f"{board.name} describes no {event.needs}" if event.modelled else event.basis
