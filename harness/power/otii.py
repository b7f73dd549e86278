"""Qoitech Otii Arc and Ace through the Otii TCP server and otii-tcp-client (extra `otii`). Not verified on hardware.

The server records; samples are fetched after the recording has stopped, so nothing is written while it runs. Main
current comes at 4 kHz or 50 kHz with its own interval; the gate is a digital input whose changes have times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from harness.core.deadline import Deadline
from harness.power.errors import MonitorError, MonitorGoneError
from harness.power.monitor import Capabilities, Ending, MonitorInfo, MonitorSettings, missing_library
from harness.power.waveform import Accuracy, Gap, Header, WaveformWriter

CAPABILITIES = Capabilities(
    rate_hz=50_000.0, logic_inputs=2, source_mode=True, volts=(0.5, 5.0), measures_volts=True, clock="host"
)
FETCH = 40_000
DEFAULT_PORT = 1905


class OtiiDriver:
    """Opens an Otii by `host[:port][/device name]`."""

    name = "otii"
    title = "Qoitech Otii Arc, Otii Ace"
    capabilities = CAPABILITIES

    def find(self) -> tuple[MonitorInfo, ...]:
        """None: the server's address is configured, not searched."""
        return ()

    def open(self, address: str, settings: MonitorSettings, deadline: Deadline) -> Otii:
        """Connect to the server and take the device.

        Raises:
            MonitorError: library missing, no server, no such device, no licence.
        """
        try:
            from otii_tcp_client import otii, otii_connection
        except ImportError as error:
            raise missing_library("otii", "otii-tcp-client", "otii", error) from None
        place, _, device = address.partition("/")
        host, _, port = place.partition(":")
        if port and not port.isdigit():
            raise MonitorError(f"{address!r} is no address of an Otii server.", todo="Write host:port/device.")
        connection = otii_connection.OtiiConnection(host or "127.0.0.1", int(port or DEFAULT_PORT))
        try:
            greeting = connection.connect_to_server(try_for_seconds=0)
            if greeting.get("type") == "error":
                raise MonitorError("The Otii server refused the connection.", why=str(greeting.get("message", "")))
            return Otii(otii.Otii(connection), connection, device, settings)
        except MonitorError:
            with suppress(Exception):
                connection.close_connection()
            raise
        except Exception as error:
            with suppress(Exception):
                connection.close_connection()
            raise MonitorError(
                f"The Otii at {place or 'this host'} cannot be used.",
                why=f"{type(error).__name__}: {error}",
                todo="Start the Otii server, log in there, and check the address.",
            ) from None


def _asked(what: str, call: Callable[[], Any]) -> Any:
    """The answer of the server, its failures as our errors."""
    try:
        return call()
    except Exception as error:
        raise MonitorGoneError(
            f"The Otii server failed to {what}.",
            why=f"{type(error).__name__}: {error}",
            todo="Look at the Otii application, then measure again.",
        ) from None


