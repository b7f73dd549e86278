"""Every board's port compiles without a warning and links where its memory map says, against the stub engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.board.descriptor import board_types
from harness.image.port_files import write_port_files
from tests.firmware.host_build import FIRMWARE, INCLUDES, STUB, WARNINGS

BOARDS = board_types()
FAULTS = ["NONE", "HANG", "GARBAGE", "HARDFAULT", "LOCKUP", "CORRUPT", "MUTE", "DEAD_COUNTER"]


def link(name: str, out: Path, *flags: str, power: bool = False) -> Path:
    board = BOARDS[name]
    generated = out.parent / f"{out.stem}-generated"
    generated.mkdir()
    write_port_files(board, generated)
    folders = [FIRMWARE / "app", FIRMWARE / "hal", board.port_dir, STUB]
    found = [path for folder in folders for path in folder.glob("*.c")]
    if power:
        shared = ("frames.c", "inputs.c")
        found = [path for path in found if path.parent.name != "app" or path.name in shared]
        found += (FIRMWARE / "power").glob("*.c")
    sources = sorted(map(str, found))
    command = ["arm-none-eabi-gcc", *board.core.cpuflags, *WARNINGS, "-O2", "-ffunction-sections", "-fdata-sections"]
    command += [*flags, *INCLUDES, f"-I{board.port_dir}", f"-I{FIRMWARE / 'ports/common'}", f"-I{generated}", *sources]
    command += ["-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", "-Wl,--build-id=none"]
    command += ["-Wl,--fatal-warnings", f"-L{FIRMWARE / 'ports/common'}", "-T", str(generated / "link.ld")]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("name", BOARDS)
def test_port_links_where_the_memory_map_says(name: str, tmp_path: Path) -> None:
    board = BOARDS[name]
    code, ram = board.region("code"), board.region("ram")
    with link(name, tmp_path / "image.elf").open("rb") as stream:
        elf = ELFFile(stream)
        sections = {section.name: section for section in elf.iter_sections()}
        symbols = {symbol.name: symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
        assert sections[".vectors"]["sh_addr"] == code.origin
        access = sections[".pmu_access"]
        assert access["sh_addr"] == code.origin + 0x400
        assert 0 < access["sh_size"] <= 0x800
        stack, reset = (int.from_bytes(sections[".vectors"].data()[at : at + 4], "little") for at in (0, 4))
        assert reset == symbols["Reset_Handler"] and reset & 1
        assert ram.origin + board.buffers.stack <= stack <= ram.end
        assert sections[".stack"]["sh_addr"] + sections[".stack"]["sh_size"] == stack
        assert sections[".stack"]["sh_size"] >= board.buffers.stack
        assert ram.origin <= symbols["_SEGGER_RTT"] < ram.end
        assert symbols["harness_build_id"] > code.origin
        assert ram.origin <= sections[".arena_ram"]["sh_addr"] < ram.end
        loaded = b"".join(section.data() for section in sections.values() if section["sh_flags"] & 2)
        assert b"SEGGER RTT" not in loaded, "the id must exist nowhere but in a finished control block"


@pytest.mark.parametrize("name", ["mps2_an386", "mps3_an547"])
@pytest.mark.parametrize("options", [("1", "0"), ("0", "1"), ("1", "1")])
def test_every_scope_and_lifecycle_compiles(name: str, options: tuple[str, str], tmp_path: Path) -> None:
    link(name, tmp_path / "image.elf", f"-DHARNESS_TIMING_SCOPE={options[0]}", f"-DHARNESS_LIFECYCLE={options[1]}")


@pytest.mark.parametrize("name", BOARDS)
def test_power_image_links_without_a_transport(name: str, tmp_path: Path) -> None:
    with link(name, tmp_path / "image.elf", power=True).open("rb") as stream:
        names = {symbol.name for symbol in ELFFile(stream).get_section_by_name(".symtab").iter_symbols()}
    assert {"harness_power_request", "harness_power_terminal", "hal_gate"} <= names
    assert "_SEGGER_RTT" not in names and not any("transport" in name for name in names)


def test_every_injected_fault_compiles(tmp_path: Path) -> None:
    for fault in FAULTS:
        link("mps3_an547", tmp_path / f"{fault}.elf", f"-DHARNESS_TEST_FAULT=TEST_FAULT_{fault}")


def test_cache_maintenance_compiles(tmp_path: Path) -> None:
    link("mps3_an547", tmp_path / "image.elf", "-DBOARD_HAS_CACHES=1")


def test_shipping_image_has_no_trace_of_fault_injection(tmp_path: Path) -> None:
    with link("mps2_an386", tmp_path / "image.elf").open("rb") as stream:
        names = {symbol.name for symbol in ELFFile(stream).get_section_by_name(".symtab").iter_symbols()}
    assert "harness_test_fault_op" not in names
