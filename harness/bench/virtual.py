"""Emulated boards: started when leased, ended when released.

The only module that imports `harness.virtual`; from the lease on, an emulated board is a board behind a J-Link.

Serials. Each emulated board type has a block of 1000 serials of its own, derived from its name and therefore the same
on every host and for ever: 680 000 000 + 1000 * (CRC-32 of the name modulo 20 000). An on-demand lease takes the first
serial of the block that is free on this host, so a lone user always gets the block's first serial, and processes that
run at once (pytest-xdist, two users) each get a fresh emulator under a serial of their own. A bench.yaml may register a
virtual board under any serial; such a board is one board, and a second lease of it waits.

A board's emulator lives no longer than the process that leased it, and its serial is free again when both are gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.bench.locks import SerialLock, holder_text
from harness.bench.noise import NoiseSettings, NoiseSource, energy_factors
from harness.bench.provider import BoardInfo, BoardLease, LeaseRequest, MonitorPlace, Wires
from harness.bench.waiting import lock_first_free
from harness.board.descriptor import BoardType
from harness.core.deadline import Deadline
from harness.core.errors import BoardBusyError, HarnessError, NoBoardError
from harness.probe.base import Transport
from harness.probe.library import JLinkLibrary
from harness.probe.transports import PortPlace
from harness.virtual.checks import emulator_checks
from harness.virtual.command import EVENTS
from harness.virtual.faults import Fault
from harness.virtual.injection import Injection
from harness.virtual.launcher import LaunchOptions, VirtualBoard
from harness.virtual.native_build import jlink_library
from harness.virtual.ppk2_process import VirtualPpk2
from harness.virtual.registry import registered
from harness.virtual.usb import cdc_serial
from harness.virtual.wires import VirtualWires

__all__ = [
    "Fault",
    "RegisteredVirtualBoard",
    "VirtualHold",
    "VirtualProvider",
    "emulator_checks",
    "first_serial",
    "registered",
]

SERIAL_BASE = 680_000_000
BLOCK = 1000
BLOCKS = 20_000
NOISY_WINDOWS = 128
"""Windows after which the noise of a power monitor repeats."""


def first_serial(board_type: str) -> int:
    """The first serial of a type's block."""
    return SERIAL_BASE + BLOCK * (zlib.crc32(board_type.encode()) % BLOCKS) + 1


@dataclass(frozen=True)
class RegisteredVirtualBoard:
    """A virtual board that bench.yaml names."""

    serial: int
    board_type: str
    transport: str


class VirtualHold:
    """A leased emulated board."""

    def __init__(
        self,
        board: BoardType,
        serial: int,
        options: LaunchOptions,
        deadline: Deadline,
        injection: Injection,
        noise: NoiseSettings | None = None,
    ) -> None:
        self.library = JLinkLibrary(jlink_library(), isolated=True)
        self._type = board
        self._serial = serial
        self._options = options
        self._injection = injection
        self._noise = noise
        self.emulator = VirtualBoard.start(board, serial, deadline, options)
        self._monitor: VirtualPpk2 | None = None

    def why_lost(self) -> HarnessError | None:
        """Why the emulator ended, or None while it runs."""
        return self.emulator.failure()

    @property
    def spoils(self) -> bool:
        """Whether there are faults to strike."""
        return bool(self._injection.faults)

    def begin_run(self, deadline: Deadline) -> None:
        """Count a run, and see to the faults that are to strike in it."""
        injection = self._injection
        injection.next_run()
        if injection.plugin_options != self._options.plugin_options:
            self._options = replace(self._options, plugin_options=injection.plugin_options)
            self.recover(deadline)
        self.emulator.plan_faults(injection.entries)
        injection.grab(self.emulator.probe_lock)

    def inject(self, faults: Iterable[Any]) -> None:
        """Have the board fail on purpose, from its next run on."""
        self._injection = self._injection.with_more(faults)

    def wire(self, transport: Transport) -> Transport:
        """The transport as the present run's faults leave it."""
        return self._injection.wire(transport)

    @property
    def disk_room(self) -> int | None:
        """Bytes of a bundle that the disk is to take, None for as many as it can."""
        return self._injection.disk_room

    def recover(self, deadline: Deadline) -> None:
        """Start a new emulator under the same serial: a power cycle."""
        self._end_monitor()
        self.emulator.stop()
        self.emulator = VirtualBoard.start(self._type, self._serial, deadline, self._options)

    def port(self, transport: str) -> PortPlace | None:
        """The emulated UART that the transport uses: a pty, or the virtual USB device that carries it."""
        if transport == "cdc" and transport in self.emulator.ports:
            return PortPlace(usb_serial=cdc_serial(self._serial), bus=str(self.emulator.usb_tree))
        path = self.emulator.ports.get(transport)
        return PortPlace(path) if path is not None else None

    def power_monitor(self, deadline: Deadline) -> MonitorPlace | None:
        """A virtual PPK2 before this emulator, started when first asked for; None where nothing models energy."""
        emulator = self._type.emulator
        if emulator is None or emulator.supply is None or emulator.energy is None or not self._options.counters:
            return None
        supply = emulator.supply
        if self._monitor is None:
            self._monitor = VirtualPpk2.start(
                self.emulator.directory / EVENTS,
                deadline,
                clock_hz=self._type.clocks.rates_hz[self._type.clocks.default],
                volts=supply.volts,
                idle_a=supply.idle_a,
                seed=self._serial,
                factors=energy_factors(self._noise, NOISY_WINDOWS) if self._noise is not None else (),
            )
        return MonitorPlace("ppk2", self._monitor.path, supply.volts, 0, 0.0, f"by construction; {supply.basis}")

    def wires(self) -> Wires | None:
        """State line and go line; None without the counter plugin, which sees the state line."""
        emulator = self._type.emulator
        if emulator is None or not self._options.counters:
            return None
        directory = self.emulator.directory
        return VirtualWires(directory / EVENTS, directory / "qtest", emulator.pages.go)

    def _end_monitor(self) -> None:
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            monitor.stop()

    def end(self) -> None:
        """End the emulator and what stands before it."""
        try:
            self._injection.let_go()
            self._end_monitor()
        finally:
            self.emulator.stop()


