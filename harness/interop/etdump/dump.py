"""Reading an ETDump: the runs it holds and the profiling events of each, in order, times in ticks (ns on a host)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.interop.errors import ForeignFormatError
from harness.interop.etdump.flat import Buffer, Table

MAX_BYTES = 64 * 1024 * 1024
IDENTIFIER = b"ED00"


@dataclass(frozen=True)
class ProfileEvent:
    """One timed stretch. `chain` below 0: the whole method, whatever `instruction` says."""

    name: str
    chain: int
    instruction: int
    delegate_id: int | str | None
    start: int
    end: int
    metadata: bytes | None = None

    @property
    def ticks(self) -> int:
        """End minus start."""
        return self.end - self.start

    @property
    def signature(self) -> tuple[str, int, int, int | str | None]:
        """What is the same in every run that executes the same things."""
        return self.name, self.chain, self.instruction, self.delegate_id

    @property
    def maps_to_operator(self) -> bool:
        """Whether the instruction number means anything."""
        return self.chain >= 0 and self.instruction >= 0


@dataclass(frozen=True)
class Run:
    """One block of events, as one execution of a method."""

    name: str
    events: tuple[ProfileEvent, ...]
    others: int = 0
    """Allocation and debug events, which carry no time."""

    @property
    def signature(self) -> tuple[object, ...]:
        """Runs of one signature are repetitions of one another."""
        return self.name, *(event.signature for event in self.events)


@dataclass(frozen=True)
class EtDump:
    """All runs of a dump, in order of recording."""

    version: int
    runs: tuple[Run, ...]
    file: str = ""


def looks_like_etdump(head: bytes) -> bool:
    """Whether the first bytes are those of an ETDump, with or without the size in front."""
    return head[8:12] == IDENTIFIER or head[4:8] == IDENTIFIER


def read_etdump(data: bytes, file: str = "") -> EtDump:
    """Read a dump from a file's bytes or from a target's memory (trailing bytes are allowed there).

    Raises:
        ForeignFormatError: not an ETDump, cut short, or damaged; it names the field.
    """
    if len(data) > MAX_BYTES:
        raise ForeignFormatError("The ETDump is too large.", file=file, why=f"{len(data)} bytes, at most {MAX_BYTES}")
    if data[8:12] == IDENTIFIER:
        size = int.from_bytes(data[:4], "little")
        if 4 + size > len(data):
            raise ForeignFormatError(
                "The ETDump is cut short.",
                file=file,
                field="size",
                why=f"it states {size} bytes, {len(data) - 4} follow",
            )
        body = data[4 : 4 + size]
    elif data[4:8] == IDENTIFIER:
        body = data
    else:
        raise ForeignFormatError(
            "This is not an ETDump.", file=file, field="identifier", why="ED00 is not where it has to be"
        )
    buffer = Buffer(body, file)
    root = Table(buffer, buffer.follow(0, "root"), "etdump")
    version = root.scalar(0, "<I", "version", 0)
    return EtDump(version, tuple(_run(table) for table in root.tables(1, "run_data")), file)


def read_etdump_file(path: Path) -> EtDump:
    """`read_etdump` of a file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ForeignFormatError("The ETDump is too large.", file=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise ForeignFormatError("The ETDump cannot be read.", file=str(path), why=str(error)) from None
    return read_etdump(data, str(path))


def _run(table: Table) -> Run:
    events: list[ProfileEvent] = []
    others = 0
    for item in table.tables(3, "events"):
        profile = item.table(0, "profile_event")
        if profile is None:
            others += 1
        else:
            events.append(_event(profile))
    return Run(table.text(0, "name") or "", tuple(events), others)


def _event(table: Table) -> ProfileEvent:
    number = table.scalar(3, "<i", "delegate_debug_id_int", -1)
    text = table.text(4, "delegate_debug_id_str")
    start, end = table.scalar(6, "<Q", "start_time", 0), table.scalar(7, "<Q", "end_time", 0)
    if end < start:
        raise table.buffer.fail(f"{table.name}.end_time", f"it is {start - end} ticks before the start")
    return ProfileEvent(
        table.text(0, "name") or "",
        table.scalar(1, "<i", "chain_index", 0),
        table.scalar(2, "<i", "instruction_id", -1),
        text if text else (number if number >= 0 else None),
        start,
        end,
        table.raw(5, "delegate_debug_metadata"),
    )
