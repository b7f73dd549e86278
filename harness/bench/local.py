"""Boards on this host's own probes, as bench.yaml registers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.bench.locks import SerialLock
from harness.bench.provider import BoardInfo, BoardLease, LeaseRequest, MonitorPlace
from harness.bench.waiting import lock_first_free
from harness.board.descriptor import BoardType
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError, NoBoardError
from harness.probe.jlink import JLinkProbe
from harness.probe.library import JLinkLibrary
from harness.probe.transports import PortPlace


@dataclass(frozen=True)
class LocalBoard:
    """One registered board. `library` is the J-Link library to load, None for SEGGER's where pylink finds it."""

    serial: int
    board_type: str
    transport: str
    library: Path | None = None
    ports: Mapping[str, PortPlace] = field(default_factory=dict)
    power: MonitorPlace | None = None


class LocalHold:
    """A leased local board. There is no power switch here, so recovery is a reset through the probe."""

    def __init__(self, board: LocalBoard, board_type: BoardType) -> None:
        self.library = JLinkLibrary(board.library)
        self._serial = board.serial
        self._power = board.power
        self._ports = board.ports
        self._type = board_type

    def why_lost(self) -> HarnessError | None:
        """Unknown: a probe on a cable does not say why it went."""
        return None

    def recover(self, deadline: Deadline) -> None:
        """Reset the board through its probe; `ProbeError` when it does not answer."""
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

    def end(self) -> None:
        """Nothing to let go of."""


class LocalProvider:
    """Hands out registered boards, one owner a serial across processes and users.

    Args:
        boards: what bench.yaml registers.
        types: board types by name; those of `boards` are among them.
    """

    name = "local"

    def __init__(self, boards: tuple[LocalBoard, ...], types: Mapping[str, BoardType]) -> None:
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
            hold = LocalHold(next(board for board in self._boards if board.serial == info.serial), board_type)
            return BoardLease(info, board_type, hold, lock)
        except BaseException:
            lock.release()
            raise
