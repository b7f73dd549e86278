"""Events of the Armv8.1-M PMU: architectural names and numbers, in groups, with the default selection of each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PREFIX = "ARM_PMU_"
CPU_CYCLES = "ARM_PMU_CPU_CYCLES"
"""Read from the cycle counter on every core, so it takes no event slot."""


@dataclass(frozen=True)
class Event:
    """One architectural event; `name` carries the prefix ARM_PMU_."""

    name: str
    number: int
    group: str
    default: bool = False


_CPU = """
    SW_INCR=0x000 L1I_CACHE_REFILL=0x001 LD_RETIRED=0x006 ST_RETIRED=0x007 INST_RETIRED=0x008* EXC_TAKEN=0x009
    EXC_RETURN=0x00A PC_WRITE_RETIRED=0x00C BR_IMMED_RETIRED=0x00D BR_RETURN_RETIRED=0x00E UNALIGNED_LDST_RETIRED=0x00F
    BR_MIS_PRED=0x010 CPU_CYCLES=0x011* BR_PRED=0x012 INST_SPEC=0x01B BR_RETIRED=0x021 BR_MIS_PRED_RETIRED=0x022
    STALL_FRONTEND=0x023* STALL_BACKEND=0x024* OP_COMPLETE=0x03A OP_SPEC=0x03B STALL=0x03C STALL_OP_BACKEND=0x03D
    STALL_OP_FRONTEND=0x03E STALL_OP=0x03F LE_RETIRED=0x100 LE_SPEC=0x101 BF_RETIRED=0x104 BF_SPEC=0x105
    LE_CANCEL=0x108 BF_CANCEL=0x109 SE_CALL_S=0x114 SE_CALL_NS=0x115 DWT_CMPMATCH0=0x118 DWT_CMPMATCH1=0x119
    DWT_CMPMATCH2=0x11A DWT_CMPMATCH3=0x11B TRCEXTOUT0=0x4010 TRCEXTOUT1=0x4011 TRCEXTOUT2=0x4012 TRCEXTOUT3=0x4013
    CTI_TRIGOUT4=0x4018 CTI_TRIGOUT5=0x4019 CTI_TRIGOUT6=0x401A CTI_TRIGOUT7=0x401B
"""
_MEMORY = """
    L1D_CACHE_REFILL=0x003* L1D_CACHE=0x004 MEM_ACCESS=0x013* L1I_CACHE=0x014 L1D_CACHE_WB=0x015 L2D_CACHE=0x016
    L2D_CACHE_REFILL=0x017 L2D_CACHE_WB=0x018 BUS_ACCESS=0x019* MEMORY_ERROR=0x01A BUS_CYCLES=0x01D*
    L1D_CACHE_ALLOCATE=0x01F L2D_CACHE_ALLOCATE=0x020 L2I_CACHE=0x027 L2I_CACHE_REFILL=0x028 L3D_CACHE_ALLOCATE=0x029
    L3D_CACHE_REFILL=0x02A L3D_CACHE=0x02B L3D_CACHE_WB=0x02C LL_CACHE_RD=0x036 LL_CACHE_MISS_RD=0x037
    L1D_CACHE_MISS_RD=0x039 L1D_CACHE_RD=0x040 ITCM_ACCESS=0x4007 DTCM_ACCESS=0x4008
"""
_MVE_RETIRED = """
    INST=0x200* FP=0x204 FP_HP=0x208 FP_SP=0x20C FP_MAC=0x214 INT=0x224 INT_MAC=0x228* LDST=0x238* LD=0x23C ST=0x240
    LDST_CONTIG=0x244 LD_CONTIG=0x248 ST_CONTIG=0x24C LDST_NONCONTIG=0x250 LD_NONCONTIG=0x254 ST_NONCONTIG=0x258
    LDST_MULTI=0x25C LD_MULTI=0x260 ST_MULTI=0x264 LDST_UNALIGNED=0x28C LD_UNALIGNED=0x290 ST_UNALIGNED=0x294
    LDST_UNALIGNED_NONCONTIG=0x298 VREDUCE=0x2A0 VREDUCE_FP=0x2A4 VREDUCE_INT=0x2A8
"""
"""Each of these exists as MVE_<name>_RETIRED and, one number on, as MVE_<name>_SPEC: speculatively executed."""
_MVE = """
    PRED=0x2B8 STALL=0x2CC* STALL_RESOURCE=0x2CD STALL_RESOURCE_MEM=0x2CE STALL_RESOURCE_FP=0x2CF
    STALL_RESOURCE_INT=0x2D0 STALL_BREAK=0x2D3 STALL_DEPENDENCY=0x2D4
"""


def _events(group: str, prefix: str, table: str) -> Iterator[Event]:
    for entry in table.split():
        name, _, number = entry.partition("=")
        yield Event(prefix + name, int(number.rstrip("*"), 16), group, number.endswith("*"))


def _retired_and_speculative() -> Iterator[Event]:
    for event in _events("mve", PREFIX + "MVE_", _MVE_RETIRED):
        yield Event(f"{event.name}_RETIRED", event.number, event.group, event.default)
        yield Event(f"{event.name}_SPEC", event.number + 1, event.group)


EVENTS: Mapping[str, Event] = {
    event.name: event
    for event in (
        *_events("cpu", PREFIX, _CPU),
        *_events("memory", PREFIX, _MEMORY),
        *_retired_and_speculative(),
        *_events("mve", PREFIX + "MVE_", _MVE),
    )
}
"""All events by full name. CHAIN is none of them: it joins the halves of each counter."""

SMALL_EVENTS: tuple[Event, ...] = tuple(
    Event(f"DWT_{name}", number, "dwt", default=True)
    for number, name in enumerate(("CPICNT", "EXCCNT", "SLEEPCNT", "LSUCNT", "FOLDCNT"))
)
"""Counters of 8 bits that a DWT has on a core without PMU, by their place in it. Each counts at most one a cycle."""
SMALL_BITS = 8

GROUPS: tuple[str, ...] = ("cpu", "memory", "mve", "dwt")

OBSERVATIONS: tuple[str, ...] = (
    "emulator.instructions",
    "emulator.cycles",
    "emulator.loads",
    "emulator.stores",
    "emulator.branches",
    "emulator.mve_instructions",
    "emulator.l1d_accesses",
    "emulator.l1d_misses",
    "emulator.energy_fj",
)
"""What only an emulator knows, in the order of its page."""


def group_events(group: str) -> tuple[Event, ...]:
    """Events of a group, by number."""
    if group == "dwt":
        return SMALL_EVENTS
    return tuple(sorted((e for e in EVENTS.values() if e.group == group), key=lambda event: event.number))


def find_event(name: str) -> Event | None:
    """The event of a name with or without its prefix, ARM_PMU_ or DWT_; None when there is none."""
    small = {event.name: event for event in SMALL_EVENTS}
    return EVENTS.get(name) or EVENTS.get(PREFIX + name) or small.get(name) or small.get(f"DWT_{name}")
