"""The bench of this host: bench.yaml, or emulated boards on demand when there is none.

version: 1
virtual: on-demand          # or "off": no emulated boards beside those listed
noise: {seed: 1, ...}       # optional: seeded noise on emulated boards; see harness.bench.noise
faults:                     # optional: emulated boards fail on purpose; see docs/virtual-faults.md
  - {name: flash-error, runs: once, board: mps2_an386}
boards:
  - serial: 683012345       # serial number of the J-Link
    board: nrf52840dk       # board type
    probe: jlink            # or "virtual": an emulated board under this serial
    transport: rtt
    library: libjlinkarm.so # optional: the J-Link library to load, relative to this file
    ports: {serial: {path: /dev/ttyUSB0}}   # optional: a device, or `usb_serial` of its adapter; `baud` if not 115200
    hub: {location: 1-2, port: 3}   # optional: where the probe is plugged in, to power-cycle it when it is stuck
    power: {driver: ppk2, address: /dev/ttyACM0, volts: 1.8}   # optional: the power monitor wired to the board
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from harness.bench.claims import Claim
from harness.bench.local import LocalBoard, LocalProvider
from harness.bench.noise import NoiseSettings
from harness.bench.provider import BoardInfo, BoardLease, BoardProvider, LeaseRequest, MonitorPlace
from harness.board.descriptor import BoardType, board_types
from harness.board.transports import TRANSPORTS
from harness.board.validation import explain
from harness.core.deadline import Deadline
from harness.core.errors import NoBoardError, UsageError
from harness.core.strict_yaml import YamlDocument, load
from harness.core.suggest import did_you_mean
from harness.probe.hub import HubPort
from harness.probe.transports import DEFAULT_BAUD, PortPlace

BENCH_FILE = "bench.yaml"


class BenchFileError(UsageError):
    """bench.yaml cannot be used."""

    code = "bench.file_invalid"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BenchMonitor(_Record):
    """The power monitor of a board; `harness power calibrate` finds its relative error."""

    driver: Annotated[str, Field(pattern="^[a-z][a-z0-9_-]*$")]
    address: Annotated[str, Field(min_length=1)]
    volts: Annotated[float, Field(gt=0, le=60, strict=False)] | None = None
    gate_line: Annotated[int, Field(ge=0, le=7)] = 0
    relative_error: Annotated[float, Field(ge=0, lt=1, strict=False)] | None = None
    basis: str = ""
    mode: Literal["source", "ampere"] = "source"
    keep_supply: bool = False

    def place(self) -> MonitorPlace:
        """As a lease hands it out."""
        return MonitorPlace(**self.model_dump())


class BenchPort(_Record):
    """A serial port of a board: a device, or the tty of the USB device with a serial number."""

    path: str = ""
    usb_serial: str = ""
    baud: Annotated[int, Field(ge=300, le=20_000_000)] = DEFAULT_BAUD

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.path) == bool(self.usb_serial):
            raise ValueError("exactly one of path and usb_serial must be given")
        return self

    def place(self) -> PortPlace:
        """As a lease hands it out."""
        return PortPlace(self.path, self.usb_serial, self.baud)


class BenchHub(_Record):
    """The port of a USB hub that a board's probe is plugged into; `location` as `harness ports` shows the hub."""

    location: Annotated[str, Field(pattern=r"^(usb[0-9]+|[0-9]+-[0-9]+(\.[0-9]+)*)$")]
    port: Annotated[int, Field(ge=1, le=255)]

    def place(self) -> HubPort:
        """As recovery takes it."""
        return HubPort(self.location, self.port)


class BenchEntry(_Record):
    """One board of bench.yaml."""

    serial: Annotated[int, Field(gt=0, lt=2**32)]
    board: str
    probe: Literal["jlink", "virtual"] = "jlink"
    transport: str = "rtt"
    library: str | None = None
    ports: Mapping[str, BenchPort] = Field(default_factory=dict)
    power: BenchMonitor | None = None
    hub: BenchHub | None = None


class BenchFault(_Record):
    """A fault of the emulated boards, of one type or of all; see `harness.virtual.faults`."""

    name: str
    at: int | None = None
    seconds: Annotated[float, Field(strict=False)] | None = None
    runs: str | None = None
    board: str | None = None


