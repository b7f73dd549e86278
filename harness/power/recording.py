"""A recording: a thread that moves samples from a monitor into a waveform file while the rest of a run goes on."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from harness.core.deadline import Deadline
from harness.core.errors import HarnessError, HostError
from harness.power.errors import PowerCaptureError
from harness.power.monitor import Ending, Monitor, prepared_path
from harness.power.waveform import Waveform, WaveformWriter

PUMP_S = 0.02
LATENESS_S = 0.1
PROMPT_S = 0.004
EARLY = 10
"""Values at the start that tell how promptly samples come."""


@dataclass
class Lateness:
    """By how much samples come later than a clock of the nominal rate says; the earliest one of every `LATENESS_S`.

    A host that is late, or a queue on the way, delays single arrivals; only samples that never come, or a clock that is
    off, move the earliest ones.
    """

    rate_hz: float
    start: float | None = None
    values: list[tuple[float, float]] = field(default_factory=list)
    _until: float = 0.0

    def add(self, now: float, samples: int) -> None:
        """Note that so many samples have come in all by this host time."""
        if self.start is None:
            self.start = now - samples / self.rate_hz
        at = now - self.start
        late = at - samples / self.rate_hz
        if at >= self._until or not self.values:
            self._until = at + LATENESS_S
            self.values.append((round(at, 6), round(late, 6)))
        elif late < self.values[-1][1]:
            self.values[-1] = (self.values[-1][0], round(late, 6))

    def behind(self) -> float:
        """Seconds by which the newest samples are later than the earliest were."""
        return self.values[-1][1] - min(late for _, late in self.values[:EARLY]) if self.values else 0.0


class Recording:
    """Records from entering the context to `finish`. Left without `finish` (an error), the file is removed.

    Args:
        monitor: open; stays open.
        path: of the waveform to write; must not exist.
    """

    def __init__(self, monitor: Monitor, path: Path) -> None:
        self._monitor = monitor
        self._path = prepared_path(path)
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._rises = 0
        self._falls = 0
        self._samples = 0
        self._gone = ""
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._finished = False

    def __enter__(self) -> Recording:
        self._writer = WaveformWriter(self._path, self._monitor.header())
        try:
            self._monitor.start()
        except BaseException:
            self._writer.abandon()
            raise
        self._lateness = Lateness(self._writer.header.rate_hz)
        self._thread = threading.Thread(target=self._run, name="power recording", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._finished:
            self._end_thread()
            self._writer.abandon()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                count = self._monitor.pump(self._writer, PUMP_S)
                if count:
                    self._lateness.add(time.monotonic(), self._writer.samples)
                self._tell()
        except HarnessError as error:
            self._gone = f"{error.what} {error.why}".strip()
            self._tell()
        except BaseException as error:
            self._error = error
            self._tell()

    def _tell(self) -> None:
        rises = sum(level for _, level in self._writer.edges)
        with self._changed:
            self._rises, self._falls = rises, len(self._writer.edges) - rises
            self._samples = self._writer.samples
            self._changed.notify_all()

    @property
    def samples(self) -> int:
        """Samples written so far."""
        return self._samples

    @property
    def gone(self) -> str:
        """Why the monitor ended early; empty while it has not."""
        return self._gone

    def wait_samples(self, count: int, deadline: Deadline) -> None:
        """Wait until so many samples are there: for a look at the idle level before a window, say.

        Raises:
            DeadlineError: they did not come.
            PowerCaptureError: the monitor ended.
        """
        self._wait(lambda: self._samples >= count, deadline)

    def wait_rises(self, count: int, deadline: Deadline) -> None:
        """Wait until the gate rose so many times; errors as `wait_samples`."""
        self._wait(lambda: self._rises >= count, deadline)

    def wait_windows(self, count: int, deadline: Deadline) -> None:
        """Wait until the gate fell so many times; errors as `wait_samples`."""
        self._wait(lambda: self._falls >= count, deadline)

    def catch_up(self, seconds: float = 2.0) -> None:
        """Record on until samples come as promptly as at the start, at most so long.

        A busy host delays samples and loses none; what is still late after this while does not come at all.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while self._lateness.behind() > PROMPT_S and not self._gone and time.monotonic() < end:
                self._changed.wait(PUMP_S)

    def _wait(self, reached: object, deadline: Deadline) -> None:
        assert callable(reached)
        with self._changed:
            while not reached():
                if isinstance(self._error, OSError):
                    raise HostError.of(self._error)
                if self._error is not None or self._gone:
                    raise PowerCaptureError(
                        f"The power monitor ended while {deadline.awaiting} was awaited.",
                        why=self._gone or str(self._error),
                        todo="Check cable and hub, then measure again.",
                    )
                if deadline.expired:
                    raise deadline.error(f"{self._samples} samples, {self._falls} ends of windows")
                self._changed.wait(min(deadline.remaining(), 0.2))

    def _end_thread(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def finish(self) -> Waveform:
        """End the recording; the stored waveform, complete even when the monitor is gone."""
        self._end_thread()
        if self._error is not None:
            raise self._error
        ending: Ending = self._monitor.stop(self._writer)
        self._writer.close(
            gaps=ending.gaps,
            lateness=self._lateness.values,
            gone=self._gone or ending.gone,
            notes=ending.notes,
        )
        self._finished = True
        return Waveform(self._path)
