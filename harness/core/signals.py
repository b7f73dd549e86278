"""What a termination request does to a process that holds a board."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 128 + signal.SIGTERM
"""Exit status of a process that ended because of SIGTERM."""


@contextmanager
def unwound_by_sigterm(ending: Callable[[], BaseException]) -> Iterator[None]:
    """Inside, SIGTERM raises `ending()` instead of ending the process on the spot, so that boards are halted and freed.

    CI systems cancel a job with SIGTERM. Further ones are ignored while the first unwinds, which deadlines bound.
    Nothing changes outside the main thread, or when somebody else handles the signal.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def raise_ending(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise ending()

    signal.signal(signal.SIGTERM, raise_ending)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
