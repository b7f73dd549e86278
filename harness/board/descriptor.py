"""What a board type is: its core, memory, identity and, when it is emulated, what stands in for it.

One YAML file a board type. `load_board_type` reads a single one with what it is based on, `board_types` reads all.
Directories beside the shipped one come from `HIL_BOARDS_PATH` (separated as in PATH) or from the caller.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from harness.board.emulation import Emulator
from harness.board.fields import Address, MacroName, Name, Record, Size, Word
from harness.board.transports import TRANSPORTS
from harness.board.validation import explain
from harness.core.errors import BoardDescriptorError
from harness.core.resources import data_dir
from harness.core.strict_yaml import YamlDocument, load
from harness.core.suggest import did_you_mean

BOARDS_PATH = "HIL_BOARDS_PATH"


class Qualification(Record):
    """How far a board type is proven: emulated here, verified by somebody on a day on silicon, or not yet."""

    state: Literal["emulated", "verified", "unverified"]
    by: Annotated[str, Field(min_length=1)] | None = None
    on: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None

    @model_validator(mode="after")
    def _stated(self) -> Self:
        if (self.state == "verified") != (self.by is not None and self.on is not None):
            raise ValueError("`by` and `on` (a date as 2026-01-31) belong to the state verified, and to no other")
        if self.state != "verified" and (self.by is not None or self.on is not None):
            raise ValueError("`by` and `on` belong to the state verified only")
        return self

    def __str__(self) -> str:
        return f"verified by {self.by} on {self.on}" if self.state == "verified" else self.state


class Core(Record):
    """The processor core.

    `counter_slots` is how many event counters exist beside the cycle counter.
    """

    name: str
    cpuflags: tuple[str, ...]
    fpu: bool
    mve: bool
    counter_unit: Literal["dwt", "armv8m-pmu"]
    counter_slots: Annotated[int, Field(ge=0, le=31)]


class Clocks(Record):
    """Named CPU clock rates in hertz."""

    default: Name
    rates_hz: Mapping[Name, Annotated[int, Field(gt=0, le=10_000_000_000)]]


class JLink(Record):
    """What a J-Link has to be told: device name, interface, speed in kHz."""

    device: str
    interface: Literal["swd", "jtag"] = "swd"
    speed_khz: Annotated[int, Field(gt=0, le=50_000)] = 4000


class IdentityCheck(Record):
    """One word that the probe reads before any write: `(word at address) & mask` must equal `value`."""

    name: str
    address: Address
    mask: Word = 0xFFFF_FFFF
    value: Word


class Memory(Record):
    """A region that firmware may use; `origin` and `length` in bytes."""

    name: Name
    kind: Literal["code", "ram"]
    origin: Address
    length: Size

    @property
    def end(self) -> int:
        """The first address behind the region."""
        return self.origin + self.length


class LocationDefaults(Record):
    """Where the arena and the weights go when nothing is asked for."""

    arena: Name
    weights: Name


class Buffers(Record):
    """Memory that firmware keeps for itself in `ram`: stack and RTT in bytes, samples in 32-bit words."""

    stack: Annotated[int, Field(ge=2048, le=0x100_0000, multiple_of=8)] = 16384
    sample_words: Annotated[int, Field(ge=256, le=0x100_0000)] = 16384
    rtt_up: Annotated[int, Field(ge=1024, le=0x10_0000)] = 16384
    rtt_down: Annotated[int, Field(ge=512, le=0x10_0000)] = 4096


class Repeatability(Record):
    """Whether the same image gives the same figures on every run."""

    counters: Literal["exact", "noisy"]
    window: Literal["exact", "noisy"]


_FIRMWARE_FIELDS = frozenset(
    ("name", "core", "clocks", "memory", "arena_locations", "weights_locations", "buffers", "port", "macros")
)


class BoardType(Record):
    """A kind of board.

    `macros` are further numbers of the board for the port's sources; `path` is the descriptor file it came from.
    """

    name: Name
    title: str
    source: Literal["silicon", "emulated"]
    qualification: Qualification
    core: Core
    clocks: Clocks
    jlink: JLink
    identity: Annotated[tuple[IdentityCheck, ...], Field(min_length=2)]
    memory: Annotated[tuple[Memory, ...], Field(min_length=2)]
    arena_locations: Annotated[Mapping[Name, Name], Field(min_length=1)]
    weights_locations: Annotated[Mapping[Name, Name], Field(min_length=1)]
    defaults: LocationDefaults
    buffers: Buffers = Buffers()
    port: Name
    transports: Annotated[tuple[Name, ...], Field(min_length=1)] = ("rtt",)
    macros: Mapping[MacroName, Word] = Field(default_factory=dict)
    repeatability: Repeatability
    emulator: Emulator | None = None
    based_on: Name | None = None
    path: Path

    def region(self, name: str) -> Memory:
        """The memory region of a name; KeyError when there is none."""
        return {region.name: region for region in self.memory}[name]

    def clock_hz(self, name: str | None = None) -> int:
        """The rate of a named clock (the default one when None)."""
        return self.clocks.rates_hz[name or self.clocks.default]

    @property
    def port_dir(self) -> Path:
        """Start-up code and `board.h`: `ports/<port>` beside the descriptor, else the shipped one.

        Raises:
            BoardDescriptorError: neither exists.
        """
        candidates = (self.path.parent / "ports" / self.port, data_dir("firmware") / "ports" / self.port)
        for candidate in candidates:
            if candidate.is_dir():
                return candidate
        raise BoardDescriptorError(
            f"Board type {self.name!r} names the port {self.port!r}, which does not exist.",
            why=f"Looked for {candidates[0]} and {candidates[1]}.",
            todo="Add startup.c and board.h there (`harness boards new` writes both), or correct `port`.",
        )

    def firmware_facts(self) -> dict[str, Any]:
        """The facts that decide firmware, JSON-ready: part of a plan's identity."""
        record = self.model_dump(mode="json", include=set(_FIRMWARE_FIELDS))
        record["clocks"] = record["clocks"]["rates_hz"]
        if self.emulator is not None:
            record["emulator"] = self.emulator.model_dump(mode="json", include={"pages", "access_code"})
        return record

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = list(_problems(self))
        if problems:
            raise ValueError("; ".join(problems))
        return self


