"""What hands out boards, and what a borrower holds.

A provider lists boards without opening them and leases one at a time. A lease is a context manager: leaving it, by
whatever way, leaves the board halted, the probe closed and the lock free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from harness.bench.locks import SerialLock
from harness.bench.noise import NoiseSource
from harness.board.descriptor import BoardType
from harness.core.deadline import Deadline
from harness.core.errors import BenchError, HarnessError, WrongBoardError
from harness.probe.base import Transport
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary
from harness.probe.transports import PortPlace

RELEASE_SECONDS = 2.0
RECOVER_SECONDS = 30.0

State = Literal["free", "busy", "unknown"]


@dataclass(frozen=True)
class BoardInfo:
    """A board the bench can reach, as a listing shows it.

    `on_demand` boards exist only while leased; their serial is the one a lone user will get.
    """

    serial: int
    board_type: str
    provider: str
    state: State
    holder: str | None
    probe: str
    transport: str
    on_demand: bool = False

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        return {
            "serial": self.serial,
            "board_type": self.board_type,
            "provider": self.provider,
            "state": self.state,
            "holder": self.holder,
            "probe": self.probe,
            "transport": self.transport,
            "on_demand": self.on_demand,
        }


@dataclass(frozen=True)
class LeaseRequest:
    """Which board is wanted.

    Attributes:
        board_types: acceptable types; empty means any, which is an error when the bench has several.
        serial: this very board, or None.
        holder: what others are told while the board is held, as in "pytest test_latency".
    """

    board_types: tuple[str, ...] = ()
    serial: int | None = None
    holder: str = ""

    def matches(self, info: BoardInfo) -> bool:
        """Whether a board is one of those wanted."""
        return (self.serial is None or info.serial == self.serial) and (
            not self.board_types or info.board_type in self.board_types
        )


class BoardProvider(Protocol):
    """A source of boards."""

    name: str

    def boards(self) -> tuple[BoardInfo, ...]:
        """The boards there are, in a stable order. Opens nothing."""
        ...

    def lease(self, request: LeaseRequest, deadline: Deadline) -> BoardLease:
        """Lease one board.

        Raises:
            NoBoardError: no board matches.
            BoardBusyError: all that match are held until the deadline; names the holders.
            BenchError: the board cannot be brought up.
        """
        ...


@dataclass(frozen=True)
class MonitorPlace:
    """The power monitor that is wired to a board: driver and address as `harness.power` takes them, supply in volts.

    `relative_error` is the half-width of its error at 95 %, None when nobody calibrated it; `basis` says what it
    rests on. `mode` source: the monitor feeds the board; ampere: it only measures. With `keep_supply` the board
    stays fed between tests.
    """

    driver: str
    address: str
    volts: float | None
    gate_line: int = 0
    relative_error: float | None = None
    basis: str = ""
    mode: Literal["source", "ampere"] = "source"
    keep_supply: bool = False


class Wires(Protocol):
    """Two wires to a board under a power monitor: its state line is read, its go line is driven."""

    def ready(self) -> bool:
        """Whether the state line is high: the firmware waits for go, or is done."""
        ...

    def go(self, high: bool, deadline: Deadline) -> None:
        """Drive the go line; `BenchError` when that fails."""
        ...


class BoardHold(Protocol):
    """What a provider keeps for a board while it is leased."""

    library: JLinkLibrary

    def why_lost(self) -> HarnessError | None:
        """Why the link to the board was lost, when that is known."""
        ...

    def recover(self, deadline: Deadline) -> None:
        """Bring the board back to a defined state: restart its emulator, cycle its power."""
        ...

    def port(self, transport: str) -> PortPlace | None:
        """The board's serial port for a transport; None when there is none, or the transport needs none."""
        ...

    def power_monitor(self, deadline: Deadline) -> MonitorPlace | None:
        """The power monitor wired to the board, None when there is none."""
        ...

    def wires(self) -> Wires | None:
        """The board's state and go lines; None where they are not wired."""
        ...

    def end(self) -> None:
        """Let go of the board. May be called more than once."""
        ...


class FaultInjection(Protocol):
    """Makes an emulated board fail on purpose, for tests of the harness and of suites; see docs/virtual-faults.md."""

    @property
    def spoils(self) -> bool:
        """Whether there are faults to strike."""
        ...

    def begin_run(self, deadline: Deadline) -> None:
        """A run begins: what is to strike in it is made ready. The probe is closed."""
        ...

    def inject(self, faults: Iterable[Any]) -> None:
        """Add faults, from the next run on."""
        ...

    def wire(self, transport: Transport) -> Transport:
        """The transport of a boot, as faults leave it."""
        ...

    @property
    def disk_room(self) -> int | None:
        """Bytes of a bundle that the disk is to take; None for as many as it can."""
        ...