class VirtualProvider:
    """Emulated boards of every emulated type on demand, and those a bench.yaml registers.

    Args:
        types: board types by name.
        registered: boards with a serial of their own.
        on_demand: whether emulated types without a registered board are started when asked for.
        options: how emulators are started.
        noise: noise on what the boards measure, for testing.
        faults: by board type, or by "" for all of them, what boards do wrong on purpose.
    """

    name = "virtual"

    def __init__(
        self,
        types: Mapping[str, BoardType],
        registered: Iterable[RegisteredVirtualBoard] = (),
        *,
        on_demand: bool = True,
        options: LaunchOptions | None = None,
        noise: NoiseSettings | None = None,
        faults: Mapping[str, Sequence[Fault]] | None = None,
    ) -> None:
        self._types = types
        self._registered = tuple(registered)
        self._on_demand = on_demand
        self._options = options or LaunchOptions()
        self._noise = noise
        planned = faults or {}
        self._injections = {name: Injection((*planned.get("", ()), *planned.get(name, ()))) for name in types}

    def boards(self) -> tuple[BoardInfo, ...]:
        """Registered boards, then one entry an emulated type that can be started on demand."""
        fixed = [self._info(board.serial, board.board_type, board.transport) for board in self._registered]
        taken = {board.serial for board in self._registered}
        if not self._on_demand:
            return tuple(fixed)
        return (
            *fixed,
            *(
                BoardInfo(serial, name, self.name, "free", None, "virtual", "rtt", on_demand=True)
                for name, board in self._types.items()
                if board.source == "emulated" and (serial := first_serial(name)) not in taken
            ),
        )

    def _info(self, serial: int, board_type: str, transport: str) -> BoardInfo:
        holder = SerialLock(serial).holder()
        return BoardInfo(serial, board_type, self.name, "busy" if holder else "free", holder, "virtual", transport)

    def lease(self, request: LeaseRequest, deadline: Deadline) -> BoardLease:
        """Start a board and lease it; see `BoardProvider.lease`. A registered board goes before an on-demand one."""
        matching = [info for info in self.boards() if request.matches(info)]
        if not matching:
            raise NoBoardError("No virtual board matches.", todo="`harness boards` lists the bench.")
        info, lock = self._lock(matching, request, deadline)
        try:
            board_type = self._types[info.board_type]
            known = tuple(sorted({board.jlink.device for board in self._types.values()}))
            options = replace(self._options, known_devices=known)
            injection = self._injections[info.board_type]
            hold = VirtualHold(board_type, info.serial, options, deadline, injection, self._noise)
            source = NoiseSource(self._noise) if self._noise is not None else None
            return BoardLease(info, board_type, hold, lock, source, hold)
        except BaseException:
            lock.release()
            raise

    def _lock(
        self, matching: list[BoardInfo], request: LeaseRequest, deadline: Deadline
    ) -> tuple[BoardInfo, SerialLock]:
        if request.serial is not None or not matching[-1].on_demand:
            return lock_first_free(matching, request, deadline)
        text = holder_text(request.holder)
        fixed = {board.serial for board in self._registered}
        for info in matching:
            for serial in range(info.serial, info.serial + (BLOCK - 1 if info.on_demand else 1)):
                lock = SerialLock(serial)
                if (serial == info.serial or serial not in fixed) and lock.acquire(text):
                    return replace(info, serial=serial), lock
        raise BoardBusyError(f"All {BLOCK - 1} serials of {matching[-1].board_type} are in use on this host.")
