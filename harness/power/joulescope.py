"""Joulescope JS110, JS220 and JS320 through pyjoulescope-driver (extra `joulescope`). Not verified on hardware.

The driver publishes blocks of each signal on its own thread; they are queued here and joined by sample number, so that
current, voltage and gate of a sample belong together and lost blocks become gaps.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core.deadline import Deadline
from harness.power.errors import MonitorError, MonitorGoneError
from harness.power.monitor import (
    Capabilities,
    Ending,
    MonitorInfo,
    MonitorSettings,
    missing_library,
    no_source_mode,
)
from harness.power.waveform import Accuracy, Gap, Header, WaveformWriter

RATES_HZ = {"js110": 2_000_000, "js220": 1_000_000, "js320": 1_000_000}
CAPABILITIES = Capabilities(rate_hz=1e6, logic_inputs=4, measures_volts=True, statistics=True)
SILENCE_S = 1.0
SIGNALS = ("i", "v", "gpi")


def _library() -> Any:
    try:
        from pyjoulescope_driver import Driver  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise missing_library("joulescope", "pyjoulescope-driver", "joulescope", error) from None
    return Driver


class JoulescopeDriver:
    """Finds Joulescopes and opens one by its path or serial number.

    Args:
        library: makes the driver object; pyjoulescope-driver's `Driver` when None.
    """

    name = "joulescope"
    title = "Joulescope JS110, JS220, JS320"
    capabilities = CAPABILITIES

    def __init__(self, library: Callable[[], Any] | None = None) -> None:
        self._make = library

    def find(self) -> tuple[MonitorInfo, ...]:
        """Joulescopes on USB; empty when the library is missing."""
        try:
            driver = (self._make or _library())()
        except MonitorError:
            return ()
        try:
            return tuple(self._info(path) for path in sorted(driver.device_paths()))
        finally:
            driver.finalize()

    def _info(self, path: str) -> MonitorInfo:
        _, model, serial = path.split("/")
        return MonitorInfo(self.name, path, serial, model.upper())

    def open(self, address: str, settings: MonitorSettings, deadline: Deadline) -> Joulescope:
        """Open by path (`u/js220/000123`) or serial number."""
        driver = (self._make or _library())()
        try:
            paths = [path for path in driver.device_paths() if address in (path, path.rsplit("/", 1)[-1])]
            if len(paths) != 1:
                raise MonitorError(
                    f"There is no single Joulescope {address!r}.",
                    why=f"Found: {', '.join(sorted(driver.device_paths())) or 'none'}.",
                    todo="Check the cable, or give the full path.",
                )
            return Joulescope(driver, paths[0], settings, deadline)
        except BaseException:
            driver.finalize()
            raise


class Joulescope:
    """An open Joulescope: current, voltage and one input as gate."""

    def __init__(self, driver: Any, path: str, settings: MonitorSettings, deadline: Deadline) -> None:
        self.capabilities = CAPABILITIES
        self._driver = driver
        self._path = path
        self._settings = settings
        _, self._model, self._serial = path.split("/")
        native = RATES_HZ.get(self._model, 1_000_000)
        self._rate = float(settings.rate_hz or native)
        self._topics = {
            "i": f"{path}/s/i/!data",
            "v": f"{path}/s/v/!data",
            "gpi": f"{path}/s/gpi/{settings.gate_line}/!data",
        }
        self._names = {topic: name for name, topic in self._topics.items()}
        self._queue: queue.SimpleQueue[tuple[str, int, NDArray[Any]]] = queue.SimpleQueue()
        self._waiting: dict[str, list[tuple[int, NDArray[Any]]]] = {}
        self._next: int | None = None
        self._gaps: list[Gap] = []
        self._heard = 0.0
        self._on_data = self._receive
        self._running = False
        self._closed = False
        try:
            driver.open(path, "defaults", timeout=max(deadline.remaining(), 0.1))
            if settings.rate_hz:
                driver.publish(f"{path}/h/fs", int(settings.rate_hz))
            select = "select" if self._model == "js110" else "mode"
            driver.publish(f"{path}/s/i/range/{select}", "auto")
        except (RuntimeError, TimeoutError, ValueError, KeyError) as error:
            raise MonitorError(
                f"The Joulescope {path} cannot be opened.",
                why=str(error),
                todo="Close other programs that use it, or plug it in again.",
            ) from None

    def __enter__(self) -> Joulescope:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def header(self) -> Header:
        """See `Monitor`."""
        return Header(
            monitor=self._model,
            serial=self._serial,
            rate_hz=self._rate,
            encoding="float32",
            source=self._settings.source,
            volts=None,
            gate_line=self._settings.gate_line,
            mode="ampere",
            accuracy=Accuracy(**self._settings.accuracy),
        )

    def _receive(self, topic: str, value: dict[str, Any]) -> None:
        # The driver's thread: copy and go.
        first = int(value["sample_id"]) // int(value.get("decimate_factor", 1))
        self._queue.put((self._names[topic], first, np.array(value["data"])))

    def _control(self, on: bool) -> None:
        for topic in self._topics.values():
            self._driver.publish(topic.replace("!data", "ctrl"), 1 if on else 0, timeout=1.0)

    def start(self) -> None:
        """See `Monitor`."""
        self._queue = queue.SimpleQueue()
        self._waiting = {name: [] for name in SIGNALS}
        self._next, self._gaps = None, []
        for topic in self._topics.values():
            self._driver.subscribe(topic, ["pub"], self._on_data)
        self._running = True
        self._control(True)
        self._heard = time.monotonic()

    def pump(self, writer: WaveformWriter, seconds: float) -> int:
        """See `Monitor`."""
        try:
            self._take(*self._queue.get(timeout=seconds))
            while not self._queue.empty():
                self._take(*self._queue.get_nowait())
            self._heard = time.monotonic()
        except queue.Empty:
            if time.monotonic() - self._heard > SILENCE_S:
                raise MonitorGoneError(
                    f"The Joulescope {self._path} stopped sending.",
                    why=f"Nothing came for {SILENCE_S} s.",
                    todo="Check the cable, then measure again.",
                ) from None
        return self._join(writer)

    def _take(self, name: str, first: int, data: NDArray[Any]) -> None:
        if name == "gpi" and data.dtype == np.uint8 and data.size:
            data = data & 1
        self._waiting[name].append((first, data))

    def _join(self, writer: WaveformWriter) -> int:
        """Write the samples of which all signals have come."""
        written = 0
        while all(self._waiting.values()):
            heads = {name: parts[0] for name, parts in self._waiting.items()}
            start = max(first for first, _ in heads.values())
            end = min(first + len(data) for first, data in heads.values())
            if end > start:
                self._write(writer, {n: data[start - first : end - first] for n, (first, data) in heads.items()}, start)
                written += end - start
            for name, (first, data) in heads.items():
                if first + len(data) <= end:
                    self._waiting[name].pop(0)
        return written

    def _write(self, writer: WaveformWriter, parts: dict[str, NDArray[Any]], start: int) -> None:
        good = np.isfinite(parts["i"]) & np.isfinite(parts["v"])
        if self._next is not None and start > self._next:
            self._gap(writer.samples, start - self._next)
        before = np.cumsum(good) - good
        for row in np.flatnonzero(~good):
            self._gap(writer.samples + int(before[row]), 1)
        self._next = start + len(good)
        gate = parts["gpi"][good].astype(np.uint8) << np.uint8(self._settings.gate_line)
        writer.append(parts["i"][good].astype(np.float32), parts["v"][good].astype(np.float32), gate)

    def _gap(self, index: int, lost: int) -> None:
        if self._gaps and self._gaps[-1].index == index:
            lost += self._gaps.pop().lost
        self._gaps.append(Gap(index, lost, "lost"))

    def stop(self, writer: WaveformWriter) -> Ending:
        """See `Monitor`."""
        gone = self._halt()
        while not self._queue.empty():
            self._take(*self._queue.get_nowait())
        self._join(writer)
        return Ending(tuple(self._gaps), gone)

    def _halt(self) -> str:
        if not self._running:
            return ""
        self._running = False
        try:
            self._control(False)
            for topic in self._topics.values():
                self._driver.unsubscribe(topic, self._on_data)
        except (RuntimeError, TimeoutError) as error:
            return str(error)
        return ""

    def supply(self, on: bool) -> None:
        """See `Monitor`. A Joulescope feeds nothing, but opens the path through it: that is its power switch."""
        try:
            topic = "s/i/range/select" if self._model == "js110" else "s/i/range/mode"
            self._driver.publish(f"{self._path}/{topic}", "auto" if on else "off")
        except (RuntimeError, TimeoutError) as error:
            raise MonitorError(f"The Joulescope {self._path} did not switch.", why=str(error)) from None

    def set_volts(self, volts: float) -> None:
        """See `Monitor`."""
        raise no_source_mode("A Joulescope")

    def close(self) -> None:
        """See `Monitor`."""
        if self._closed:
            return
        self._closed = True
        self._halt()
        try:
            if not self._settings.keep_supply:
                self.supply(False)
            self._driver.close(self._path)
        except (MonitorError, RuntimeError, TimeoutError):
            pass
        finally:
            self._driver.finalize()
