"""Events of the Armv8.1-M PMU: architectural names and numbers, and what the counter plugin makes of each.

Names and numbers are those of the Armv8.1-M Architecture Reference Manual as CMSIS publishes them, without the prefix
`ARM_PMU_`. (CMSIS gives MVE_ST_MULTI_RETIRED the number of MVE_LD_MULTI_SPEC; the manual's is 0x0264.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal["cache", "tcm"]


@dataclass(frozen=True)
class PmuEvent:
    """One event.

    Attributes:
        name: architectural name, as in "INST_RETIRED".
        number: its 16-bit number.
        modelled: whether the plugin counts it (given what it `needs`).
        basis: what exactly is counted, or why it is not modelled.
        needs: the part of a board's emulator section without which it is unsupported; None when nothing is needed.
    """

    name: str
    number: int
    modelled: bool
    basis: str
    needs: Need | None = None


def _counted(name: str, number: int, basis: str, needs: Need | None = None) -> PmuEvent:
    return PmuEvent(name, number, True, basis, needs)


def _absent(name: str, number: int, reason: str) -> PmuEvent:
    return PmuEvent(name, number, False, reason)


_EXACT = "exact"
_BY_COST = "modelled: from the board's cost table"
_BY_CACHE = "modelled: from the board's cache model"
_LANES = "modelled: each scalar transfer, and each line that a vector instruction touches in turn"
_SPECULATION = "the emulator does not speculate"
_NO_PIPELINE = "no pipeline is modelled"
_NO_FETCH = "instruction fetches are not modelled"
_NO_LEVELS = "only one cache level is modelled"
_NO_EXCEPTIONS = "the emulator does not show exceptions to the plugin"
_NO_SECURITY = "security state changes are not shown to the plugin"
_NO_BRANCH_UNIT = "no branch predictor or loop cache is modelled"
_NO_ALIGNMENT = "alignment of vector accesses is not modelled"
_NO_PREDICATION = "predicated beats are not modelled"

EVENTS: tuple[PmuEvent, ...] = (
    _counted("SW_INCR", 0x0000, "exact: writes to PMU_SWINC"),
    _absent("L1I_CACHE_REFILL", 0x0001, _NO_FETCH),
    _counted("L1D_CACHE_REFILL", 0x0003, _BY_CACHE, "cache"),
    _counted("L1D_CACHE", 0x0004, _BY_CACHE, "cache"),
    _counted("LD_RETIRED", 0x0006, _EXACT),
    _counted("ST_RETIRED", 0x0007, _EXACT),
    _counted("INST_RETIRED", 0x0008, "exact: condition passed or not"),
    _absent("EXC_TAKEN", 0x0009, _NO_EXCEPTIONS),
    _absent("EXC_RETURN", 0x000A, _NO_EXCEPTIONS),
    _counted("PC_WRITE_RETIRED", 0x000C, "exact: branches taken; one that an exception interrupts counts as taken"),
    _counted("BR_IMMED_RETIRED", 0x000D, _EXACT),
    _counted("BR_RETURN_RETIRED", 0x000E, "exact: BX LR, MOV PC LR, and loads of PC from a register list"),
    _counted("UNALIGNED_LDST_RETIRED", 0x000F, "exact for scalar accesses"),
    _absent("BR_MIS_PRED", 0x0010, _NO_BRANCH_UNIT),
    _counted("CPU_CYCLES", 0x0011, _BY_COST),
    _absent("BR_PRED", 0x0012, _NO_BRANCH_UNIT),
    _counted("MEM_ACCESS", 0x0013, _LANES),
    _absent("L1I_CACHE", 0x0014, _NO_FETCH),
    _counted("L1D_CACHE_WB", 0x0015, _BY_CACHE, "cache"),
    _absent("L2D_CACHE", 0x0016, _NO_LEVELS),
    _absent("L2D_CACHE_REFILL", 0x0017, _NO_LEVELS),
    _absent("L2D_CACHE_WB", 0x0018, _NO_LEVELS),
    _counted("BUS_ACCESS", 0x0019, "modelled: beats of cache lines moved, and data accesses outside cache and TCM"),
    _absent("MEMORY_ERROR", 0x001A, "no memory errors are modelled"),
    _absent("INST_SPEC", 0x001B, _SPECULATION),
    _counted("BUS_CYCLES", 0x001D, "modelled: equal to CPU_CYCLES, the bus runs at the core's clock"),
    _counted("CHAIN", 0x001E, "exact: overflows of the even counter before"),
    _absent("L1D_CACHE_ALLOCATE", 0x001F, "lines are always fetched when allocated"),
    _absent("L2D_CACHE_ALLOCATE", 0x0020, _NO_LEVELS),
    _counted("BR_RETIRED", 0x0021, _EXACT),
    _absent("BR_MIS_PRED_RETIRED", 0x0022, _NO_BRANCH_UNIT),
    _counted("STALL_FRONTEND", 0x0023, "modelled: cycles of branches beyond one each, from the board's cost table"),
    _counted("STALL_BACKEND", 0x0024, "modelled: all other cycles beyond one an instruction, from the cost table"),
    _absent("L2I_CACHE", 0x0027, _NO_LEVELS),
    _absent("L2I_CACHE_REFILL", 0x0028, _NO_LEVELS),
    _absent("L3D_CACHE_ALLOCATE", 0x0029, _NO_LEVELS),
    _absent("L3D_CACHE_REFILL", 0x002A, _NO_LEVELS),
    _absent("L3D_CACHE", 0x002B, _NO_LEVELS),
    _absent("L3D_CACHE_WB", 0x002C, _NO_LEVELS),
    _counted("LL_CACHE_RD", 0x0036, _BY_CACHE, "cache"),
    _counted("LL_CACHE_MISS_RD", 0x0037, _BY_CACHE, "cache"),
    _counted("L1D_CACHE_MISS_RD", 0x0039, _BY_CACHE, "cache"),
    _absent("OP_COMPLETE", 0x003A, _NO_PIPELINE),
    _absent("OP_SPEC", 0x003B, _SPECULATION),
    _counted("STALL", 0x003C, "modelled: STALL_FRONTEND and STALL_BACKEND together"),
    _absent("STALL_OP_BACKEND", 0x003D, _NO_PIPELINE),
    _absent("STALL_OP_FRONTEND", 0x003E, _NO_PIPELINE),
    _absent("STALL_OP", 0x003F, _NO_PIPELINE),
    _counted("L1D_CACHE_RD", 0x0040, _BY_CACHE, "cache"),
    _counted("LE_RETIRED", 0x0100, "exact: LE and LETP"),
    _absent("LE_SPEC", 0x0101, _SPECULATION),
    _absent("BF_RETIRED", 0x0104, "branch futures are no operations in the emulator"),
    _absent("BF_SPEC", 0x0105, _SPECULATION),
    _absent("LE_CANCEL", 0x0108, _NO_BRANCH_UNIT),
    _absent("BF_CANCEL", 0x0109, _NO_BRANCH_UNIT),
    _absent("SE_CALL_S", 0x0114, _NO_SECURITY),
    _absent("SE_CALL_NS", 0x0115, _NO_SECURITY),
    *(_absent(f"DWT_CMPMATCH{n}", 0x0118 + n, "no comparators are modelled") for n in range(4)),
    _counted("MVE_INST_RETIRED", 0x0200, _EXACT),
    _counted("MVE_FP_RETIRED", 0x0204, _EXACT),
    _counted("MVE_FP_HP_RETIRED", 0x0208, "exact; conversions between half and single count as single"),
    _counted("MVE_FP_SP_RETIRED", 0x020C, "exact; conversions between half and single count as single"),
    _counted("MVE_FP_MAC_RETIRED", 0x0214, _EXACT),
    _counted("MVE_INT_RETIRED", 0x0224, "exact: all but floating point, memory and predicate instructions"),
    _counted("MVE_INT_MAC_RETIRED", 0x0228, _EXACT),
    _counted("MVE_LDST_RETIRED", 0x0238, _EXACT),
    _counted("MVE_LD_RETIRED", 0x023C, _EXACT),
    _counted("MVE_ST_RETIRED", 0x0240, _EXACT),
    _counted("MVE_LDST_CONTIG_RETIRED", 0x0244, _EXACT),
    _counted("MVE_LD_CONTIG_RETIRED", 0x0248, _EXACT),
    _counted("MVE_ST_CONTIG_RETIRED", 0x024C, _EXACT),
    _counted("MVE_LDST_NONCONTIG_RETIRED", 0x0250, _EXACT),
    _counted("MVE_LD_NONCONTIG_RETIRED", 0x0254, _EXACT),
    _counted("MVE_ST_NONCONTIG_RETIRED", 0x0258, _EXACT),
    _counted("MVE_LDST_MULTI_RETIRED", 0x025C, _EXACT),
    _counted("MVE_LD_MULTI_RETIRED", 0x0260, _EXACT),
    _counted("MVE_ST_MULTI_RETIRED", 0x0264, _EXACT),
    _absent("MVE_LDST_UNALIGNED_RETIRED", 0x028C, _NO_ALIGNMENT),
    _absent("MVE_LD_UNALIGNED_RETIRED", 0x0290, _NO_ALIGNMENT),
    _absent("MVE_ST_UNALIGNED_RETIRED", 0x0294, _NO_ALIGNMENT),
    _absent("MVE_LDST_UNALIGNED_NONCONTIG_RETIRED", 0x0298, _NO_ALIGNMENT),
    _counted("MVE_VREDUCE_RETIRED", 0x02A0, _EXACT),
    _counted("MVE_VREDUCE_FP_RETIRED", 0x02A4, _EXACT),
    _counted("MVE_VREDUCE_INT_RETIRED", 0x02A8, _EXACT),
    _absent("MVE_PRED", 0x02B8, _NO_PREDICATION),
    _counted("MVE_STALL", 0x02CC, "modelled: cycles of vector instructions beyond one each, and of their misses"),
    _absent("MVE_STALL_RESOURCE", 0x02CD, _NO_PIPELINE),
    _absent("MVE_STALL_RESOURCE_MEM", 0x02CE, _NO_PIPELINE),
    _absent("MVE_STALL_RESOURCE_FP", 0x02CF, _NO_PIPELINE),
    _absent("MVE_STALL_RESOURCE_INT", 0x02D0, _NO_PIPELINE),
    _absent("MVE_STALL_BREAK", 0x02D3, _NO_PIPELINE),
    _absent("MVE_STALL_DEPENDENCY", 0x02D4, _NO_PIPELINE),
    _absent("ITCM_ACCESS", 0x4007, _NO_FETCH),
    _counted("DTCM_ACCESS", 0x4008, "modelled: " + _LANES.removeprefix("modelled: ") + " in the board's TCM", "tcm"),
)
"""All events, in the order of their numbers."""