class Otii:
    """An open Otii: main current and voltage, one digital input as gate."""

    def __init__(self, server: Any, connection: Any, name: str, settings: MonitorSettings) -> None:
        self.capabilities = CAPABILITIES
        self._connection = connection
        self._settings = settings
        self._gate = f"i{settings.gate_line + 1}"
        self._closed = False
        devices = server.get_devices()
        matching = [device for device in devices if not name or name in (device.name, device.id)]
        if len(matching) != 1:
            raise MonitorError(
                f"There is no single Otii {name or 'on that server'!r}.",
                why=f"Found: {', '.join(device.name for device in devices) or 'none'}.",
                todo="Name one in the address: host:port/device.",
            )
        self._device = matching[0]
        self._project = server.get_active_project() or server.create_project()
        self._device.add_to_project()
        self._channels = ("mc", *(() if settings.volts else ("mv",)), self._gate)
        for channel in self._channels:
            self._device.enable_channel(channel, True)
        if settings.mode == "source" and settings.volts:
            self._device.set_main_voltage(settings.volts)
        self._rate = float(self._device.get_channel_samplerate("mc"))

    def __enter__(self) -> Otii:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def header(self) -> Header:
        """See `Monitor`."""
        return Header(
            monitor="otii",
            serial=str(self._device.id),
            rate_hz=self._rate,
            encoding="float32",
            source=self._settings.source,
            volts=self._settings.volts,
            gate_line=self._settings.gate_line,
            mode=self._settings.mode,
            accuracy=Accuracy(**self._settings.accuracy),
        )

    def start(self) -> None:
        """See `Monitor`."""
        _asked("start a recording", self._project.start_recording)

    def pump(self, writer: WaveformWriter, seconds: float) -> int:
        """See `Monitor`: samples come when the recording has ended."""
        threading.Event().wait(seconds)
        return 0

    def stop(self, writer: WaveformWriter) -> Ending:
        """See `Monitor`: stops the recording and fetches it."""
        _asked("stop the recording", self._project.stop_recording)
        recording = _asked("name the recording", self._project.get_last_recording)
        if recording is None:
            return Ending(gone="The Otii server has no recording.")
        gaps: list[Gap] = []
        edges = self._edges(recording)
        count = int(self._count(recording, "mc"))
        expected: float | None = None
        started = time.monotonic()
        for start in range(0, count, FETCH):
            size = min(FETCH, count - start)
            current, at = self._values(recording, "mc", start, size)
            volts = self._values(recording, "mv", start, size)[0] if not self._settings.volts else None
            times = at + np.arange(len(current)) / self._rate
            if expected is not None and (lost := round((at - expected) * self._rate)) > 0:
                gaps.append(Gap(writer.samples, lost, "lost"))
            expected = at + len(current) / self._rate
            good = np.isfinite(current) if volts is None else np.isfinite(current) & np.isfinite(volts)
            before = np.cumsum(good) - good
            gaps += [Gap(writer.samples + int(before[row]), 1, "lost") for row in np.flatnonzero(~good)]
            logic = (_level_at(edges, times) << self._settings.gate_line).astype(np.uint8)
            writer.append(current[good], None if volts is None else volts[good], logic[good])
        return Ending(tuple(gaps), notes=(f"fetched in {time.monotonic() - started:.1f} s",))

    def _count(self, recording: Any, channel: str) -> int:
        return int(_asked("count samples", lambda: recording.get_channel_data_count(self._device.id, channel)))

    def _values(self, recording: Any, channel: str, start: int, count: int) -> tuple[np.ndarray[Any, Any], float]:
        data = _asked("send samples", lambda: recording.get_channel_data(self._device.id, channel, start, count))
        values = np.asarray(data["values"], np.float32)
        if len(values) != count:
            raise MonitorGoneError(
                "The Otii server sent another number of samples than asked for.",
                why=f"Channel {channel}: {len(values)} of {count}.",
                todo="Enable the same rate for current and voltage.",
            )
        return values, float(data["timestamp"])

    def _edges(self, recording: Any) -> list[tuple[float, int]]:
        count = self._count(recording, self._gate)
        if count == 0:
            return []
        data = _asked("send gate edges", lambda: recording.get_channel_data(self._device.id, self._gate, 0, count))
        return [(float(entry["timestamp"]), int(bool(entry["value"]))) for entry in data["values"]]

    def supply(self, on: bool) -> None:
        """See `Monitor`."""
        _asked("switch the supply", lambda: self._device.set_main(on))

    def set_volts(self, volts: float) -> None:
        """See `Monitor`."""
        low, high = CAPABILITIES.volts or (0.0, 0.0)
        if not low <= volts <= high:
            raise MonitorError(f"An Otii cannot supply {volts:g} V.", why=f"It does {low:g} to {high:g} V.")
        _asked("set the voltage", lambda: self._device.set_main_voltage(volts))

    def close(self) -> None:
        """See `Monitor`."""
        if self._closed:
            return
        self._closed = True
        with suppress(MonitorError):
            if not self._settings.keep_supply:
                self.supply(False)
        with suppress(Exception):
            self._connection.close_connection()


def _level_at(edges: list[tuple[float, int]], times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Level of a line at these times, given its changes; low before the first."""
    changes = np.asarray([at for at, _ in edges])
    levels = np.asarray([0, *(level for _, level in edges)])
    return levels[np.searchsorted(changes, times, side="right")]
