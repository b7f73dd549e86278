"""Every wait has an end, and its error says what was awaited."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from harness.core.errors import DeadlineError


@dataclass(frozen=True)
class Deadline:
    """A point in time after which a wait has failed.

    Args:
        seconds: how long the wait may last.
        awaiting: what is awaited, as in "the firmware's hello".
        where: on which board or file.
    """

    seconds: float
    awaiting: str
    where: str = ""
    start: float = field(default_factory=time.monotonic)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.start + self.seconds - time.monotonic())

    def elapsed(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self.start

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.remaining() == 0.0

    def check(self, last_heard: str = "") -> None:
        """Raise `DeadlineError` when the time is over."""
        if self.expired:
            raise self.error(last_heard)

    def error(self, last_heard: str = "") -> DeadlineError:
        """The error of this wait having ended in vain."""
        where = f" on {self.where}" if self.where else ""
        return DeadlineError(
            f"Waited {self.seconds:g} s for {self.awaiting}{where}; it did not come.",
            why=f"Last heard: {last_heard}" if last_heard else "Nothing was heard.",
            todo="Look at the target log; if the work is just slow, raise the deadline of this phase.",
            context={"awaiting": self.awaiting, "where": self.where, "seconds": self.seconds, "last_heard": last_heard},
        )