VECTORS_ALIGN, RAM_ALIGN = 128, 8
"""Bytes to which the origins of code memory and RAM are aligned."""


def _problems(board: BoardType) -> list[str]:
    out: list[str] = []
    names = [region.name for region in board.memory]
    kinds = {region.name: region.kind for region in board.memory}
    if len(set(names)) != len(names):
        out.append("memory: two regions have the same name")
    for low, high in pairwise(sorted(board.memory, key=lambda region: region.origin)):
        if low.end > high.origin:
            out.append(f"memory: {low.name} and {high.name} overlap")
    # A vector table starts at a multiple of 128: the lowest seven bits of VTOR do not exist.
    for region in board.memory:
        step = VECTORS_ALIGN if region.kind == "code" else RAM_ALIGN
        if region.origin % step:
            out.append(f"memory: {region.name} starts at {region.origin:#010x}, which is no multiple of {step}")
    for field, default in (("arena_locations", board.defaults.arena), ("weights_locations", board.defaults.weights)):
        mapping: Mapping[str, str] = getattr(board, field)
        out += [f"{field}: {loc} names the unknown memory {mem!r}" for loc, mem in mapping.items() if mem not in kinds]
        if default not in mapping:
            out.append(f"defaults: {default!r} is not among {field}")
    out += [
        f"arena_locations: {m!r} is not of kind ram" for m in board.arena_locations.values() if kinds.get(m) == "code"
    ]
    if board.clocks.default not in board.clocks.rates_hz:
        out.append("clocks: the default is not among rates_hz")
    out += [f"identity: {c.name} has bits outside its mask" for c in board.identity if c.value & ~c.mask]
    out += [
        f"transports: {name!r} is none of {', '.join(TRANSPORTS)}"
        for name in board.transports
        if name not in TRANSPORTS
    ]
    emulated = board.source == "emulated"
    if emulated != (board.emulator is not None):
        out.append("emulator: is given exactly when source is emulated")
    if emulated != (board.qualification.state == "emulated"):
        out.append("qualification: state is emulated exactly when source is")
    if board.emulator is not None:
        pages = board.emulator.pages
        for part in board.emulator.qemu_memory:
            if part.length * (part.kind == "flash") != sum(size * count for size, count in part.sectors):
                out.append(f"emulator.qemu_memory: sectors fill flash, and only flash; {part.origin:#x} is wrong")
        for page in (pages.dwt, pages.pmu, pages.observer, pages.itm):
            if page is not None and any(r.origin < page + 0x1000 and page < r.end for r in board.memory):
                out.append(f"emulator.pages: {page:#x} lies in memory that firmware uses")
    return out


