"""From a lease to a board that holds the image, identified and halted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.bench.provider import LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import EvidenceError, WrongBoardError
from harness.core.hashing import sha256_file

if TYPE_CHECKING:
    from harness.bench.inventory import Bench
    from harness.bench.provider import BoardLease
    from harness.image.record import Build
    from harness.probe.jlink import JLinkProbe
    from harness.runner.deadlines import Deadlines

Log = Callable[[str], None]


def silent(_text: str) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class FlashedBoard:
    """A leased board with an image in it, halted, and the probe that put it there. The lease closes the probe."""

    lease: BoardLease
    probe: JLinkProbe
    build: Build
    flash_seconds: float

    @property
    def name(self) -> str:
        """Board type and serial, as errors name it."""
        return f"{self.lease.info.board_type} {self.lease.info.serial}"


def lease_board(bench: Bench, build: Build, *, serial: int | None, holder: str, deadlines: Deadlines) -> BoardLease:
    """Lease a board of the build's type.

    Raises:
        WrongBoardError: the serial belongs to a board of another type.
        BenchError: no such board, or it is busy for longer than the deadline.
    """
    wanted = build.plan.board
    if serial is not None:
        other = next((info for info in bench.boards() if info.serial == serial and info.board_type != wanted), None)
        if other is not None:
            raise WrongBoardError(
                f"Board {serial} is a {other.board_type}; the image is for {wanted}.",
                why="A board must be of the type that the image names.",
                todo=f"Name a {wanted}, or build for {other.board_type}.",
            )
    request = LeaseRequest(board_types=(wanted,), serial=serial, holder=holder)
    return bench.lease(request, Deadline(deadlines["lease"], f"a {wanted} board"))


def flash_board(lease: BoardLease, build: Build, deadlines: Deadlines, log: Log = silent) -> FlashedBoard:
    """Check the board's identity, flash, read back.

    Raises:
        EvidenceError: the image changed since the build was verified.
        WrongBoardError: the identity does not match; nothing was written.
        ProbeError: the probe failed.
        DeadlineError: flashing took longer than its deadline.
    """
    deadline = Deadline(deadlines["flash"], "the image to be flashed", f"{lease.info.board_type} {lease.info.serial}")
    start = time.monotonic()
    digest = sha256_file(build.elf)
    if digest != build.sha256:
        raise EvidenceError(
            f"{build.elf.name} is not the image that was verified.",
            why=f"Its sha256 is {digest}, {build.sha256} was recorded.",
            todo="Build the plan again.",
        )
    probe = lease.open_probe()
    size = probe.flash(build.elf, lease.board_type, deadline)
    log(f"{lease.info.board_type} {lease.info.serial}: identified, {size} bytes flashed and read back")
    return FlashedBoard(lease=lease, probe=probe, build=build, flash_seconds=time.monotonic() - start)
