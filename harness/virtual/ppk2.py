"""A virtual Nordic PPK2: a process that speaks the device's byte protocol on a pty.

    python -m harness.virtual.ppk2 --log events.bin --clock-hz 25000000 --volts 3.3 --idle-a 0.0015

Prints `ready <pty>` when it can be opened. It sends 100,000 samples a wall second while measuring. A reader that is
late loses nothing: what the pty does not take waits here. Windows that ended before a measurement began are forgotten
(`--earlier`: played), and a stop forgets those that are left. It runs until it is killed; its owner starts
it guarded.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import select
import sys
import termios
import time
import tty
from collections import deque
from pathlib import Path
from typing import NoReturn

import numpy as np

from harness.virtual.ppk2_signal import RATE_HZ, Encoder, LogReader, Playback, Records, SignalOptions, play

TICK_S = 0.005
PAUSE_S = (0.001, 0.1)
"""Shortest and longest idle between two windows: a pause may be long, and nothing happens in it."""
LOOK_S = 0.05
"""Seconds between looks for new windows in the log."""
BACKLOG_BYTES = 64 << 20
"""What a reader may be late; beyond, the device loses samples as the real one does."""

ARGUMENTS = {0x0C: 1, 0x0D: 2, 0x11: 1, 0x25: 5, 0x12: 1}
START, STOP, POWER, METADATA, RESET = 0x06, 0x07, 0x0C, 0x19, 0x20


class Device:
    """State of the device: what it was told and what it has yet to send. Knows nothing of ptys and clocks."""

    def __init__(
        self, log: Path, options: SignalOptions, power_file: Path | None = None, earlier: bool = False
    ) -> None:
        self.options = options
        self.log = LogReader(log, options)
        self.encoder = Encoder(options)
        self.measuring = False
        self.supply = True
        self.power_file = power_file
        self.earlier = earlier
        self._commands = bytearray()
        self._playing: deque[Playback] = deque()
        self._played = 0
        self._fell: int | None = None
        self._windows = 0

    def receive(self, data: bytes) -> bytes:
        """Obey commands; returns the immediate answer."""
        self._commands += data
        answer = b""
        while self._commands:
            opcode = self._commands[0]
            size = 1 + ARGUMENTS.get(opcode, 0)
            if len(self._commands) < size:
                break
            arguments = bytes(self._commands[1:size])
            del self._commands[:size]
            answer += self._obey(opcode, arguments)
        return answer

    def _obey(self, opcode: int, arguments: bytes) -> bytes:
        if opcode == START:
            if not self.measuring and not self.earlier:
                self._forget()
            self.measuring = True
        elif opcode in (STOP, RESET):
            if self.measuring:
                self._forget()
            self.measuring = False
        elif opcode == POWER:
            self.supply = arguments[0] == 1
            if self.power_file is not None:
                with contextlib.suppress(OSError):
                    self.power_file.write_text("1" if self.supply else "0")
        elif opcode == METADATA:
            return self.options.terms.metadata().encode()
        return b""

    def _forget(self) -> None:
        self.look()
        self._playing.clear()
        self._played = 0

    def look(self) -> None:
        """Queue windows that have become complete in the log."""
        for records in self.log.windows():
            idle = self._pause(records)
            factors = self.options.factors
            factor = factors[self._windows % len(factors)] if factors else 1.0
            self._windows += 1
            window = play(records, self.options, self.encoder.phase(), factor)
            self._playing.append(window.after(idle, self.options.idle_a))

    def _pause(self, records: Records) -> int:
        """Samples of idle before a window: what the log says lay between it and the one before, within bounds."""
        rise, fall = int(records["cycles"][0]), self._fell
        self._fell = int(records["cycles"][-1])
        seconds = (rise - fall) / self.options.clock_hz if fall is not None and rise > fall else 0.0
        return int(min(max(seconds, PAUSE_S[0]), PAUSE_S[1]) * RATE_HZ)

    def samples(self, count: int) -> bytes:
        """The next samples, as bytes."""
        amperes = np.full(count, self.options.idle_a if self.supply else 0.0)
        gate = np.zeros(count, np.uint8)
        filled = 0
        while self._playing and filled < count:
            window = self._playing[0]
            part = slice(self._played, self._played + count - filled)
            taken = len(window.amperes[part])
            amperes[filled : filled + taken] = window.amperes[part] if self.supply else 0.0
            gate[filled : filled + taken] = window.gate[part]
            filled += taken
            self._played += taken
            if self._played == len(window.amperes):
                self._playing.popleft()
                self._played = 0
        return self.encoder.encode(amperes, gate).tobytes()


def serve(device: Device, master: int) -> NoReturn:
    """Run the device on a pty's master side."""
    os.set_blocking(master, False)
    pending = bytearray()
    began: float | None = None
    sent = 0
    looked = 0.0
    while True:
        readable, _, _ = select.select([master], [master] if pending else [], [], TICK_S)
        if master in readable:
            was = device.measuring
            answer = device.receive(_read(master))
            if was and not device.measuring:
                pending.clear()
            pending += answer
            if device.measuring and not was:
                began, sent = time.monotonic(), 0
                looked = began
        now = time.monotonic()
        if not device.measuring:
            began = None
        elif began is not None:
            if now - looked >= LOOK_S:
                device.look()
                looked = now
            due = min(int((now - began) * RATE_HZ) - sent, RATE_HZ)
            if due > 0 and len(pending) < BACKLOG_BYTES:
                pending += device.samples(due)
                sent += due
        if pending:
            del pending[: _write(master, pending)]


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b""
    except OSError as error:
        if error.errno == errno.EIO:
            # Nobody has the other side open.
            time.sleep(TICK_S)
            return b""
        raise


def _write(fd: int, data: bytearray) -> int:
    try:
        return os.write(fd, data[: 1 << 16])
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno == errno.EIO:
            return len(data)
        raise


def open_pty() -> tuple[int, int, str]:
    """A raw pty: (master, slave kept open so that readers may come and go, path)."""
    master, slave = os.openpty()
    tty.setraw(slave, termios.TCSANOW)
    return master, slave, os.ttyname(slave)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Entry point of the process."""
    parser = argparse.ArgumentParser(prog="harness.virtual.ppk2")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--clock-hz", type=int, required=True)
    parser.add_argument("--volts", type=float, required=True)
    parser.add_argument("--idle-a", type=float, required=True)
    parser.add_argument("--noise-lsb", type=float, default=0.7)
    parser.add_argument("--gate-line", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--factors", default="", help="on the energy of each window in turn, separated by commas")
    parser.add_argument("--power-file", type=Path)
    parser.add_argument("--earlier", action="store_true")
    given = parser.parse_args(arguments)
    try:
        options = SignalOptions(
            clock_hz=given.clock_hz,
            volts=given.volts,
            idle_a=given.idle_a,
            gate_line=given.gate_line,
            noise_lsb=given.noise_lsb,
            seed=given.seed,
            factors=tuple(float(text) for text in given.factors.split(",") if text),
        )
    except ValueError as error:
        parser.error(str(error))
    master, slave, path = open_pty()
    sys.stdout.write(f"ready {path}\n")
    sys.stdout.flush()
    try:
        serve(Device(given.log, options, given.power_file, given.earlier), master)
    finally:
        os.close(master)
        os.close(slave)


if __name__ == "__main__":
    main()
