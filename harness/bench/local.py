"""Boards on this host's own probes, as bench.yaml registers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.bench.locks import SerialLock
from harness.bench.provider import BoardInfo, BoardLease, LeaseRequest, MonitorPlace, Wires
from harness.bench.waiting import lock_first_free
from harness.board.descriptor import BoardType
from harness.core.deadline import Deadline
from harness.core.errors import DeadlineError, HarnessError, NoBoardError, ProbeError
from harness.probe.hub import HubPort, power_cycle
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary
from harness.probe.transports import PortPlace
from harness.probe.usb import UsbBus


@dataclass(frozen=True)
class LocalBoard:
    """One registered board. `library` is the J-Link library to load, None for SEGGER's where pylink finds it."""

    serial: int
    board_type: str
    transport: str
    library: Path | None = None
    ports: Mapping[str, PortPlace] = field(default_factory=dict)
    power: MonitorPlace | None = None
    hub: HubPort | None = None


class LocalHold:
    """A leased local board. Recovery is a reset through the probe; where that fails, its hub takes its power first."""

    def __init__(self, board: LocalBoard, board_type: BoardType, usb: UsbBus) -> None:
        self.library = JLinkLibrary(board.library)
        self._serial = board.serial
        self._power = board.power
        self._ports = board.ports
        self._hub = board.hub
        self._usb = usb
        self._type = board_type

    def why_lost(self) -> HarnessError | None:
        """Unknown: a probe on a cable does not say why it went."""
        return None

    def recover(self, deadline: Deadline) -> None:
        """Reset the board through its probe, which is power-cycled when it is stuck and bench.yaml names its hub.

        Raises:
            ProbeError, BoardBusyError: the probe does not answer, also after it was without power.
            HubError: the hub cannot switch the port.
            DeadlineError: the probe did not come back.
        """
        try:
            self._reset(deadline)
        except (ProbeError, DeadlineError):
            if self._hub is None:
                raise
            power_cycle(self._hub, self._usb, deadline)
            self._reset(deadline)

    def _reset(self, deadline: Deadline) -> None:
        with JLinkProbe(self._serial, self.library) as probe:
            jlink = self._type.jlink
            probe.connect(jlink.device, jlink.speed_khz, jlink.interface)
            probe.reset()
            probe.halt(deadline)

    def port(self, transport: str) -> PortPlace | None:
        """The port that bench.yaml names; the serial port is else the one that the board's own probe offers."""
        own = PortPlace(usb_serial=str(self._serial)) if transport == "serial" else None
        return self._ports.get(transport, own)

    def power_monitor(self, deadline: Deadline) -> MonitorPlace | None:
        """The monitor that bench.yaml names for this board."""
        return self._power

    def wires(self) -> Wires | None:
        """None: nothing on this host drives a go line."""
        return None

    def end(self) -> None:
        """Nothing to let go of."""


class LocalProvider:
    """Hands out registered boards, one owner a serial across processes and users.

    Args:
        boards: what bench.yaml registers.
        types: board types by name; those of `boards` are among them.
        usb: where hubs are found.
    """

    name = "local"

    def __init__(
        self, boards: tuple[LocalBoard, ...], types: Mapping[str, BoardType], usb: UsbBus | None = None
    ) -> None:
        self._usb = usb or UsbBus()
        self._boards = boards
        self._types = types

    def boards(self) -> tuple[BoardInfo, ...]:
        """The registered boards in the order of the file."""
        return tuple(self._info(board) for board in self._boards)

    def _info(self, board: LocalBoard) -> BoardInfo:
        holder = SerialLock(board.serial).holder()
        return BoardInfo(
            serial=board.serial,
            board_type=board.board_type,
            provider=self.name,
            state="busy" if holder else "free",
            holder=holder,
            probe="jlink",
            transport=board.transport,
        )

    def lease(self, request: LeaseRequest, deadline: Deadline) -> BoardLease:
        """Lease the first free board that matches; see `BoardProvider.lease`."""
        matching = [info for info in self.boards() if request.matches(info)]
        if not matching:
            raise NoBoardError("No local board matches.", todo="`harness boards` lists the bench.")
        info, lock = lock_first_free(matching, request, deadline)
        try:
            board_type = self._types[info.board_type]
            hold = LocalHold(
                next(board for board in self._boards if board.serial == info.serial), board_type, self._usb
            )
            return BoardLease(info, board_type, hold, lock)
        except BaseException:
            lock.release()
            raise
