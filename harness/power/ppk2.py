"""Nordic Power Profiler Kit II over its serial port."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import termios
import time
import tty
from contextlib import suppress
from pathlib import Path

from harness.core.deadline import Deadline
from harness.power.errors import MonitorError, MonitorGoneError
from harness.power.monitor import Capabilities, Ending, MonitorInfo, MonitorSettings, no_source_mode
from harness.power.ppk2_stream import Ppk2Stream
from harness.power.ppk2_wire import (
    END,
    SAMPLE_RATE_HZ,
    VDD_HIGH_MV,
    VDD_LOW_MV,
    Calibration,
    Command,
    parse_metadata,
    regulator_command,
)
from harness.power.waveform import Accuracy, Header, WaveformWriter

CAPABILITIES = Capabilities(
    rate_hz=float(SAMPLE_RATE_HZ),
    ranges=(50e-6, 500e-6, 5e-3, 60e-3, 1.0),
    logic_inputs=8,
    source_mode=True,
    volts=(VDD_LOW_MV / 1000, VDD_HIGH_MV / 1000),
    qualification="unverified",
)
SILENCE_S = 0.5
"""A device that measures and sends nothing for so long is gone."""
QUIET_S = 0.05
READ_BYTES = 1 << 18


class Ppk2Driver:
    """Finds PPK2s by USB product string and opens them by path."""

    name = "ppk2"
    title = "Nordic Power Profiler Kit II"
    capabilities = CAPABILITIES

    def find(self) -> tuple[MonitorInfo, ...]:
        """PPK2s on USB; a device shows up with two ports, the lower one measures."""
        from serial.tools.list_ports import comports  # type: ignore[attr-defined]

        found: dict[str, MonitorInfo] = {}
        ports = comports()  # type: ignore[no-untyped-call]
        for port in sorted(ports, key=lambda p: str(p.device)):
            if "PPK2" in (port.product or ""):
                serial = port.serial_number or port.device
                found.setdefault(serial, MonitorInfo(self.name, port.device, serial, port.product))
        return tuple(found.values())

    def open(self, address: str, settings: MonitorSettings, deadline: Deadline) -> Ppk2:
        """Open the device at a serial port's path or at a USB serial number."""
        serial = ""
        for info in self.find() if not address.startswith("/") else ():
            if info.serial == address:
                address, serial = info.address, info.serial
        if not address.startswith("/"):
            raise MonitorError(
                f"There is no PPK2 with serial {address!r}.",
                why=f"Found: {', '.join(i.serial for i in self.find()) or 'none'}.",
                todo="Check the cable, or give the path of its serial port.",
            )
        return Ppk2(Port(Path(address)), settings, deadline, serial or address)


class Port:
    """A serial port in raw mode, held exclusively, never blocking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise MonitorError(
                f"{path} cannot be opened.",
                why=error.strerror or str(error),
                todo="Check the cable, and that your user may open serial ports (group dialout).",
            ) from None
        try:
            # Both locks: flock binds those who ask for it, TIOCEXCL everybody else but root.
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.ioctl(self._fd, termios.TIOCEXCL)
            tty.setraw(self._fd, termios.TCSANOW)
        except BlockingIOError:
            os.close(self._fd)
            raise MonitorError(
                f"{path} is in use.", why="Another process measures with it.", todo="Wait for it or end it."
            ) from None
        except (OSError, termios.error) as error:
            os.close(self._fd)
            raise MonitorError(f"{path} is not a serial port.", why=str(error), todo="Check the path.") from None

    def read(self, seconds: float) -> bytes:
        """What comes within so long; empty when nothing does. `MonitorGoneError` when the device is unplugged."""
        try:
            ready, _, _ = select.select([self._fd], [], [], seconds)
            if not ready:
                return b""
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error) from None
        if not data:
            raise self._gone(OSError(errno.EIO, "end of file"))
        return data

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Write a command whole."""
        while data:
            try:
                _, ready, _ = select.select([], [self._fd], [], deadline.remaining())
                if not ready:
                    raise deadline.error()
                data = data[os.write(self._fd, data) :]
            except OSError as error:
                raise self._gone(error) from None

    def _gone(self, error: OSError) -> MonitorGoneError:
        return MonitorGoneError(
            f"The power monitor at {self.path} is gone.",
            why=error.strerror or str(error),
            todo="Check cable and hub, then measure again.",
        )

    def close(self) -> None:
        """Give the port back. Idempotent."""
        if self._fd >= 0:
            with suppress(OSError):
                fcntl.ioctl(self._fd, termios.TIOCNXCL)
            os.close(self._fd)
            self._fd = -1