@dataclass
class BoardLease:
    """A board held by this process.

    Only virtual benches have the rest: `noise` is added to each boot's figures, `faults` strike on purpose.
    """

    info: BoardInfo
    board_type: BoardType
    _hold: BoardHold
    _lock: SerialLock
    noise: NoiseSource | None = None
    faults: FaultInjection | None = None
    _probe: JLinkProbe | None = field(default=None, init=False)
    _released: bool = field(default=False, init=False)
    _doubtful: bool = field(default=False, init=False)
    _power_cycle: Callable[[], None] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.release()

    @property
    def serial(self) -> int:
        """Serial number of the board's probe."""
        return self.info.serial

    def open_probe(self) -> JLinkProbe:
        """The probe, open, connected, and the board identified; its core is halted. The same one until it is closed.

        Raises:
            WrongBoardError: the board is not of the type it is registered as; nothing was written.
            ProbeError, BoardBusyError, TargetError: the probe or the core does not answer.
        """
        self._check()
        if self._probe is not None and self._probe.is_open:
            return self._probe
        probe = JLinkProbe(self.serial, self._hold.library, why_lost=self._hold.why_lost)
        probe.open()
        try:
            jlink = self.board_type.jlink
            self._check_source(probe)
            probe.connect(jlink.device, jlink.speed_khz, jlink.interface)
            probe.identify(self.board_type)
        except BaseException:
            probe.close()
            raise
        self._probe = probe
        return probe

    def _check_source(self, probe: JLinkProbe) -> None:
        """Every number is labelled with the source that the board type states, so the probe must agree with it."""
        product = probe.describe()
        found = "emulated" if product.support == "emulated" else "silicon"
        if found != self.board_type.source:
            raise WrongBoardError(
                f"Board {self.serial} is {found}; its type {self.board_type.name} is {self.board_type.source}.",
                why=f"The probe says it is a {product.product}.",
                todo="Register it under a type of that source; docs/first-board.md says how to write one.",
                context={"serial": self.serial, "product": product.product},
            )

    def why_lost(self) -> HarnessError | None:
        """Why the board is gone, such as a core that locked up; None when it is there or the reason is unknown."""
        return self._hold.why_lost()

    def port(self, transport: str) -> PortPlace | None:
        """The board's serial port for a transport; None when there is none, or the transport needs none."""
        self._check()
        return self._hold.port(transport)

    def power_monitor(self, deadline: Deadline) -> MonitorPlace | None:
        """The power monitor wired to the board; None when there is none. It is gone when the board is recovered.

        Raises:
            BenchError: it cannot be started.
        """
        self._check()
        return self._hold.power_monitor(deadline)

    def doubt(self) -> None:
        """A run failed: the board may be in any state, so it is recovered before its next run."""
        self._doubtful = True

    def begin_run(self) -> None:
        """A run begins: a board in an unknown state is recovered first.

        A board that is to fail on purpose has its probe opened anew, since the link may be spoiled.

        Raises:
            BenchError: the board cannot be recovered.
        """
        self._check()
        if self._doubtful:
            self.recover()
        if self.faults is not None and self.faults.spoils:
            self._close_probe()
            self.faults.begin_run(Deadline(RECOVER_SECONDS, "the board to start", f"board {self.serial}"))

    def inject(self, *faults: object) -> None:
        """Have an emulated board fail on purpose from its next run on.

        Raises:
            BenchError: the board is no emulated one.
            UsageError: no such fault, or impossible parameters.
        """
        self._check()
        if not faults:
            return
        if self.faults is None:
            raise BenchError(
                f"Board {self.serial} cannot be made to fail on purpose.",
                why="Faults are injected into emulated boards only.",
                todo="Run this on an emulated board.",
            )
        self.faults.inject(faults)

    def wire(self, transport: Transport) -> Transport:
        """The transport of a boot, as faults on purpose leave it; without any, as it is."""
        spoilt = self.faults is not None and self.faults.spoils
        return self.faults.wire(transport) if self.faults is not None and spoilt else transport

    @property
    def disk_room(self) -> int | None:
        """Bytes of a bundle that the disk is to take; None, as everywhere but in tests, for as many as it can."""
        return self.faults.disk_room if self.faults is not None else None

    def wires(self) -> Wires | None:
        """State and go lines for the lock-step of a power run; None where they are not wired."""
        self._check()
        return self._hold.wires()

    def recover(self, deadline: Deadline | None = None) -> None:
        """Bring the board back to a defined state; an open probe is closed first.

        When the provider's own way fails and a monitor feeds the board, its power is cycled and that way tried again.

        Raises:
            BenchError: that did not succeed.
        """
        self._check()
        self._close_probe()
        limit = deadline or Deadline(RECOVER_SECONDS, "the board to recover", f"board {self.serial}")
        try:
            self._hold.recover(limit)
        except HarnessError:
            if self._power_cycle is None:
                raise
            self._power_cycle()
            self._hold.recover(limit)
        self._doubtful = False

    def attach_power_cycle(self, cycle: Callable[[], None] | None) -> None:
        """Remember what takes the board's supply away and gives it back; None forgets it.

        `recover` uses it when nothing gentler helps.
        """
        self._power_cycle = cycle

    def detach_probe(self) -> None:
        """Close the probe and leave the core running, so that no debugger draws current or halts anything."""
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.close()

    def release(self) -> None:
        """Halt the board, close the probe, free the lock. May be called more than once, never raises `HarnessError`."""
        if self._released:
            return
        self._released = True
        steps: tuple[Callable[[], None], ...] = (self._close_probe, self._hold.end, self._lock.release)
        _run_all(steps)

    def _close_probe(self) -> None:
        probe, self._probe = self._probe, None
        if probe is None:
            return
        try:
            with suppress(HarnessError):
                probe.halt(Deadline(RELEASE_SECONDS, "the core to halt", f"board {self.serial}"))
        finally:
            probe.close()

    def _check(self) -> None:
        if self._released:
            raise BenchError(
                f"The lease of board {self.serial} has ended.", todo="Lease the board again; a lease cannot be revived."
            )


def _run_all(steps: tuple[Callable[[], None], ...]) -> None:
    """Run every step, also after one was interrupted; the first interruption goes on afterwards."""
    if not steps:
        return
    try:
        with suppress(HarnessError):
            steps[0]()
    finally:
        _run_all(steps[1:])
