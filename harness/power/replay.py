"""Waveforms that exist already: our own files, CSV, and .jls files that Joulescope software wrote."""

from __future__ import annotations

import csv
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
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
from harness.power.waveform import Accuracy, Gap, Header, Waveform, WaveformWriter

CHUNK = 1 << 17
CAPABILITIES = Capabilities(rate_hz=0.0, logic_inputs=8, measures_volts=True, qualification="no device")
Columns = tuple[NDArray[np.float32], NDArray[np.float32] | None, NDArray[np.uint8]]


class ReplayDriver:
    """Opens a file as if it were a monitor. Addresses are paths."""

    name = "replay"
    title = "File replay (.hwf, .csv, .jls)"
    capabilities = CAPABILITIES

    def find(self) -> tuple[MonitorInfo, ...]:
        """None: files are named, not searched."""
        return ()

    def open(self, address: str, settings: MonitorSettings, deadline: Deadline) -> Replay:
        """Open a file by its suffix: `.csv`, `.jls`, anything else is our own format."""
        path = Path(address)
        if not path.is_file():
            raise MonitorError(f"{address} is not a file.", todo="Give the path of a waveform, a .csv or a .jls file.")
        if path.suffix == ".csv":
            return Replay(_CsvSource(path, settings))
        if path.suffix == ".jls":
            return Replay(_JlsSource(path, settings))
        return Replay(_OwnSource(path))


class Replay:
    """A file behind the monitor interface: every pump delivers the next chunk, then the monitor is at its end."""

    def __init__(self, source: _CsvSource | _JlsSource | _OwnSource) -> None:
        self._source = source
        self.capabilities = CAPABILITIES
        self._chunks: Iterator[Any] = iter(())

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def header(self) -> Header:
        """See `Monitor`."""
        return self._source.header

    def start(self) -> None:
        """See `Monitor`."""
        self._chunks = self._source.chunks()

    def pump(self, writer: WaveformWriter, seconds: float) -> int:
        """See `Monitor`; `MonitorGoneError` at the end of the file."""
        for chunk in self._chunks:
            if isinstance(self._source, _OwnSource) and self._source.header.encoding == "ppk2-words":
                writer.append_words(chunk)
                return len(chunk)
            writer.append(*chunk)
            return len(chunk[0])
        raise MonitorGoneError("The file is at its end.")

    def copy(self, path: Path) -> Waveform:
        """The whole file as a waveform at a new path."""
        if isinstance(self._source, _OwnSource):
            shutil.copyfile(self._source.path, path)
            return Waveform(path)
        writer = WaveformWriter(path, self.header())
        try:
            self.start()
            for chunk in self._chunks:
                writer.append(*chunk)
        except BaseException:
            writer.abandon()
            raise
        ending = self.stop(writer)
        writer.close(gaps=ending.gaps, notes=ending.notes)
        return Waveform(path)

    def stop(self, writer: WaveformWriter) -> Ending:
        """See `Monitor`."""
        return Ending(self._source.gaps, notes=(f"replayed from {self._source.path.name}",))

    def supply(self, on: bool) -> None:
        """See `Monitor`: a file feeds nothing."""
        raise no_source_mode("A file")

    def set_volts(self, volts: float) -> None:
        """See `Monitor`: a file feeds nothing."""
        raise no_source_mode("A file")

    def close(self) -> None:
        """See `Monitor`."""
        self._chunks = iter(())


def _header(path: Path, settings: MonitorSettings, rate_hz: float, volts: float | None) -> Header:
    if not (math.isfinite(rate_hz) and rate_hz > 0):
        raise MonitorError(
            f"{path.name} has no usable sample rate.", why=f"It is {rate_hz:g}.", todo="Set rate_hz in the settings."
        )
    return Header(
        monitor="replay",
        serial=path.name,
        rate_hz=rate_hz,
        encoding="float32",
        source=settings.source,
        volts=volts,
        gate_line=settings.gate_line,
        mode=settings.mode,
        accuracy=Accuracy(**settings.accuracy),
    )


class _OwnSource:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._waveform = Waveform(path)
        self.header = self._waveform.header
        self.gaps = self._waveform.footer.gaps

    def chunks(self) -> Iterator[Any]:
        if self.header.encoding == "ppk2-words":
            for _, words in self._waveform.words():
                yield words
            return
        for block in self._waveform.blocks():
            volts = block.volts.astype(np.float32) if isinstance(block.volts, np.ndarray) else None
            yield block.amperes.astype(np.float32), volts, block.logic