def search_path(extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Directories with descriptors: the caller's, those of `HIL_BOARDS_PATH`, the shipped one."""
    listed = [Path(part) for part in os.environ.get(BOARDS_PATH, "").split(os.pathsep) if part]
    return (*extra, *listed, data_dir("boards"))


def _files(extra: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in search_path(extra):
        if not directory.is_dir():
            raise BoardDescriptorError(
                f"The board directory {directory} does not exist.", todo=f"Correct {BOARDS_PATH} or the setting."
            )
        for file in sorted(directory.glob("*.yml")):
            other = found.setdefault(file.stem, file)
            if other.resolve() != file.resolve():
                raise BoardDescriptorError(
                    f"Two descriptors claim the board type {file.stem!r}.",
                    why=f"{other} and {file}.",
                    todo="Rename one of them; `based_on` lets it inherit from the other.",
                )
    return found


def load_board_type(name: str, *, extra: Sequence[Path] = ()) -> BoardType:
    """The board type of a name.

    Raises:
        BoardDescriptorError: there is none, or its file (or what it is based on) cannot be used.
    """
    return _load(name, _files(extra))


def board_types(*, extra: Sequence[Path] = ()) -> dict[str, BoardType]:
    """All board types by name, in alphabetical order. Raises like `load_board_type`."""
    files = _files(extra)
    return {name: _load(name, files) for name in sorted(files)}


def _load(name: str, files: Mapping[str, Path]) -> BoardType:
    documents = _chain(name, files)
    merged: dict[str, Any] = {}
    for document in reversed(documents):
        merged = _merge(merged, document.value)
    merged["path"] = str(files[name])
    try:
        # Through JSON: strict about numbers and truth values, yet a list may become a tuple.
        return BoardType.model_validate_json(json.dumps(merged))
    except ValidationError as fault:
        raise explain(fault, BoardType, documents, BoardDescriptorError, f"Board type {name!r}") from None


def _chain(name: str, files: Mapping[str, Path]) -> list[YamlDocument]:
    documents: list[YamlDocument] = []
    seen: list[str] = []
    wanted: str | None = name
    while wanted is not None:
        if wanted in seen:
            raise BoardDescriptorError(
                f"Board type {name!r} is based on itself.", why=" -> ".join([*seen, wanted]), todo="Correct `based_on`."
            )
        if wanted not in files:
            where = f"{documents[-1].where(('based_on',))}: " if documents else ""
            raise BoardDescriptorError(
                f"{where}There is no board type {wanted!r}.",
                why=did_you_mean(wanted, files),
                todo="`harness boards --types` lists them.",
                context={"known": sorted(files)},
            )
        seen.append(wanted)
        document = load(files[wanted], BoardDescriptorError)
        documents.append(document)
        wanted = _check_document(document, wanted)
    return documents


def _check_document(document: YamlDocument, name: str) -> str | None:
    if not isinstance(document.value, dict):
        raise BoardDescriptorError(f"{document.source} is not a mapping.", todo="Start from a shipped descriptor.")
    if document.value.get("name") != name:
        raise BoardDescriptorError(
            f"{document.where(('name',))}: the name must equal the file's, {name!r}.",
            todo="Correct the name or the file's.",
        )
    if "path" in document.value:
        raise BoardDescriptorError(f"{document.where(('path',))}: unknown key 'path'.", todo="Remove it.")
    base = document.value.get("based_on")
    if base is not None and not (isinstance(base, str) and re.match(r"^[a-z][a-z0-9_]*$", base)):
        raise BoardDescriptorError(f"{document.where(('based_on',))}: not a board type's name.", todo="Correct it.")
    return base


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`, mapping by mapping; null takes away what was inherited."""
    out = dict(base)
    for key, value in over.items():
        if value is None:
            out.pop(key, None)
            continue
        old = out.get(key)
        out[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out