class BenchFile(_Record):
    """The whole of bench.yaml."""

    version: Literal[1]
    virtual: Literal["on-demand", "off"] = "on-demand"
    noise: NoiseSettings | None = None
    faults: list[BenchFault] = Field(default_factory=list)
    boards: list[BenchEntry] = Field(default_factory=list)

    @field_validator("virtual", mode="before")
    @classmethod
    def _off_is_false_in_yaml(cls, value: object) -> object:
        return "off" if value is False else value


@dataclass(frozen=True)
class Bench:
    """What this host can reach.

    Attributes:
        providers: the sources of boards.
        types: board types by name, as they were when the bench was loaded.
        path: the bench.yaml it came from, None for the default bench.
        entries: the boards it registers.
    """

    providers: tuple[BoardProvider, ...]
    types: Mapping[str, BoardType]
    path: Path | None = None
    entries: tuple[BenchEntry, ...] = ()

    def boards(self) -> tuple[BoardInfo, ...]:
        """All boards, without opening any."""
        return tuple(info for provider in self.providers for info in provider.boards())

    def claims(self) -> tuple[Claim, ...]:
        """What registered boards are plugged into."""
        return tuple(claim for entry in self.entries if entry.probe == "jlink" for claim in _claims(entry))

    def lease(self, request: LeaseRequest, deadline: Deadline) -> BoardLease:
        """Lease a board. Never guesses: without a serial the request must leave one type and one provider.

        Boards of the same type at the same provider are interchangeable, each is identified before it is written.

        Raises:
            NoBoardError: none matches, or the choice is not clear; lists the candidates.
            BoardBusyError: all that match are held until the deadline; names the holders.
            BenchError: the board cannot be brought up.
        """
        known = self.types
        for name in request.board_types:
            if name not in known:
                raise NoBoardError(
                    f"There is no board type {name!r}.",
                    why=did_you_mean(name, known),
                    todo="`harness boards --types` lists them.",
                )
        boards = self.boards()
        matching = [info for info in boards if request.matches(info)]
        if not matching:
            raise NoBoardError(
                f"No board of this bench is {_wanted(request)}.",
                why=f"It has: {_listed(boards)}.",
                todo=f"Name one of these, or register yours in {BENCH_FILE} (`harness bench init`).",
                context={"boards": [info.to_dict() for info in boards]},
            )
        if len({(info.provider, info.board_type) for info in matching}) > 1:
            raise NoBoardError(
                "Several boards would do, and a board is never guessed.",
                why=f"Candidates: {_listed(matching)}.",
                todo="Name a serial or a board type.",
                context={"boards": [info.to_dict() for info in matching]},
            )
        provider = next(item for item in self.providers if item.name == matching[0].provider)
        return provider.lease(request, deadline)


def _wanted(request: LeaseRequest) -> str:
    parts = [" or ".join(request.board_types)] if request.board_types else []
    if request.serial is not None:
        parts.append(f"serial {request.serial}")
    return ", ".join(parts) or "available"


def _listed(boards: tuple[BoardInfo, ...] | list[BoardInfo]) -> str:
    return ", ".join(f"{info.board_type} {info.serial} ({info.provider})" for info in boards) or "no boards"


def load_bench(path: Path | None = None, *, boards_path: Sequence[Path] = ()) -> Bench:
    """The bench of a file, of `bench.yaml` in the working directory, or the default one.

    Args:
        path: the file.
        boards_path: further directories with board types.

    Raises:
        BenchFileError: the file is missing, malformed, or contradicts itself or the board types.
    """
    if path is None and Path(BENCH_FILE).is_file():
        path = Path(BENCH_FILE).absolute()
    if path is None:
        return _bench(BenchFile(version=1), board_types(extra=boards_path), None)
    path = path.absolute()
    document = load(path, BenchFileError)
    if not isinstance(document.value, dict):
        raise BenchFileError(f"{path} is not a mapping.", todo="`harness bench init` writes one to start from.")
    try:
        file = BenchFile.model_validate(document.value)
    except ValidationError as fault:
        error = explain(fault, BenchFile, [document], BenchFileError, "The bench")
        error.todo = "Correct this line; `harness bench init` writes a file to start from."
        raise error from None
    types = board_types(extra=boards_path)
    _check(file, types, document)
    return _bench(file, types, path)