class Ppk2:
    """An open PPK2. Sample words go into the waveform as they came."""

    def __init__(self, port: Port, settings: MonitorSettings, deadline: Deadline, serial: str) -> None:
        self.capabilities = CAPABILITIES
        self._port = port
        self._settings = settings
        self._serial = serial
        self._stream = Ppk2Stream()
        self._heard = 0.0
        try:
            if settings.volts is None:
                raise MonitorError(
                    "A PPK2 measures no voltage, so energy needs the supply voltage.",
                    todo="Set the voltage of the target's supply in the power settings.",
                )
            self._volts = settings.volts
            self.calibration = self._read_calibration(deadline)
            self._command(Command.MODE_SOURCE if settings.mode == "source" else Command.MODE_AMPERE)
            if settings.mode == "source":
                self.set_volts(self._volts)
        except BaseException:
            port.close()
            raise

    def __enter__(self) -> Ppk2:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _command(self, data: bytes) -> None:
        self._port.write(data, Deadline(2.0, "the PPK2 to take a command", str(self._port.path)))

    def _drain(self, deadline: Deadline) -> None:
        """Stop a stream that an earlier user left and read its rest."""
        self._command(Command.STOP)
        while self._port.read(QUIET_S):
            deadline.check("samples of an earlier measurement")

    def _read_calibration(self, deadline: Deadline) -> Calibration:
        self._drain(deadline)
        self._command(Command.METADATA)
        text = b""
        while END not in text:
            deadline.check(f"{text[-40:]!r}" if text else "")
            text += self._port.read(min(0.1, deadline.remaining()))
            if len(text) > 1 << 16:
                break
        return parse_metadata(text.decode("ascii", "replace"))

    def header(self) -> Header:
        """See `Monitor`."""
        return Header(
            monitor="ppk2",
            serial=self._serial,
            rate_hz=float(SAMPLE_RATE_HZ),
            encoding="ppk2-words",
            source=self._settings.source,
            volts=self._volts,
            gate_line=self._settings.gate_line,
            mode=self._settings.mode,
            accuracy=Accuracy(**self._settings.accuracy),
            calibration=self.calibration,
        )

    def start(self) -> None:
        """See `Monitor`."""
        self._drain(Deadline(5.0, "the PPK2 to fall silent", str(self._port.path)))
        self._stream = Ppk2Stream()
        self._command(Command.START)
        self._heard = time.monotonic()

    def pump(self, writer: WaveformWriter, seconds: float) -> int:
        """See `Monitor`."""
        data = self._port.read(seconds)
        if data:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > SILENCE_S:
            raise MonitorGoneError(
                f"The PPK2 at {self._port.path} stopped sending.",
                why=f"Nothing came for {SILENCE_S} s while it was measuring.",
                todo="Check cable and hub, then measure again.",
            )
        return self._stream.feed(data, writer)

    def stop(self, writer: WaveformWriter) -> Ending:
        """See `Monitor`."""
        gone = ""
        try:
            self._command(Command.STOP)
        except MonitorError as error:
            gone = error.what
        return Ending(self._stream.finish(writer), gone)

    def supply(self, on: bool) -> None:
        """See `Monitor`."""
        # In ampere mode the same command opens and closes the path through the meter.
        self._command(Command.DEVICE_POWER + bytes((1 if on else 0,)))

    def set_volts(self, volts: float) -> None:
        """See `Monitor`."""
        if self._settings.mode != "source":
            raise no_source_mode("This PPK2")
        millivolts = round(volts * 1000)
        if not VDD_LOW_MV <= millivolts <= VDD_HIGH_MV:
            raise MonitorError(
                f"A PPK2 cannot supply {volts:g} V.",
                why=f"It does {VDD_LOW_MV / 1000:g} to {VDD_HIGH_MV / 1000:g} V.",
                todo="Correct the supply voltage in the power settings.",
            )
        self._command(regulator_command(millivolts))
        self._volts = volts

    def close(self) -> None:
        """See `Monitor`."""
        with suppress(MonitorError, ValueError):
            self._command(Command.STOP)
            if not self._settings.keep_supply:
                self.supply(False)
        self._port.close()
