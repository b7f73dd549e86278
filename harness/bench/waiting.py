"""Taking the first free lock among several boards."""

from __future__ import annotations

import time
from collections.abc import Sequence

from harness.bench.locks import SerialLock, holder_text
from harness.bench.provider import BoardInfo, LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import BoardBusyError

POLL_SECONDS = 0.02


def lock_first_free(
    candidates: Sequence[BoardInfo], request: LeaseRequest, deadline: Deadline
) -> tuple[BoardInfo, SerialLock]:
    """Lock one of the candidates, preferring the first.

    Raises:
        BoardBusyError: all are held until the deadline; names the holders.
    """
    locks = [(info, SerialLock(info.serial)) for info in candidates]
    text = holder_text(request.holder)
    while True:
        for info, lock in locks:
            if lock.acquire(text):
                return info, lock
        if deadline.expired:
            held = "; ".join(f"{info.serial} by {lock.holder() or 'nobody any more'}" for info, lock in locks)
            raise BoardBusyError(
                f"No free board: {', '.join(sorted({info.board_type for info in candidates}))}.",
                why=f"Waited {deadline.seconds:g} s. Held: {held}.",
                todo="Wait for them, end them, or name another board.",
                context={"held": {str(info.serial): lock.holder() for info, lock in locks}},
            )
        time.sleep(POLL_SECONDS)
