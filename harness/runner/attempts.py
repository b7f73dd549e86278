"""Trying again after a failure of the infrastructure, and keeping the evidence of what failed.

Only what the bench, the link or the wire did wrong is tried again, on a board brought back to a defined state first.
What the firmware does wrong is not, nor is anything that was measured: a verdict is never retried. A run that passes
after a failed attempt is flaky, which its bundle, pytest's summary and the JUnit report say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from harness.core.errors import CaptureError, EmulatorError, HarnessError, ProbeError, RestartedError, UsageError
from harness.core.strict_json import pretty

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease

RETRIES = 1
"""How often a run is tried again unless somebody says otherwise."""
MOST_RETRIES = 10
RETRYABLE: tuple[type[HarnessError], ...] = (ProbeError, CaptureError, EmulatorError, RestartedError)

T = TypeVar("T")


@dataclass(frozen=True)
class FailedAttempt:
    """One attempt at a run that failed: its number from 1, why, how long it took, every byte that came."""

    number: int
    error: HarnessError
    seconds: float
    raw: bytes

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as a bundle lists it."""
        return {
            "number": self.number,
            "code": self.error.code,
            "class": self.error.fault_class,
            "what": self.error.what,
            "why": self.error.why,
            "seconds": round(self.seconds, 3),
            "evidence": sorted(self.files()),
        }

    def files(self) -> dict[str, bytes]:
        """Its evidence, by path in a bundle."""
        folder = f"attempts/{self.number}"
        found = {f"{folder}/error.json": pretty(json.loads(json.dumps(self.error.to_dict(), default=str))).encode()}
        if self.raw:
            found[f"{folder}/raw_frames.bin"] = self.raw
        if log := str(self.error.context.get("log", "")):
            found[f"{folder}/target.log"] = log.encode("utf-8", "backslashreplace")
        return found


def evidence(attempts: Sequence[FailedAttempt]) -> dict[str, bytes]:
    """The evidence of failed attempts, by path in a bundle."""
    return {path: data for attempt in attempts for path, data in attempt.files().items()}


def checked_retries(retries: int) -> int:
    """A number of retries, as it is; `UsageError` when it is none."""
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= MOST_RETRIES:
        raise UsageError(f"retries={retries!r} is not a whole number from 0 to {MOST_RETRIES}.")
    return retries


class Attempts:
    """The attempts at one run on one board.

    Attributes:
        failed: those that were followed by another one.
        raw: every byte that came in the present one.
    """

    def __init__(self, held: BoardLease, retries: int, log: Callable[[str], None]) -> None:
        self.failed: list[FailedAttempt] = []
        self.raw = bytearray()
        self._held = held
        self._retries = retries
        self._log = log

    def run(self, once: Callable[[], T]) -> T:
        """What `once` gives, tried again after failures that may be retried.

        After any failure the board's state is unknown, so that it is recovered before it is used again.

        Raises:
            HarnessError: of the last attempt.
        """
        while True:
            start = time.monotonic()
            self.raw = bytearray()
            try:
                self._held.begin_run()
                return once()
            except HarnessError as error:
                self._held.doubt()
                if len(self.failed) >= self._retries or not isinstance(error, RETRYABLE):
                    raise
                number = len(self.failed) + 1
                self.failed.append(FailedAttempt(number, error, time.monotonic() - start, bytes(self.raw)))
                self._log(f"attempt {number} failed ({error.code}): {error.what} Trying again.")
