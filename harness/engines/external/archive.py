"""Static libraries: whether every member is an object that can be linked for the board's core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from harness.core.errors import BuildError

_MAGIC, _THIN, _HEADER, _END = b"!<arch>\n", b"!<thin>\n", 60, b"`\n"
_INDICES = frozenset({"/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"})

_M_PROFILE = ord("M")
_ARCHITECTURES = {
    "cortex-m0": {11, 12}, "cortex-m0plus": {11, 12}, "cortex-m3": {10, 11, 12}, "cortex-m4": {10, 11, 12, 13},
    "cortex-m7": {10, 11, 12, 13}, "cortex-m23": {11, 12, 16}, "cortex-m33": {10, 11, 12, 13, 16, 17},
    "cortex-m35p": {10, 11, 12, 13, 16, 17}, "cortex-m52": {10, 11, 12, 13, 16, 17, 21},
    "cortex-m55": {10, 11, 12, 13, 16, 17, 21}, "cortex-m85": {10, 11, 12, 13, 16, 17, 21},
}  # fmt: skip
"""Values of Tag_CPU_arch (Arm's ABI addenda) that a core executes."""
_NAMES = {
    0: "no stated architecture", 10: "Armv7", 11: "Armv6-M", 12: "Armv6S-M", 13: "Armv7E-M", 14: "Armv8-A",
    15: "Armv8-R", 16: "Armv8-M Baseline", 17: "Armv8-M Mainline", 21: "Armv8.1-M Mainline", 22: "Armv9-A",
}  # fmt: skip


def check_archive(path: Path, core: str, cpuflags: Sequence[str]) -> None:
    """Refuse a static library that cannot be linked into an image.

    Args:
        path: the library.
        core: the board's core, as in `cortex-m4`.
        cpuflags: the board's compiler flags; they say which float ABI is used.

    Raises:
        BuildError: it is no archive, is cut short, or a member is for another machine or float ABI; names the member.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise _refused(path, "", fault.strerror or str(fault)) from None
    hard = "-mfloat-abi=hard" in cpuflags
    count = 0
    for name, member in _members(path, data):
        count += 1
        try:
            why = _fault(member, core, hard)
        # pyelftools meets damaged files with whatever its parsing runs into.
        except (ELFError, ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as fault:
            why = f"it is damaged ({type(fault).__name__})"
        if why:
            raise _refused(path, name, why)
    if not count:
        raise _refused(path, "", "it holds no objects")


def _refused(path: Path, member: str, why: str) -> BuildError:
    what = f"{path.name}({member})" if member else path.name
    return BuildError(
        f"The static library {what} cannot be linked.",
        why=f"{why[:1].upper()}{why[1:]}.",
        todo="Build the library for the board's core and float ABI, without link-time optimisation.",
        context={"library": path.name, "member": member},
    )


def _members(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(_THIN):
        raise _refused(path, "", "it is a thin archive, which holds names instead of objects")
    if not data.startswith(_MAGIC):
        raise _refused(path, "", "it is not an archive")
    names, at = b"", len(_MAGIC)
    while at < len(data):
        header = data[at : at + _HEADER]
        size_text = header[48:58].decode("ascii", "replace").strip()
        if len(header) < _HEADER or header[58:60] != _END or not (size_text.isascii() and size_text.isdigit()):
            raise _refused(path, "", f"it is damaged at byte {at}")
        size, at = int(size_text), at + _HEADER
        body = data[at : at + size]
        if len(body) < size:
            raise _refused(path, "", "it is cut short")
        at += size + size % 2
        name = header[:16].decode("ascii", "replace").rstrip()
        if name == "//":
            names = body
        elif name not in _INDICES:
            yield _member_name(name, names, body)


def _member_name(name: str, names: bytes, body: bytes) -> tuple[str, bytes]:
    number = name[1:]
    if name.startswith("#1/") and name[3:].isdigit():
        length = int(name[3:])
        return body[:length].rstrip(b"\0").decode("utf-8", "replace"), body[length:]
    if name.startswith("/") and number.isdigit():
        return names[int(number) :].split(b"/\n")[0].decode("utf-8", "replace"), body
    return name.rstrip("/"), body


def _fault(member: bytes, core: str, hard: bool) -> str:
    """Why a member cannot be linked; empty when it can."""
    if not member.startswith(b"\x7fELF"):
        return "it is no ELF object; link-time optimisation gives such, and other compilers"
    elf = ELFFile(BytesIO(member))
    if (elf.elfclass, elf.little_endian, elf["e_machine"]) != (32, True, "EM_ARM"):
        order = "little" if elf.little_endian else "big"
        return f"it is a {elf.elfclass}-bit {order}-endian object for {elf['e_machine']}, not for 32-bit Arm"
    if elf["e_type"] != "ET_REL":
        return f"it is of type {elf['e_type']}, not an object"
    sections = list(elf.iter_sections())
    names = {section.name for section in sections}
    content = any(section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"] for section in sections)
    if any(name.startswith(".gnu.lto_") for name in names) and not content:
        return "it holds only what link-time optimisation needs"
    if any(name.startswith((".init_array", ".ctors")) for name in names):
        return "it has static constructors, which firmware does not run"
    return _attribute_fault(_attributes(elf), core, hard)


def _attributes(elf: Any) -> dict[str, int]:
    section = elf.get_section_by_name(".ARM.attributes")
    out: dict[str, int] = {}
    for vendor in section.iter_subsections() if section is not None else ():
        for scope in vendor.iter_subsubsections():
            for attribute in scope.iter_attributes():
                if isinstance(attribute.value, int):
                    out[attribute.tag] = attribute.value
    return out


def _attribute_fault(attributes: dict[str, int], core: str, hard: bool) -> str:
    if not attributes:
        return ""
    architecture = attributes.get("TAG_CPU_ARCH", 0)
    profile = attributes.get("TAG_CPU_ARCH_PROFILE", _M_PROFILE)
    known = _ARCHITECTURES.get(core)
    if known is not None and (architecture not in known or profile != _M_PROFILE):
        of = f", profile {chr(profile)}" if profile != _M_PROFILE and profile else ""
        return f"it is compiled for {_NAMES.get(architecture, f'architecture {architecture}')}{of}, not for {core}"
    floats = attributes.get("TAG_ABI_VFP_ARGS", 0)
    if floats != 3 and (floats == 1) != hard:
        wanted, got = ("hard", "soft") if hard else ("soft", "hard")
        return f"its float ABI is {got}, the board's is {wanted}"
    return ""
