"""From a lease to a board that holds the image, identified and halted at reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.bench.provider import LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import WrongBoardError

if TYPE_CHECKING:
    from harness.bench.inventory import Bench
    from harness.bench.provider import BoardLease
    from harness.image.record import Build
    from harness.probe.jlink import JLinkProbe
    from harness.runner.deadlines import Deadlines

Log = Callable[[str], None]


def _silent(_text: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class FlashedBoard:
    """A leased board with an image in it, halted at reset, and the probe that put it there."""

    lease: BoardLease
    probe: JLinkProbe
    build: Build


def lease_board(bench: Bench, build: Build, *, serial: int | None, holder: str, deadlines: Deadlines) -> BoardLease:
    """Lease a board of the build's type.

    Raises:
        WrongBoardError: the serial belongs to a board of another type.
        BenchError: no such board, or it is busy for longer than the deadline.
    """
    request = LeaseRequest(board_types=(build.plan.board,), serial=serial, holder=holder)
    deadline = Deadline(deadlines["lease"], f"a {build.plan.board} board")
    lease = bench.lease(request, deadline)
    if lease.info.board_type != build.plan.board:
        lease.release()
        raise WrongBoardError(
            f"Board {lease.info.serial} is a {lease.info.board_type}; the image is for {build.plan.board}.",
            why="A lease must match the board type that the image names.",
            todo=f"Lease a {build.plan.board}, or build for {lease.info.board_type}.",
        )
    return lease


@contextmanager
def flashed_board(lease: BoardLease, build: Build, deadlines: Deadlines, log: Log = _silent) -> Iterator[FlashedBoard]:
    """Open the probe, check the board's identity, flash and verify, reset and halt.

    The board is left halted and the probe closed, whatever happens inside.

    Raises:
        WrongBoardError: the identity does not match; nothing was written.
        ProbeError: the probe failed.
    """
    where = f"{lease.info.board_type} {lease.info.serial}"
    deadline = Deadline(deadlines["flash"], "the image to be flashed", where)
    probe = lease.open_probe()
    try:
        log(f"probe {lease.info.serial} open")
        probe.connect(deadline)
        identity = probe.identify(lease.board_type)
        log(f"identity checked: {identity}")
        probe.flash(build.elf, lease.board_type, deadline)
        log("flashed and read back")
        probe.reset(halt=True)
        yield FlashedBoard(lease=lease, probe=probe, build=build)
    finally:
        probe.close(halt=True, deadline=Deadline(deadlines["release"], "the board to halt", where))
