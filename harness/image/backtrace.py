"""Which functions led to a fault, from the registers and stack words that a target reports.

Firmware has no frame pointers and no unwind tables to rely on, so the stack is searched: a word is taken for a return
address when it lies in code, has the Thumb bit, and the instruction before it is a call. Stale words of earlier calls
can pass that test; a backtrace is evidence, not proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.image.elf import ElfFacts

MAX_FRAMES = 16
EXC_RETURN_MIN = 0xFFFF_FF00


def backtrace(facts: ElfFacts, pc: int, lr: int, stack: Iterable[int]) -> tuple[str, ...]:
    """Frames as `function+0xoffset`, the faulting one first.

    Args:
        facts: of the image that ran.
        pc: program counter at the fault.
        lr: link register at the fault; left out when it is an exception-return value or not after a call.
        stack: words from the stack pointer upwards.
    """
    frames = [facts.symbolise(pc)]
    for word in _returns(facts, (lr, *stack)):
        name = facts.symbolise(word)
        if name != frames[-1]:
            frames.append(name)
        if len(frames) == MAX_FRAMES:
            break
    return tuple(frames)


def _returns(facts: ElfFacts, words: Iterable[int]) -> Iterator[int]:
    for word in words:
        if word & 1 and word < EXC_RETURN_MIN and _after_call(facts, word & ~1):
            yield word


def _after_call(facts: ElfFacts, address: int) -> bool:
    before = _code(facts, address - 4, 4)
    if before is None:
        return False
    first, second = int.from_bytes(before[:2], "little"), int.from_bytes(before[2:], "little")
    long_call = first >> 11 == 0x1E and second & 0xD000 == 0xD000  # BL
    short_call = second & 0xFF87 == 0x4780  # BLX register
    return long_call or short_call


def _code(facts: ElfFacts, address: int, size: int) -> bytes | None:
    for start, data in facts.segments:
        if start <= address and address + size <= start + len(data):
            return data[address - start : address - start + size]
    return None
