"""Flash with sectors: what a download erases, what programming cannot do, and who may not write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from harness.board.descriptor import load_board_type
from harness.core.errors import HarnessError, WrongBoardError
from harness.probe.jlink import JLinkProbe
from tests.virtual.fixtures import Open, Start

FLASH, SECTOR = 0x0800_0000, 0x4000
WRITE = -270


def download(probe: JLinkProbe, file: Path, address: int, data: bytes) -> int:
    file.write_bytes(data)
    return int(dll_of(probe).JLINK_DownloadFile(os.fsencode(file), address))


def dll_of(probe: JLinkProbe) -> Any:
    return probe._library.dll()


def test_a_download_erases_the_sectors_it_touches_and_no_others(start: Start, open_probe: Open, tmp_path: Path) -> None:
    probe = open_probe(start("stm32f405"))
    file = tmp_path / "a.bin"
    data = os.urandom(3 * SECTOR)
    assert download(probe, file, FLASH, data) >= 0
    assert probe.read_memory(FLASH, len(data)) == data
    # Its alias at address 0, from which the core starts, holds the same.
    assert probe.read_memory(0, 64) == data[:64]
    assert download(probe, file, FLASH + SECTOR + 16, b"new") >= 0
    assert probe.read_memory(FLASH, SECTOR) == data[:SECTOR]
    assert probe.read_memory(FLASH + SECTOR, SECTOR) == b"\xff" * 16 + b"new" + b"\xff" * (SECTOR - 19)
    assert probe.read_memory(FLASH + 2 * SECTOR, SECTOR) == data[2 * SECTOR :]
    assert dll_of(probe).JLINK_EraseChip() == 0
    assert probe.read_memory(FLASH, 5 * SECTOR) == b"\xff" * (5 * SECTOR)


def test_one_download_cannot_set_a_bit_again(start: Start, open_probe: Open) -> None:
    probe = open_probe(start("stm32f405"))
    dll = dll_of(probe)
    dll.JLINKARM_BeginDownload(0)
    assert dll.JLINKARM_WriteMem(FLASH, 2, b"\x0f\xf0") == 2
    assert dll.JLINKARM_WriteMem(FLASH, 2, b"\x0e\x70") == 2, "clearing further bits is programming"
    assert dll.JLINKARM_WriteMem(FLASH, 2, b"\x0f\x70") == -1
    assert dll.JLINKARM_EndDownload() == WRITE
    assert probe.read_memory(FLASH, 2) == b"\x0e\x70"


def test_only_a_download_writes_flash(start: Start, open_probe: Open) -> None:
    probe = open_probe(start("stm32f405"))
    before = probe.read_memory(FLASH, 4)
    with pytest.raises(HarnessError):
        probe.write_memory(FLASH, b"abcd")
    assert dll_of(probe).JLINKARM_WriteU32(FLASH, 1) != 0
    assert probe.read_memory(FLASH, 4) == before


def test_the_chip_is_told_by_its_debug_unit(start: Start, open_probe: Open) -> None:
    chip = open_probe(start("stm32f405"))
    assert int.from_bytes(chip.read_memory(0xE004_2000, 4), "little") & 0xFFF == 0x413
    with pytest.raises(WrongBoardError, match="SCC_ID"):
        chip.identify(load_board_type("mps2_an386"))
    other = open_probe(start("mps2_an386"))
    with pytest.raises(WrongBoardError, match="DBGMCU_IDCODE"):
        other.identify(load_board_type("stm32f405"))


def test_a_reset_keeps_what_was_flashed(start: Start, open_probe: Open, tmp_path: Path) -> None:
    probe = open_probe(start("stm32f405"))
    data = b"\x00\x00\x02\x20\x09\x00\x00\x08" + os.urandom(64)
    assert download(probe, tmp_path / "a.bin", FLASH, data) >= 0
    probe.reset()
    assert probe.read_memory(FLASH, len(data)) == data
