"""What firmware has to know of a board's memory, written from its descriptor: `link.ld` and `board_map.h`.

The descriptor is the only place that states addresses, so script, header and checks of the image cannot disagree. A
port with a `link.ld` of its own is linked with that one instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from harness.board.descriptor import BoardType
from harness.core.errors import BoardDescriptorError

SCRIPT_NAME = "link.ld"
HEADER_NAME = "board_map.h"
ACCESS_OFFSET, ACCESS_BYTES = 0x400, 0x800
"""Where code that reads counters lies behind the start of code memory, unless an emulator watches another place."""
ITM_BASE, DWT_BASE, PMU_BASE = 0xE000_0000, 0xE000_1000, 0xE000_3000
"""Architectural addresses of Armv7-M and Armv8-M; an emulated board has pages of RAM in their place."""


def write_port_files(board: BoardType, directory: Path) -> None:
    """Write both files into an existing directory.

    Raises:
        BoardDescriptorError: the memory map lacks `code` or `ram`, or what the standard script needs of them.
    """
    (directory / SCRIPT_NAME).write_text(link_script(board), "utf-8")
    (directory / HEADER_NAME).write_text(map_header(board), "utf-8")


def link_script(board: BoardType) -> str:
    """Text of the linker script: the regions, then the sections that all ports share, then those of further memory."""
    _check(board)
    lines = ["/* Generated from the board's descriptor. */", "MEMORY", "{"]
    for region in board.memory:
        rights = "rx" if region.kind == "code" else "rwx" if region.name == "ram" else "rw"
        lines.append(f"  {region.name} ({rights}) : ORIGIN = {region.origin:#010x}, LENGTH = {region.length:#x}")
    offset, size = _access_window(board)
    lines += ["}", f"_counter_access_offset = {offset:#x};", f"_counter_access_bytes = {size:#x};"]
    lines += [f"_stack_bytes = {board.buffers.stack};", "INCLUDE sections.ld", "SECTIONS", "{"]
    for location, memory in board.weights_locations.items():
        if location not in ("code", "ram"):
            lines.append(_section("weights", location, memory, ": ALIGN(16)"))
    for location, memory in board.arena_locations.items():
        if location != "ram":
            lines.append(_section("arena", location, memory, "(NOLOAD) : ALIGN(32)"))
    return "\n".join([*lines, "}", ""])


def map_header(board: BoardType) -> str:
    """Text of `board_map.h`: addresses of counters, sizes of buffers, the descriptor's macros."""
    lines = [
        "/* Generated from the board's descriptor. */",
        "#ifndef HARNESS_BOARD_MAP_H",
        "#define HARNESS_BOARD_MAP_H",
    ]
    lines += [f"#define {name} {value:#x}u" for name, value in _addresses(board)]
    sizes = board.buffers
    lines += ["#ifndef BOARD_SAMPLE_WORDS", f"#define BOARD_SAMPLE_WORDS {sizes.sample_words}u", "#endif"]
    lines += [f"#define BOARD_RTT_UP_BYTES {sizes.rtt_up}u", f"#define BOARD_RTT_DOWN_BYTES {sizes.rtt_down}u"]
    lines += [f"#define {name} {value}u" for name, value in _icount(board)]
    lines += [f"#define {name} {value:#x}u" for name, value in sorted(board.macros.items())]
    return "\n".join([*lines, "#endif", ""])


def _addresses(board: BoardType) -> Iterator[tuple[str, int]]:
    if board.emulator is not None:
        pages = board.emulator.pages
        yield "BOARD_DWT_BASE", pages.dwt
        yield "BOARD_OBSERVER_BASE", pages.observer
        # A word of RAM stands for the go line of a power monitor: the bench writes it.
        yield "BOARD_GO_ADDRESS", pages.go
        yield "BOARD_GO_MASK", 1
        if pages.pmu is not None:
            yield "BOARD_PMU_BASE", pages.pmu
        if pages.itm is not None:
            yield "BOARD_ITM_BASE", pages.itm
        return
    yield "BOARD_DWT_BASE", DWT_BASE
    yield "BOARD_ITM_BASE", ITM_BASE
    if board.core.counter_unit == "armv8m-pmu":
        yield "BOARD_PMU_BASE", PMU_BASE


def _icount(board: BoardType) -> Iterator[tuple[str, int]]:
    """Instructions in so many ticks of SysTick: one instruction takes 2 ** shift nanoseconds of emulated time."""
    if board.emulator is not None:
        ratio = Fraction(1_000_000_000, board.emulator.systick_hz << board.emulator.icount_shift)
        yield "BOARD_ICOUNT_INSNS", ratio.numerator
        yield "BOARD_ICOUNT_TICKS", ratio.denominator


def _access_window(board: BoardType) -> tuple[int, int]:
    if board.emulator is None:
        return ACCESS_OFFSET, ACCESS_BYTES
    window = board.emulator.access_code
    return window.origin - board.region("code").origin, window.length


def _section(kind: str, location: str, memory: str, how: str) -> str:
    name = f".{kind}.{location}"
    return f"  .{kind}_{location} {how}\n  {{\n    *({name} {name}.*)\n  }} > {memory}"


def _check(board: BoardType) -> None:
    kinds = {region.name: region.kind for region in board.memory}
    wrong = [name for name in ("code", "ram") if kinds.get(name) != name]
    wrong += [name for name in ("code", "ram") if board.weights_locations.get(name, name) != name]
    if wrong or board.arena_locations.get("ram", "ram") != "ram":
        raise BoardDescriptorError(
            f"Board type {board.name!r} cannot be linked with the standard linker script.",
            why="It needs the regions `code` and `ram` of those kinds, and locations of these names that mean them.",
            todo=f"Name the regions so, or give the port {board.port!r} a link.ld of its own.",
        )
    if board.emulator is not None and board.emulator.access_code.origin < board.region("code").origin + 0x40:
        raise BoardDescriptorError(
            f"Board type {board.name!r}: emulator.access_code lies on the vector table.", todo="Move it behind it."
        )
