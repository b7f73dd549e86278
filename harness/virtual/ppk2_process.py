"""Starts the virtual PPK2 of an emulated board and keeps it no longer than its owner lives."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.deadline import Deadline
from harness.core.errors import BenchError
from harness.core.proc import end_guarded, spawn_guarded


class VirtualPpk2:
    """A running virtual PPK2; `path` is its pty."""

    def __init__(self, path: str, process: subprocess.Popen[bytes]) -> None:
        self.path = path
        self._process = process

    @classmethod
    def start(
        cls,
        log: Path,
        deadline: Deadline,
        *,
        clock_hz: int,
        volts: float,
        idle_a: float,
        seed: int = 0,
        factors: Sequence[float] = (),
    ) -> VirtualPpk2:
        """Start one before a gate log, which need not exist yet.

        Raises:
            BenchError: it ended at once.
            DeadlineError: it did not say that it is ready.
        """
        process = spawn_guarded(
            [sys.executable, "-m", "harness.virtual.ppk2", "--log", str(log), "--clock-hz", str(clock_hz),
             "--volts", repr(volts), "--idle-a", repr(idle_a), "--seed", str(seed),
             "--factors", ",".join(map(repr, factors))],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], deadline.remaining())
            if not ready:
                raise deadline.error()
            words = process.stdout.readline().decode().split()
            if len(words) != 2 or words[0] != "ready":
                raise BenchError("The virtual PPK2 ended at once.", todo="`harness doctor` checks this host.")
            return cls(words[1], process)
        except BaseException:
            end_guarded(process)
            raise

    def stop(self) -> None:
        """End it. Idempotent."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            end_guarded(self._process)
