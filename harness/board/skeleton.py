"""A new board type to start from: a descriptor and a port that validate and link before anything is filled in."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.board.descriptor import BoardType, load_board_type, search_path
from harness.core.errors import UsageError
from harness.core.files import atomic_write
from harness.core.suggest import did_you_mean

_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_REGION = re.compile(r"^(0x[0-9a-fA-F]+|\d+):(0x[0-9a-fA-F]+|\d+)([KM]?)$")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


@dataclass(frozen=True)
class CoreFacts:
    """What a descriptor says of a core; `cpuid` is CPUID without variant and revision."""

    flags: str
    fpu: bool
    mve: bool
    counter_unit: str
    counter_slots: int
    cpuid: int


_HARD = "-mthumb, -mfloat-abi=hard"
CORES: Mapping[str, CoreFacts] = MappingProxyType(
    {
        "cortex-m3": CoreFacts("-mcpu=cortex-m3, -mthumb, -mfloat-abi=soft", False, False, "dwt", 0, 0x4100C230),
        "cortex-m4": CoreFacts(f"-mcpu=cortex-m4, {_HARD}, -mfpu=fpv4-sp-d16", True, False, "dwt", 0, 0x4100C240),
        "cortex-m7": CoreFacts(f"-mcpu=cortex-m7, {_HARD}, -mfpu=fpv5-d16", True, False, "dwt", 0, 0x4100C270),
        "cortex-m33": CoreFacts(f"-mcpu=cortex-m33, {_HARD}, -mfpu=fpv5-sp-d16", True, False, "dwt", 0, 0x4100D210),
        "cortex-m55": CoreFacts(f"-mcpu=cortex-m55, {_HARD}", True, True, "armv8m-pmu", 8, 0x4100D220),
    }
)
"""Cores that a skeleton can be written for, with the usual floating-point unit of each."""


@dataclass(frozen=True)
class Skeleton:
    """What is asked for. `code` and `ram` are (origin, length) in bytes; None is a guess to correct."""

    name: str
    core: str | None = None
    based_on: str | None = None
    code: tuple[int, int] | None = None
    ram: tuple[int, int] | None = None
    device: str | None = None


def parse_region(text: str, option: str) -> tuple[int, int]:
    """`ORIGIN:LENGTH` with an optional K or M, as (origin, length).

    Raises:
        UsageError: it is not of that form, or no memory of a 32-bit core.
    """
    match = _REGION.match(text)
    if match is not None:
        origin, length = int(match[1], 0), int(match[2], 0) * _UNITS[match[3]]
        if length > 0 and origin + length <= 1 << 32:
            return origin, length
    raise UsageError(f"{option} {text!r} is no ORIGIN:LENGTH.", todo="For example 0x20000000:128K.")


def write_skeleton(wish: Skeleton, out: Path) -> tuple[Path, ...]:
    """Write `NAME.yml` and `ports/NAME/` into a directory of descriptors; returns the files.

    Nothing is written unless the result is a valid board type.

    Raises:
        UsageError: the name is taken or no name, the core is unknown, or one of the files exists.
        BoardDescriptorError: what it is based on cannot be used, or does not fit what was asked for.
    """
    extra = tuple(place for place in (out,) if place.is_dir() and place not in search_path())
    _check(wish, extra)
    base = load_board_type(wish.based_on, extra=extra) if wish.based_on is not None else None
    texts = {
        Path(f"{wish.name}.yml"): _descriptor(wish, base),
        Path("ports") / wish.name / "board.h": _board_header(wish.name),
        Path("ports") / wish.name / "startup.c": _STARTUP,
    }
    taken = [out / path for path in texts if (out / path).exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists.", todo="Choose another name, or remove it.")
    with tempfile.TemporaryDirectory(prefix="harness-board-") as place:
        (Path(place) / f"{wish.name}.yml").write_text(texts[Path(f"{wish.name}.yml")], "utf-8")
        load_board_type(wish.name, extra=(Path(place), *extra))
    for path, text in texts.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(out / path, text)
    return tuple(out / path for path in texts)


def _check(wish: Skeleton, extra: tuple[Path, ...]) -> None:
    if not _NAME.match(wish.name):
        raise UsageError(f"{wish.name!r} is no name of a board type.", todo="Use lower-case letters, digits and _.")
    for directory in search_path(extra):
        if (directory / f"{wish.name}.yml").exists():
            raise UsageError(f"There is a board type {wish.name!r} already.", why=f"In {directory}.")
    if wish.core is None and wish.based_on is None:
        raise UsageError("Neither --core nor --based-on was given.", todo=f"Cores: {', '.join(CORES)}.")
    if wish.core is not None and wish.core not in CORES:
        raise UsageError(
            f"There is no core {wish.core!r}.",
            why=did_you_mean(wish.core, CORES),
            todo=f"Known: {', '.join(CORES)}; for another one, start from the nearest and edit the descriptor.",
        )


def _descriptor(wish: Skeleton, base: BoardType | None) -> str:
    lines = [
        "# Replace what is marked with FILL IN; everything else may stay. docs/first-board.md explains the keys.",
        f"name: {wish.name}",
        f"title: {wish.name}",
        "source: silicon",
        "qualification: {state: unverified}",
    ]
    if base is not None:
        lines.append(f"based_on: {base.name}")
    if wish.core is not None:
        core = CORES[wish.core]
        lines += ["", "core:", f"  name: {wish.core}", f"  cpuflags: [{core.flags}]"]
        lines += [f"  fpu: {_yaml(core.fpu)}", f"  mve: {_yaml(core.mve)}"]
        lines += [f"  counter_unit: {core.counter_unit}", f"  counter_slots: {core.counter_slots}"]
    if base is None:
        lines += ["", "# FILL IN the rate at which startup.c leaves the core.", "clocks:", "  default: nominal"]
        lines += ["  rates_hz: {nominal: 16000000}"]
    if base is None or wish.device is not None or base.emulator is not None:
        note = "" if wish.device else "   # FILL IN the J-Link's name of the chip"
        lines += ["", f"jlink: {{device: {wish.device or wish.name.upper()}, interface: swd, speed_khz: 4000}}{note}"]
    lines += _identity(wish, base)
    lines += _memory(wish, base)
    lines += ["", f"port: {wish.name}", "repeatability: {counters: noisy, window: noisy}"]
    if base is not None and base.emulator is not None:
        lines += ["", "# Silicon has no stand-in.", "emulator: null"]
    return "\n".join([*lines, ""])


def _identity(wish: Skeleton, base: BoardType | None) -> list[str]:
    if base is not None and base.emulator is None:
        return []
    core = wish.core or (base.core.name if base is not None else "")
    cpuid = CORES[core].cpuid
    return [
        "",
        "# FILL IN a register that names the chip. Until then the probe refuses every board, because 0 matches none:",
        "# a board is never guessed.",
        "identity:",
        f"  - {{name: CPUID, address: 0xE000ED00, mask: 0xFF00FFF0, value: {cpuid:#010x}}}",
        "  - {name: CHIP_ID, address: 0xE00FFFE0, mask: 0xFFFFFFFF, value: 0x00000000}",
    ]


def _memory(wish: Skeleton, base: BoardType | None) -> list[str]:
    if base is not None and wish.code is None and wish.ram is None:
        return []
    regions = {
        name: (base.region(name).origin, base.region(name).length) if base is not None else guess
        for name, guess in (("code", (0x0000_0000, 512 << 10)), ("ram", (0x2000_0000, 128 << 10)))
    }
    regions |= {name: given for name, given in (("code", wish.code), ("ram", wish.ram)) if given is not None}
    lines = [""] if wish.code and wish.ram else ["", "# FILL IN the chip's memory."]
    lines.append("memory:")
    for name, (origin, length) in regions.items():
        lines.append(f"  - {{name: {name}, kind: {name}, origin: {origin:#010x}, length: {length:#x}}}")
    gone = {name: "null" for name in (base.arena_locations if base is not None else ()) if name != "ram"}
    arena = {"ram": "ram", **gone}
    gone = {name: "null" for name in (base.weights_locations if base is not None else ()) if name not in regions}
    weights = {"code": "code", "ram": "ram", **gone}
    lines += ["", f"arena_locations: {_flow(arena)}", f"weights_locations: {_flow(weights)}"]
    lines.append("defaults: {arena: ram, weights: code}")
    ram = regions["ram"][1]
    small = ram < 256 << 10
    sizes = (max(2048, ram // 16 & ~7), max(256, ram // 64), 4096, 1024) if small else (16384, 16384, 16384, 4096)
    names = ("stack", "sample_words", "rtt_up", "rtt_down")
    return [*lines, f"buffers: {_flow({name: str(size) for name, size in zip(names, sizes, strict=True)})}"]


def _flow(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"


def _yaml(value: bool) -> str:
    return "true" if value else "false"


def _board_header(name: str) -> str:
    return f"""/* {name}. Addresses of memory and counters come from the descriptor, in board_map.h. */
#ifndef HARNESS_BOARD_H
#define HARNESS_BOARD_H

#include "board_map.h"

#define BOARD_CORTEX_M 1

/*
 * A core with L1 caches that startup.c switches on:
 *   #define BOARD_HAS_CACHES 1
 * A pin that is high during measured windows, for a power monitor:
 *   #define BOARD_GATE_MASK (1u << 5)
 *   #define BOARD_GATE_SETUP {{0x50000518u, BOARD_GATE_MASK}}
 *   #define BOARD_GATE_SET_ADDRESS 0x50000508u
 *   #define BOARD_GATE_CLEAR_ADDRESS 0x5000050Cu
 */

#endif
"""


_STARTUP = """/* Runs once memory holds its initial values: clocks, power of memories, caches (caches.h, wait.h). */
static void chip_init(void) {
}

#define STARTUP_CHIP_INIT chip_init
#include "startup_cortex_m.h"
"""
