"""Waveforms at full rate: written in compressed chunks while they are captured, read back chunk by chunk.

A waveform file is a zip: `header.json`, `chunk/<n>` members, `footer.json` last. Members hold byte planes (all first
bytes, then all second bytes, ...), which deflate shrinks well. Two encodings: `ppk2-words` keeps every bit the device
sent; `float32` keeps amperes, volts and logic of monitors that deliver numbers. Lost samples are a list of gaps; there
is no NaN and nothing is filled in.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import strict_json
from harness.power.errors import WaveformError
from harness.power.ppk2_decode import Decoder, Words
from harness.power.ppk2_wire import COUNTER_MASK, COUNTER_SHIFT, KEY_MASK, WORD
from harness.power.waveform_facts import Accuracy, Footer, Gap, Header, UnfitError, read_footer

SCHEMA = "harness.waveform"
SCHEMA_VERSION = 1
CHUNK = 1 << 18
"""Samples a chunk."""
LEVEL = 1
MOST_AMPERES = 1e6
"""What no calibration makes of any code."""

__all__ = ["Accuracy", "Block", "Footer", "Gap", "Header", "Waveform", "WaveformWriter", "edges_in"]


@dataclass(frozen=True)
class Block:
    """Consecutive samples from `start` on: amperes (float64), volts (one number or an array), logic bytes.

    `keys` and `table` are there when currents are a table of few values: then `amperes == table[keys]`.
    """

    start: int
    amperes: NDArray[np.float64]
    volts: float | NDArray[np.float64]
    logic: NDArray[np.uint8]
    words: Words | None = None
    table: NDArray[np.float64] | None = None

    @property
    def keys(self) -> NDArray[np.uint32]:
        """Code and range of each sample."""
        assert self.words is not None
        return np.bitwise_and(self.words, np.uint32(KEY_MASK), dtype=np.uint32)


class WaveformWriter:
    """Writes one waveform; `append_words` or `append` as often as needed, then `close`.

    Without `close` the file has no directory and no reader takes it for complete.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self.samples = 0
        self.edges: list[tuple[int, int]] = []
        self.initial = 0
        self._level: int | None = None
        self._parts: list[NDArray[np.uint8]] = []
        self._buffered = 0
        self._chunks: list[dict[str, int]] = []
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._member("header.json", _json({"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **header.to_dict()}))

    def append_words(self, words: Words) -> None:
        """Add PPK2 words, in order."""
        if len(words):
            rows = np.ascontiguousarray(words, WORD).view(np.uint8).reshape(-1, 4)
            self._append(rows, rows[:, 3])

    def append(self, amperes: NDArray[np.float32], volts: NDArray[np.float32] | None, logic: NDArray[np.uint8]) -> None:
        """Add samples as numbers; volts exactly when the header says that there are any.

        Raises:
            ValueError: lengths differ or a value is not finite; monitors must report loss as gaps.
        """
        columns = [np.ascontiguousarray(amperes, "<f4")]
        if (volts is None) != (self.header.volts is not None):
            raise ValueError("volts are given exactly when the header has none")
        if volts is not None:
            columns.append(np.ascontiguousarray(volts, "<f4"))
        if any(len(c) != len(logic) for c in columns) or not all(np.isfinite(c).all() for c in columns):
            raise ValueError("columns differ in length or hold values that are not finite")
        if len(logic):
            planes = [c.view(np.uint8).reshape(-1, 4) for c in columns]
            self._append(np.concatenate([*planes, logic[:, None]], axis=1), logic)

    def _append(self, rows: NDArray[np.uint8], logic: NDArray[np.uint8]) -> None:
        self._find_edges(logic)
        self.samples += len(rows)
        while len(rows):
            room = CHUNK - self._buffered
            # A copy: the caller's buffer may be reused, and a short slice must not keep a long array alive.
            self._parts.append(rows[:room].copy())
            self._buffered += len(self._parts[-1])
            rows = rows[room:]
            if self._buffered == CHUNK:
                self._flush()

    def _find_edges(self, logic: NDArray[np.uint8]) -> None:
        found, level = edges_in(logic, self.header.gate_line, self._level, self.samples)
        if self._level is None:
            self.initial = int(logic[0] >> self.header.gate_line) & 1
        self.edges += found
        self._level = level

    def _flush(self) -> None:
        if not self._buffered:
            return
        rows = self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)
        chunk = {"samples": len(rows)}
        if self.header.encoding == "ppk2-words":
            words = rows.reshape(-1).view(WORD)
            chunk["counter"] = int(words[0] >> COUNTER_SHIFT) & COUNTER_MASK
            rows = (words ^ _counter_pattern(chunk["counter"], len(words))).view(np.uint8).reshape(-1, 4)
        self._member(f"chunk/{len(self._chunks)}", rows.T.tobytes())
        self._chunks.append(chunk)
        self._parts, self._buffered = [], 0

    def _member(self, name: str, data: bytes) -> None:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        self._zip.writestr(info, data, zipfile.ZIP_DEFLATED, LEVEL)

    def close(
        self,
        *,
        gaps: Sequence[Gap] = (),
        lateness: Sequence[tuple[float, float]] = (),
        gone: str = "",
        notes: Sequence[str] = (),
    ) -> Path:
        """Write what is buffered and the footer; the file is complete afterwards."""
        self._flush()
        footer = Footer(self.samples, tuple(self.edges), self.initial, tuple(gaps), tuple(lateness), gone, tuple(notes))
        self._member("footer.json", _json({**asdict(footer), "chunks": self._chunks}))
        self._zip.close()
        return self.path

    def abandon(self) -> None:
        """Give the file up and remove it."""
        if self._zip.fp is not None:
            # A full disk is often why the file is given up.
            with suppress(OSError):
                self._zip.close()
        self.path.unlink(missing_ok=True)


class Waveform:
    """A stored waveform, read chunk by chunk. `blocks()` may be called any number of times.

    Raises:
        WaveformError: not a waveform, of another version, cut short, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                header = self._document(archive, "header.json")
                footer = self._document(archive, "footer.json")
        except FileNotFoundError:
            raise WaveformError(f"There is no file {path}.", todo="Check the path.") from None
        except (OSError, zipfile.BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError) as error:
            raise _broken(f"{error}", path) from None
        if header.pop("schema", None) != SCHEMA or header.pop("schema_version", None) != SCHEMA_VERSION:
            raise _broken(f"it is not {SCHEMA} version {SCHEMA_VERSION}", path)
        try:
            self.header = Header.from_dict(header)
            self.footer, self._chunks = read_footer(footer, self.header, CHUNK)
        except UnfitError as error:
            raise _broken(str(error), path) from None

    @staticmethod
    def _document(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
        document = strict_json.loads(archive.read(name), source=name)
        if not isinstance(document, dict):
            raise _broken(f"{name} is not an object")
        return document

    def __len__(self) -> int:
        return self.footer.samples

    def rows(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Decompressed chunks: (index of the first sample, bytes with shape (samples, bytes a sample))."""
        width = self._width()
        start = 0
        try:
            with zipfile.ZipFile(self.path) as archive:
                for number, chunk in enumerate(self._chunks):
                    data = archive.read(f"chunk/{number}")
                    count = chunk["samples"]
                    if len(data) != count * width:
                        raise _broken(f"chunk {number} has another size than stated", self.path)
                    rows = np.empty((count, width), np.uint8)
                    rows[...] = np.frombuffer(data, np.uint8).reshape(width, count).T
                    yield start, rows
                    start += count
        except (OSError, zipfile.BadZipFile, KeyError, zlib.error, EOFError, NotImplementedError) as error:
            raise _broken(f"{error}", self.path) from None

    def _width(self) -> int:
        return 4 if self.header.encoding == "ppk2-words" else 5 if self.header.volts is not None else 9

    def words(self) -> Iterator[tuple[int, Words]]:
        """PPK2 words chunk by chunk, every bit as the device sent it."""
        for (start, rows), chunk in zip(self.rows(), self._chunks, strict=True):
            words = rows.reshape(-1).view(WORD)
            words ^= _counter_pattern(chunk["counter"], len(words))
            yield start, words

    def blocks(self) -> Iterator[Block]:
        """Exact (unfiltered) samples chunk by chunk."""
        if self.header.encoding == "float32":
            yield from self._float_blocks()
            return
        decoder = self.decoder()
        assert self.header.volts is not None
        for start, words in self.words():
            logic = words.view(np.uint8)[3::4]
            yield Block(start, decoder.amperes(words), self.header.volts, logic, words, decoder.table)

    def _float_blocks(self) -> Iterator[Block]:
        for start, rows in self.rows():
            amperes = rows[:, :4].copy().view("<f4")[:, 0].astype(np.float64)
            volts = self.header.volts
            column = rows[:, 4:8].copy().view("<f4")[:, 0].astype(np.float64) if volts is None else volts
            if not (np.isfinite(amperes).all() and np.isfinite(column).all()):
                raise _broken("it holds values that are not finite", self.path)
            yield Block(start, amperes, column, rows[:, -1])

    def decoder(self) -> Decoder:
        """A decoder with this waveform's calibration, in its initial state."""
        assert self.header.calibration is not None and self.header.volts is not None
        decoder = Decoder(self.header.calibration, self.header.volts)
        if not (np.abs(decoder.table) < MOST_AMPERES).all():
            raise _broken("its calibration gives impossible currents", self.path)
        return decoder

    def display(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Currents for display, in amperes: with the spike filter where the monitor has one."""
        if self.header.encoding == "float32":
            for block in self.blocks():
                yield block.start, block.amperes
            return
        decoder = self.decoder()
        for start, words in self.words():
            yield start, decoder.decode(words)[1]


def edges_in(
    logic: NDArray[np.uint8], line: int, level: int | None, start: int
) -> tuple[list[tuple[int, int]], int | None]:
    """Edges of a logic line: ((sample index, new level) of each, the level at the end); `level` is the one before."""
    if len(logic) == 0:
        return [], level
    bits = logic & (1 << line)
    places = np.flatnonzero(bits[1:] != bits[:-1]) + 1
    first = int(bits[0] != 0)
    found = [(start + int(i), int(bits[i] != 0)) for i in places]
    if level is not None and first != level:
        found.insert(0, (start, first))
    return found, int(bits[-1] != 0)


def _counter_pattern(first: int, count: int) -> NDArray[np.uint32]:
    period = ((np.arange(64, dtype=np.uint32) + np.uint32(first)) & COUNTER_MASK) << COUNTER_SHIFT
    return np.resize(period, count)


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, allow_nan=False).encode()


def _broken(why: str, path: Path | None = None) -> WaveformError:
    name = path.name if path is not None else "A waveform"
    return WaveformError(
        f"{name} cannot be read as a waveform.",
        why=f"In detail: {why}.",
        todo="The capture was cut short or the file was edited; capture again.",
    )
