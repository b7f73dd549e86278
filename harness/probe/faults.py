"""Fault registers of Armv7-M and Armv8-M cores, in words."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from harness.board.descriptor import Memory

ICSR = 0xE000ED04
VECTACTIVE = 0x1FF
FAULT_EXCEPTIONS = {3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
REGISTER_NAMES = (*(f"r{n}" for n in range(13)), "sp", "lr", "pc", "xpsr")
"""Core registers in the order of the probe's indices 0 to 16."""

FAULT_ADDRESSES = {
    "shcsr": 0xE000ED24,
    "cfsr": 0xE000ED28,
    "hfsr": 0xE000ED2C,
    "dfsr": 0xE000ED30,
    "mmfar": 0xE000ED34,
    "bfar": 0xE000ED38,
    "afsr": 0xE000ED3C,
}
FRAME = ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr")
SEARCH_BYTES = 512
STATUS_THUMB = 0x0100_0000
STATUS_RESERVED = 0x00F0_0000

_BITS: dict[str, dict[int, str]] = {
    "cfsr": {
        0: "instruction access violation",
        1: "data access violation",
        3: "memory fault on exception return",
        4: "memory fault on exception entry",
        8: "instruction bus error",
        9: "precise data bus error",
        10: "imprecise data bus error",
        11: "bus fault on exception return",
        12: "bus fault on exception entry",
        16: "undefined instruction",
        17: "invalid state (no Thumb bit)",
        18: "invalid exception return",
        19: "no coprocessor (FPU or MVE not enabled)",
        20: "stack overflow",
        24: "unaligned access",
        25: "division by zero",
    },
    "hfsr": {1: "vector table read failed", 30: "escalated from another fault"},
}


def explain_fault(exception: int, fault: Mapping[str, int]) -> str:
    """One line in words: which exception, and what the status registers say."""
    name = FAULT_EXCEPTIONS.get(exception, f"exception {exception}" if exception else "no exception")
    reasons = [text for reg, bits in _BITS.items() for bit, text in bits.items() if fault.get(reg, 0) >> bit & 1]
    if fault.get("cfsr", 0) >> 7 & 1:
        reasons.append(f"address {fault['mmfar']:#010x}")
    if fault.get("cfsr", 0) >> 15 & 1:
        reasons.append(f"address {fault['bfar']:#010x}")
    return f"{name}: {', '.join(reasons)}" if reasons else name


def find_frame(stack: bytes, code: Iterable[Memory]) -> dict[str, int] | None:
    """The registers that exception entry pushed, sought upwards from the handler's stack pointer.

    The handler may have pushed registers of its own first, so the first eight words are taken that look like a frame:
    program counter or return address in code, and status bits that a program can have. A jump to nowhere leaves only
    the return address in code.
    """
    regions = list(code)

    def in_code(address: int) -> bool:
        return any(region.origin <= address < region.end for region in regions)

    words = struct.unpack(f"<{len(stack) // 4}I", stack[: len(stack) // 4 * 4])
    for start in range(len(words) - 7):
        frame = dict(zip(FRAME, words[start : start + 8], strict=True))
        status_good = frame["xpsr"] & STATUS_RESERVED == 0
        came_from_code = frame["lr"] % 2 == 1 and in_code(frame["lr"] - 1)
        if status_good and (
            (in_code(frame["pc"]) and frame["pc"] % 2 == 0 and frame["xpsr"] & STATUS_THUMB)
            or (came_from_code and not in_code(frame["pc"]))
        ):
            return frame
    return None
