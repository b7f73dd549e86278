"""The total of executed instructions against another emulator, unicorn, which knows nothing of the plugin."""

from __future__ import annotations

from pathlib import Path

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const

from tests.counters import rig

EXIT = 0x18
PAGE = 0x1000


def _load(emulator: unicorn.Uc, elf: Path) -> int:
    """Map and fill memory; returns the address of the reset handler."""
    board = rig.board_type("mps2_an386")
    for region in board.memory:
        if region.name in ("code", "ram"):
            emulator.mem_map(region.origin, region.length + (16384 if region.name == "ram" else 0))
    emulator.mem_map(0xE000E000, PAGE)
    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            if segment["p_filesz"]:
                emulator.mem_write(segment["p_paddr"], segment.data())
    stack, reset = (int.from_bytes(emulator.mem_read(address, 4), "little") for address in (0, 4))
    emulator.reg_write(arm_const.UC_ARM_REG_SP, stack)
    return reset


class _Counter:
    """Counts the instructions of each block that runs; what a block holds is looked up once."""

    def __init__(self) -> None:
        self.total = 0
        self._sizes: dict[tuple[int, int], int] = {}

    def block(self, emulator: unicorn.Uc, address: int, size: int, _: object) -> None:
        key = (address, size)
        if key not in self._sizes:
            code = emulator.mem_read(address, size)
            count = at = 0
            while at < size:
                at += 4 if code[at + 1] >= 0xE8 else 2
                count += 1
            self._sizes[key] = count
        self.total += self._sizes[key]


def _semihosting(emulator: unicorn.Uc, _number: int, _: object) -> None:
    if emulator.reg_read(arm_const.UC_ARM_REG_R0) == EXIT:
        emulator.emu_stop()
    else:
        emulator.reg_write(arm_const.UC_ARM_REG_PC, (emulator.reg_read(arm_const.UC_ARM_REG_PC) + 2) | 1)


def test_total_equals_that_of_another_emulator(tmp_path: Path) -> None:
    board = rig.board_type("mps2_an386")
    elf = rig.build(board, "convolution", tmp_path, flags=["-DREPEAT=1"])
    emulator = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    emulator.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M4)
    counter = _Counter()
    reset = _load(emulator, elf)
    emulator.hook_add(unicorn.UC_HOOK_BLOCK, counter.block)
    emulator.hook_add(unicorn.UC_HOOK_INTR, _semihosting)
    emulator.emu_start(reset | 1, 0)
    assert counter.total > 3_000_000
    assert rig.run(board, elf).summary["instructions"] == counter.total
