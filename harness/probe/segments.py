"""The bytes of an ELF file that go into a board's memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.board.descriptor import BoardType
from harness.core.errors import ProbeError


@dataclass(frozen=True)
class Segment:
    """Bytes and the address they are loaded to."""

    address: int
    data: bytes


def load_segments(elf: Path, board_type: BoardType) -> tuple[Segment, ...]:
    """The loadable segments of an image, checked against the board's memory.

    Raises:
        ProbeError: not a readable 32-bit Arm ELF file, nothing to load, or a segment outside the board's memory.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with elf.open("rb") as file:
            parsed = ELFFile(file)
            if parsed.elfclass != 32 or parsed["e_machine"] != "EM_ARM":
                raise ELFError("not a 32-bit Arm image")
            found = tuple(
                Segment(int(part["p_paddr"]), part.data())
                for part in parsed.iter_segments("PT_LOAD")
                if part["p_filesz"] > 0
            )
    except (OSError, ELFError, ValueError, KeyError) as error:
        raise ProbeError(
            f"{elf} cannot be flashed.", why=str(error), todo="Build the image again.", context={"path": str(elf)}
        ) from None
    if not found:
        raise ProbeError(f"{elf} holds nothing to load.", todo="Build the image again.", context={"path": str(elf)})
    for part in found:
        end = part.address + len(part.data)
        if not any(region.origin <= part.address and end <= region.end for region in board_type.memory):
            raise ProbeError(
                f"{elf.name} does not fit {board_type.name}; nothing was written.",
                why=f"{part.address:#010x}..{end:#010x} lies outside the board's memory.",
                todo="Build the image for this board type.",
                context={"path": str(elf), "address": part.address, "size": len(part.data)},
            )
    return found


def symbol_address(elf: Path, name: str) -> int:
    """Address of a symbol; `ProbeError` when the file is no ELF file or has no such symbol."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with elf.open("rb") as file:
            table: Any = ELFFile(file).get_section_by_name(".symtab")
            found = table.get_symbol_by_name(name) if table is not None else None
            if found:
                return int(found[0]["st_value"])
    except (OSError, ELFError) as error:
        raise ProbeError(f"{elf} cannot be read.", why=str(error), todo="Build the image again.") from None
    raise ProbeError(f"{elf.name} has no symbol {name}.", todo="Build the image with its symbol table.")
