"""Virtual PPK2s as processes, fed by a log that a test writes."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.core.deadline import Deadline
from harness.core.proc import end_guarded, spawn_guarded
from harness.power.monitor import MonitorSettings
from harness.power.ppk2 import Ppk2, Ppk2Driver
from tests.power.support import CLOCK_HZ, IDLE_A, VOLTS, Truth

SETTINGS = MonitorSettings(volts=VOLTS, source="emulated", accuracy={"relative": 0.0, "basis": "by construction"})


@dataclass(frozen=True)
class Virtual:
    """A running virtual PPK2: its pty, its log and its process."""

    path: str
    log: Path
    process: subprocess.Popen[bytes]

    def add(self, truth: Truth) -> None:
        """What the plugin does when a window ends."""
        with self.log.open("ab") as file:
            file.write(truth.records.tobytes())

    def open(self, settings: MonitorSettings = SETTINGS) -> Ppk2:
        return Ppk2Driver().open(self.path, settings, Deadline(10, "the virtual PPK2's metadata"))


@contextmanager
def virtual_ppk2(folder: Path, *more: str) -> Iterator[Virtual]:
    log = folder / "events.bin"
    process = spawn_guarded(
        [sys.executable, "-m", "harness.virtual.ppk2", "--log", str(log), "--clock-hz", str(CLOCK_HZ),
         "--volts", str(VOLTS), "--idle-a", str(IDLE_A), "--seed", "5", *more]
    )  # fmt: skip
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 20)
        assert ready, "the virtual PPK2 did not start"
        word, path = process.stdout.readline().decode().split()
        assert word == "ready"
        yield Virtual(path, log, process)
    finally:
        end_guarded(process)
