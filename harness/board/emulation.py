"""The `emulator` section of a descriptor: the machine that stands in for a board, and what it models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from harness.board.fields import Address, Name, Record, Size, Word


class EmulatedMemory(Record):
    """A region of the emulated machine as the stand-in probe has to treat it.

    `code` is RAM that plays flash. `flash` cannot be written by the target; a download erases what it touches of its
    `sectors`, which are given from the lowest on as pairs of a size in bytes and how many of it follow each other.
    """

    origin: Address
    length: Size
    kind: Literal["code", "flash", "ram", "device"]
    sectors: tuple[tuple[Size, Annotated[int, Field(gt=0, le=1024)]], ...] = ()


class DebugWord(Record):
    """A word that a debugger reads on the real chip and the emulated machine lacks."""

    name: str
    address: Address
    value: Word


class Pages(Record):
    """Addresses of the 4 KiB pages that the counter plugin serves."""

    dwt: Address
    pmu: Address | None = None
    observer: Address
    itm: Address | None = None

    @property
    def go(self) -> int:
        """Address of the word that stands for the go line of a power monitor: the observer page's last one."""
        return self.observer + 0xFFC


class AddressRange(Record):
    """A range of addresses."""

    origin: Address
    length: Size


class CostTable(Record):
    """Modelled cycles by instruction class; `version` changes whenever a number does, `basis` says their origin."""

    version: str
    basis: str
    cycles: Mapping[str, Annotated[int, Field(ge=0)]]


class EnergyTable(Record):
    """Modelled energy in femtojoules by instruction class."""

    version: str
    basis: str
    fj: Mapping[str, Annotated[int, Field(ge=0)]]


class Supply(Record):
    """What an emulated board's power monitor sees: supply in volts, idle current in amperes, and what they rest on."""

    volts: Annotated[float, Field(gt=0, le=20)]
    idle_a: Annotated[float, Field(ge=0, le=1)]
    basis: str


class CacheModel(Record):
    """A modelled data cache; sizes in bytes, `cacheable` as pairs of first address and first address behind."""

    size: Size
    line: Size
    ways: Annotated[int, Field(gt=0, le=64)]
    miss_cycles: Annotated[int, Field(ge=0)]
    cacheable: tuple[tuple[Address, Annotated[int, Field(gt=0, le=0x1_0000_0000)]], ...]


class Emulator(Record):
    """What stands in for the board. Only the virtual bench reads this.

    `tcm` are ranges of tightly coupled data memory, in pairs as in `cacheable`; one bus access moves `bus_bytes`;
    `systick_hz` is the rate of the machine's SysTick, from which instructions are read where no plugin can be loaded;
    `uarts` says which of the machine's UARTs, counted from 0, a transport uses.
    """

    machine: str
    icount_shift: Annotated[int, Field(ge=0, le=10)]
    systick_hz: Annotated[int, Field(gt=0, le=1_000_000_000)]
    qemu_memory: tuple[EmulatedMemory, ...]
    debug_words: Annotated[tuple[DebugWord, ...], Field(max_length=16)] = ()
    pages: Pages
    access_code: AddressRange
    cost_table: CostTable
    cache: CacheModel | None = None
    tcm: tuple[tuple[Address, Annotated[int, Field(gt=0, le=0x1_0000_0000)]], ...] = ()
    bus_bytes: Annotated[int, Field(gt=0, le=64)] = 4
    energy: EnergyTable | None = None
    supply: Supply | None = None
    uarts: Mapping[Name, Annotated[int, Field(ge=0, le=7)]] = Field(default_factory=dict)
    events: Mapping[str, Annotated[int, Field(ge=0, le=0xFFFF)]] = Field(default_factory=dict)
    options: Mapping[str, str | int] = Field(default_factory=dict)
