"""Every port compiles without a warning and links where its memory map says, against the stub engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.firmware.host_build import FIRMWARE, INCLUDES, STUB, WARNINGS

PORTS = {
    "mps2_an386": (["-mcpu=cortex-m4", "-mfloat-abi=hard"], 0x00000000, (0x20000000, 0x203FC000)),
    "mps3_an547": (["-mcpu=cortex-m55", "-mfloat-abi=hard"], 0x10000000, (0x30000000, 0x3007C000)),
}
FAULTS = ["NONE", "HANG", "GARBAGE", "HARDFAULT", "LOCKUP", "CORRUPT", "MUTE", "DEAD_COUNTER"]


def link(port: str, out: Path, *flags: str) -> Path:
    folders = [FIRMWARE / "app", FIRMWARE / "hal", FIRMWARE / "ports" / port, STUB]
    sources = sorted(str(path) for folder in folders for path in folder.glob("*.c"))
    command = ["arm-none-eabi-gcc", *PORTS[port][0], "-mthumb", *WARNINGS, "-O2", "-ffunction-sections"]
    command += ["-fdata-sections", *flags, *INCLUDES, f"-I{FIRMWARE / 'ports' / port}", *sources, "-nostartfiles"]
    command += ["--specs=nano.specs", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--fatal-warnings"]
    command += [f"-L{FIRMWARE / 'ports/common'}", "-T", str(FIRMWARE / "ports" / port / "link.ld"), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("port", PORTS)
def test_port_links_where_the_memory_map_says(port: str, tmp_path: Path) -> None:
    _, code, (ram, ram_end) = PORTS[port]
    with link(port, tmp_path / "image.elf").open("rb") as stream:
        elf = ELFFile(stream)
        sections = {section.name: section for section in elf.iter_sections()}
        symbols = {symbol.name: symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
        assert sections[".vectors"]["sh_addr"] == code
        access = sections[".pmu_access"]
        assert access["sh_addr"] == code + 0x400
        assert 0 < access["sh_size"] <= 0x800
        stack, reset = (int.from_bytes(sections[".vectors"].data()[at : at + 4], "little") for at in (0, 4))
        assert reset == symbols["Reset_Handler"] and reset & 1
        assert ram < stack <= ram_end
        assert ram <= symbols["_SEGGER_RTT"] < ram_end
        assert symbols["harness_build_id"] > code
        assert ram <= sections[".arena_ram"]["sh_addr"] < ram_end
        assert sections[".stack"]["sh_addr"] + sections[".stack"]["sh_size"] <= ram_end
        loaded = b"".join(section.data() for section in sections.values() if section["sh_flags"] & 2)
        assert b"SEGGER RTT" not in loaded, "the id must exist nowhere but in a finished control block"


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("options", [("1", "0"), ("0", "1"), ("1", "1")])
def test_every_scope_and_lifecycle_compiles(port: str, options: tuple[str, str], tmp_path: Path) -> None:
    link(port, tmp_path / "image.elf", f"-DHARNESS_TIMING_SCOPE={options[0]}", f"-DHARNESS_LIFECYCLE={options[1]}")


def test_every_injected_fault_compiles(tmp_path: Path) -> None:
    for fault in FAULTS:
        link("mps3_an547", tmp_path / f"{fault}.elf", f"-DHARNESS_TEST_FAULT=TEST_FAULT_{fault}")


def test_cache_maintenance_compiles(tmp_path: Path) -> None:
    link("mps3_an547", tmp_path / "image.elf", "-DBOARD_HAS_CACHES=1")


def test_shipping_image_has_no_trace_of_fault_injection(tmp_path: Path) -> None:
    with link("mps2_an386", tmp_path / "image.elf").open("rb") as stream:
        names = {symbol.name for symbol in ELFFile(stream).get_section_by_name(".symtab").iter_symbols()}
    assert "harness_test_fault_op" not in names