def _check(file: BenchFile, types: Mapping[str, BoardType], document: YamlDocument) -> None:
    _check_faults(file, types, document)
    seen: dict[int, int] = {}
    for index, entry in enumerate(file.boards):
        where = document.where(("boards", index))
        if entry.serial in seen:
            raise BenchFileError(
                f"{where}: serial {entry.serial} is registered twice.",
                why=f"Also at {document.where(('boards', seen[entry.serial]))}.",
                todo="One probe has one board; remove one entry.",
            )
        seen[entry.serial] = index
        if entry.board not in types:
            raise BenchFileError(
                f"{where}: there is no board type {entry.board!r}.",
                why=did_you_mean(entry.board, types),
                todo="`harness boards --types` lists them.",
            )
        for name in {entry.transport, *entry.ports} - set(TRANSPORTS):
            raise BenchFileError(
                f"{where}: there is no transport {name!r}.",
                why=did_you_mean(name, TRANSPORTS),
                todo=f"Transports: {', '.join(TRANSPORTS)}.",
            )
        if entry.probe == "virtual" and types[entry.board].source != "emulated":
            raise BenchFileError(
                f"{where}: {entry.board} has no emulator, so its probe cannot be virtual.",
                todo="Use `probe: jlink`, or an emulated board type.",
            )
        if entry.probe == "virtual" and (entry.library is not None or entry.ports or entry.hub or entry.power):
            raise BenchFileError(
                f"{where}: a virtual board brings its own library, ports and power monitor, and hangs on no hub.",
                todo="Remove `library`, `ports`, `power` and `hub`.",
            )


def _check_faults(file: BenchFile, types: Mapping[str, BoardType], document: YamlDocument) -> None:
    from harness.bench.virtual import Fault

    for index, item in enumerate(file.faults):
        where = document.where(("faults", index))
        if item.board is not None and (item.board not in types or types[item.board].source != "emulated"):
            raise BenchFileError(
                f"{where}: {item.board!r} is not an emulated board type.",
                why=did_you_mean(item.board, [name for name, board in types.items() if board.source == "emulated"]),
                todo="Faults are injected into emulated boards only.",
            )
        try:
            Fault.of(item.model_dump(exclude={"board"}))
        except UsageError as error:
            raise BenchFileError(
                f"{where}: {error.what}", why=error.why, todo="docs/virtual-faults.md lists them."
            ) from None


def _bench(file: BenchFile, types: Mapping[str, BoardType], path: Path | None) -> Bench:
    from harness.bench.virtual import Fault, RegisteredVirtualBoard, VirtualProvider

    root = path.parent if path is not None else Path()
    local = tuple(
        LocalBoard(
            entry.serial,
            entry.board,
            entry.transport,
            _library(root, entry.library),
            {name: port.place() for name, port in entry.ports.items()},
            entry.power.place() if entry.power is not None else None,
            entry.hub.place() if entry.hub is not None else None,
        )
        for entry in file.boards
        if entry.probe == "jlink"
    )
    faults: dict[str, list[Fault]] = {}
    for item in file.faults:
        faults.setdefault(item.board or "", []).append(Fault.of(item.model_dump(exclude={"board"})))
    registered = [
        RegisteredVirtualBoard(entry.serial, entry.board, entry.transport)
        for entry in file.boards
        if entry.probe == "virtual"
    ]
    emulated = any(board.source == "emulated" for board in types.values())
    providers: list[BoardProvider] = [LocalProvider(local, types)] if local else []
    if registered or (file.virtual == "on-demand" and emulated):
        on_demand = file.virtual == "on-demand"
        providers.append(VirtualProvider(types, registered, on_demand=on_demand, noise=file.noise, faults=faults))
    return Bench(tuple(providers), types, path, tuple(file.boards))


def _claims(entry: BenchEntry) -> Iterator[Claim]:
    board = f"{entry.board} {entry.serial}"
    yield Claim(board, "probe", usb_serial=str(entry.serial))
    if "serial" not in entry.ports:
        yield Claim(board, "serial", usb_serial=str(entry.serial))
    for name, port in entry.ports.items():
        yield Claim(board, name, port.path, port.usb_serial)
    if entry.power is not None:
        yield Claim(board, "power", entry.power.address, entry.power.address)
    if entry.hub is not None:
        yield Claim(board, "hub", location=entry.hub.location)


def _library(root: Path, text: str | None) -> Path | None:
    return None if text is None else Path(os.path.normpath(root / text))