class _CsvSource:
    """Columns by heading: `time_s`, `current_a`, optional `voltage_v` and `gate` (0 or 1).

    The rate is that of the times; a step of several periods is a gap. Empty and NaN currents are gaps too.
    """

    def __init__(self, path: Path, settings: MonitorSettings) -> None:
        self.path = path
        self._columns = self._read(settings)
        rate = settings.rate_hz or self._rate()
        self.header = _header(path, settings, rate, None if "voltage_v" in self._columns else settings.volts)
        if "voltage_v" not in self._columns and settings.volts is None:
            raise self._bad("it has no column voltage_v, and the settings have no volts")
        self.gaps = self._gaps(rate)

    def _bad(self, why: str) -> MonitorError:
        return MonitorError(
            f"{self.path.name} cannot be read as a power trace.",
            why=f"In detail: {why}.",
            todo="Give columns time_s, current_a and, if there, voltage_v and gate.",
        )

    def _read(self, settings: MonitorSettings) -> dict[str, NDArray[np.float64]]:
        wanted = ("time_s", "current_a", "voltage_v", "gate")
        try:
            with self.path.open(newline="", encoding="utf-8") as file:
                rows = csv.reader(file)
                heading = [cell.strip() for cell in next(rows, [])]
                places = {name: heading.index(name) for name in wanted if name in heading}
                if "current_a" not in places or ("time_s" not in places and settings.rate_hz is None):
                    raise self._bad(f"its heading is {heading[:8]}")
                values: dict[str, list[float]] = {name: [] for name in places}
                for row in rows:
                    for name, place in places.items():
                        values[name].append(float(row[place]) if row[place].strip() else math.nan)
        except (OSError, ValueError, IndexError, csv.Error, UnicodeDecodeError) as error:
            raise self._bad(str(error)) from None
        columns = {name: np.asarray(column, np.float64) for name, column in values.items()}
        for name, column in columns.items():
            if name != "current_a" and not np.isfinite(column[np.isfinite(columns["current_a"])]).all():
                raise self._bad(f"{name} holds values that are not finite")
        return columns

    def _rate(self) -> float:
        times = self._columns["time_s"]
        if len(times) < 2 or not np.all(np.diff(times) > 0):
            raise self._bad("time_s does not increase")
        # The median step: single gaps do not move it.
        return 1.0 / float(np.median(np.diff(times)))

    def _gaps(self, rate: float) -> tuple[Gap, ...]:
        good = np.isfinite(self._columns["current_a"])
        found: dict[int, int] = {}
        place = np.cumsum(good) - good
        for row in np.flatnonzero(~good):
            found[int(place[row])] = found.get(int(place[row]), 0) + 1
        if "time_s" in self._columns:
            steps = np.rint(np.diff(self._columns["time_s"]) * rate).astype(np.int64) - 1
            for row in np.flatnonzero(steps > 0):
                at = int(place[row + 1])
                found[at] = found.get(at, 0) + int(steps[row])
        return tuple(Gap(index, lost, "lost") for index, lost in sorted(found.items()))

    def chunks(self) -> Iterator[Columns]:
        good = np.isfinite(self._columns["current_a"])
        amperes = self._columns["current_a"][good].astype(np.float32)
        volts = self._columns["voltage_v"][good].astype(np.float32) if "voltage_v" in self._columns else None
        logic = np.zeros(len(amperes), np.uint8)
        if "gate" in self._columns:
            logic = ((self._columns["gate"][good] > 0.5) << self.header.gate_line).astype(np.uint8)
        for start in range(0, len(amperes), CHUNK):
            part = slice(start, start + CHUNK)
            yield amperes[part], None if volts is None else volts[part], logic[part]


class _JlsSource:
    """A .jls version 2 file: signals `current`, `voltage` and, for the gate, `gpi[<line>]`."""

    def __init__(self, path: Path, settings: MonitorSettings) -> None:
        self.path = path
        try:
            from pyjls import Reader
        except ImportError as error:
            raise missing_library("replay of .jls", "pyjls", "joulescope", error) from None
        try:
            self._reader = Reader(str(path))
            by_name = {signal.name: signal for signal in self._reader.signals.values()}
        except Exception as error:
            raise MonitorError(f"{path.name} is not a .jls file.", why=str(error), todo="Record it again.") from None
        if "current" not in by_name:
            raise MonitorError(f"{path.name} holds no signal 'current'.", why=f"It holds {', '.join(by_name)}.")
        self._current = by_name["current"]
        self._volts = by_name.get("voltage")
        self._gate = by_name.get(f"gpi[{settings.gate_line}]")
        if self._volts is None and settings.volts is None:
            raise MonitorError(f"{path.name} holds no voltage.", todo="Set the supply voltage in the power settings.")
        rate = float(self._current.sample_rate)
        self.header = _header(path, settings, rate, None if self._volts is not None else settings.volts)
        self.gaps: tuple[Gap, ...] = ()

    def chunks(self) -> Iterator[Columns]:
        self.gaps = ()
        total = min(int(s.length) for s in (self._current, self._volts, self._gate) if s is not None)
        kept = 0
        for start in range(0, total, CHUNK):
            count = min(CHUNK, total - start)
            logic: NDArray[np.uint8] = np.zeros(count, np.uint8)
            amperes = np.asarray(self._reader.fsr(self._current.signal_id, start, count), np.float32)
            volts = None
            if self._volts is not None:
                volts = np.asarray(self._reader.fsr(self._volts.signal_id, start, count), np.float32)
            if self._gate is not None:
                logic = (self._bits(start, count) << np.uint8(self.header.gate_line)).astype(np.uint8)
            # The instrument writes NaN where it lost samples.
            good = np.isfinite(amperes) if volts is None else np.isfinite(amperes) & np.isfinite(volts)
            for row in np.flatnonzero(~good):
                self._lose(kept + int(good[:row].sum()))
            kept += int(good.sum())
            yield amperes[good], None if volts is None else volts[good], logic[good]

    def _lose(self, index: int) -> None:
        if self.gaps and self.gaps[-1].index == index:
            self.gaps = (*self.gaps[:-1], Gap(index, self.gaps[-1].lost + 1, "lost"))
        else:
            self.gaps = (*self.gaps, Gap(index, 1, "lost"))

    def _bits(self, start: int, count: int) -> NDArray[np.uint8]:
        """One-bit samples come packed, least significant bit first."""
        assert self._gate is not None
        packed = np.asarray(self._reader.fsr(self._gate.signal_id, start, count)).view(np.uint8)
        if len(packed) == count:
            return packed & np.uint8(1)
        return np.unpackbits(packed, bitorder="little")[:count]
