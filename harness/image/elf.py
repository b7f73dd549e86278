"""Facts of an ELF image, read from the file itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from harness.core.errors import EvidenceError

RTT_SYMBOL = "_SEGGER_RTT"
REQUEST_SYMBOL = "harness_power_request"
TERMINAL_SYMBOL = "harness_power_terminal"
BUILD_ID_SYMBOL = "harness_build_id"


@dataclass(frozen=True)
class Region:
    """A memory region of the board; lengths in bytes."""

    name: str
    kind: str
    origin: int
    length: int

    def holds(self, address: int, size: int = 0) -> bool:
        """Whether a span of addresses lies inside."""
        return self.origin <= address and address + size <= self.origin + self.length


@dataclass(frozen=True)
class Section:
    """A section that occupies target memory."""

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True)
class Symbol:
    """A function or object."""

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True)
class MemoryUse:
    """Bytes used in one region: code and constants, initialised data, zeroed data, initial values of data elsewhere."""

    region: str
    length: int
    text: int = 0
    data: int = 0
    bss: int = 0
    initial_values: int = 0

    @property
    def used(self) -> int:
        """Bytes used in all."""
        return self.text + self.data + self.bss + self.initial_values


@dataclass(frozen=True)
class ElfFacts:
    """What an image is made of. Symbols are in address order, without the Thumb bit.

    `rtt_address` is None where the image's transport is another, or where it has none: a power image has a mailbox.
    """

    entry: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    memory: Mapping[str, MemoryUse]
    rtt_address: int | None
    build_id: str
    segments: tuple[tuple[int, bytes], ...] = field(repr=False)

    def symbol(self, name: str) -> Symbol | None:
        """The symbol of a name, or None."""
        return next((symbol for symbol in self.symbols if symbol.name == name), None)

    def symbolise(self, address: int) -> str:
        """`function+0xoffset` of a code address, or the address itself when no function holds it."""
        plain = address & ~1
        for symbol in self.symbols:
            if symbol.kind == "func" and symbol.address <= plain < symbol.address + max(symbol.size, 2):
                return f"{symbol.name}+{plain - symbol.address:#x}"
        return f"{address:#010x}"

    def flat_image(self, code: Region) -> bytes:
        """The bytes of the code memory from its origin on; gaps are 0xFF, as erased flash reads."""
        low = code.origin
        out = bytearray()
        for address, data in self.segments:
            if not code.holds(address, len(data)):
                continue
            out += b"\xff" * (address - low - len(out))
            out[address - low : address - low + len(data)] = data
        return bytes(out)


def read_elf(path: Path, regions: Iterable[Region]) -> ElfFacts:
    """Read an image's facts.

    Raises:
        EvidenceError: not a complete 32-bit little-endian Arm executable, a required symbol is missing, or a section
            lies outside the board's memory.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise _broken(path, fault.strerror or str(fault)) from None
    try:
        return _read(path, ELFFile(BytesIO(data)), len(data), tuple(regions))
    except EvidenceError:
        raise
    # pyelftools meets damaged files with whatever its parsing runs into.
    except (
        ELFError,
        ValueError,
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
        OverflowError,
        AssertionError,
    ) as fault:
        raise _broken(path, f"{type(fault).__name__}: {fault}"[:200]) from None


def _broken(path: Path, why: str) -> EvidenceError:
    return EvidenceError(f"{path.name} is not a usable firmware image.", why=why, todo="Build the image again.")


def _read(path: Path, elf: Any, size: int, regions: tuple[Region, ...]) -> ElfFacts:
    if (elf.elfclass, elf.little_endian, elf["e_machine"], elf["e_type"]) != (32, True, "EM_ARM", "ET_EXEC"):
        raise _broken(path, "It is not a 32-bit little-endian Arm executable.")
    segments = _segments(path, elf, size)
    sections = tuple(_sections(elf))
    symbols = tuple(sorted(_symbols(elf), key=lambda symbol: (symbol.address, symbol.name)))
    memory = _memory(path, sections, regions, elf)
    by_name = {symbol.name: symbol for symbol in symbols}
    if BUILD_ID_SYMBOL not in by_name:
        raise _broken(path, f"It has no symbol {BUILD_ID_SYMBOL}.")
    rtt, build_id = by_name.get(RTT_SYMBOL), by_name[BUILD_ID_SYMBOL]
    for name in (RTT_SYMBOL, REQUEST_SYMBOL, TERMINAL_SYMBOL):
        link = by_name.get(name)
        if link is not None and not any(r.kind == "ram" and r.holds(link.address, link.size) for r in regions):
            raise _broken(path, f"{name} at {link.address:#x} is not in RAM.")
    text = _bytes_at(elf, build_id.address, build_id.size)
    return ElfFacts(
        entry=elf["e_entry"],
        sections=sections,
        symbols=symbols,
        memory=memory,
        rtt_address=rtt.address if rtt is not None else None,
        build_id=text.rstrip(b"\0").decode("ascii", "replace"),
        segments=segments,
    )


def _segments(path: Path, elf: Any, size: int) -> tuple[tuple[int, bytes], ...]:
    out = []
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
            if segment["p_offset"] + segment["p_filesz"] > size:
                raise _broken(path, "It is truncated: a segment ends behind the file's end.")
            out.append((segment["p_paddr"], segment.data()))
    if not out:
        raise _broken(path, "It holds nothing to program.")
    return tuple(sorted(out))


def _sections(elf: Any) -> Iterable[Section]:
    for section in elf.iter_sections():
        flags = section["sh_flags"]
        if not flags & SH_FLAGS.SHF_ALLOC or not section["sh_size"]:
            continue
        if section["sh_type"] == "SHT_NOBITS":
            kind = "bss"
        elif flags & SH_FLAGS.SHF_WRITE:
            kind = "data"
        else:
            kind = "text"
        yield Section(section.name, section["sh_addr"], section["sh_size"], kind)


_KINDS = {"STT_FUNC": "func", "STT_OBJECT": "object"}


def _symbols(elf: Any) -> Iterable[Symbol]:
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return
    for symbol in table.iter_symbols():
        kind = _KINDS.get(symbol["st_info"]["type"])
        if kind is not None and symbol["st_shndx"] != "SHN_UNDEF":
            address = symbol["st_value"]
            yield Symbol(symbol.name, address & ~1 if kind == "func" else address, symbol["st_size"], kind)


def _memory(path: Path, sections: Iterable[Section], regions: tuple[Region, ...], elf: Any) -> Mapping[str, MemoryUse]:
    sums = {region.name: {"text": 0, "data": 0, "bss": 0, "initial_values": 0} for region in regions}

    def region_of(address: int, size: int, what: str) -> str:
        for region in regions:
            if region.holds(address, size):
                return region.name
        raise _broken(path, f"{what} at {address:#x}, {size} bytes, lies outside the board's memory.")

    for section in sections:
        sums[region_of(section.address, section.size, section.name)][section.kind] += section.size
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
            load = region_of(segment["p_paddr"], segment["p_filesz"], "A segment")
            if load != region_of(segment["p_vaddr"], segment["p_filesz"], "A segment"):
                sums[load]["initial_values"] += segment["p_filesz"]
    return MappingProxyType(
        {region.name: MemoryUse(region.name, region.length, **sums[region.name]) for region in regions}
    )


def _bytes_at(elf: Any, address: int, size: int) -> bytes:
    for section in elf.iter_sections():
        start = section["sh_addr"]
        if section["sh_type"] == "SHT_PROGBITS" and start <= address and address + size <= start + section["sh_size"]:
            return bytes(section.data()[address - start : address - start + size])
    return b""
