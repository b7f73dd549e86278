"""Records of a pass put together: chunks to tensors, words to arrays. What does not fit together is refused."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from harness.capture.messages import (
    ChunkMessage,
    Column,
    Message,
    ObservedMessage,
    PassEndMessage,
    SamplesMessage,
    TableMessage,
)
from harness.capture.session import unexpected
from harness.capture.wire import ColumnStatus, PassKind
from harness.core.errors import ProtocolError


def contradiction(what: str, **context: int | str) -> ProtocolError:
    """The error of records that do not fit together."""
    return ProtocolError(
        what,
        why="The records of this pass contradict each other or the request.",
        todo="Capture again; if it recurs, build the image with this version of the harness.",
        context={"kind": "contradiction", **context},
    )


@dataclass
class TensorCollector:
    """Tensors that come in chunks, each whole and in order."""

    sizes: tuple[int, ...]
    what: str
    tensors: list[bytes] = field(default_factory=list)
    _current: bytearray = field(default_factory=bytearray)

    def add(self, chunk: ChunkMessage) -> None:
        """Take the next chunk; `ProtocolError` when it is not the one that is due."""
        due = len(self.tensors)
        if due >= len(self.sizes) or chunk.tensor != due:
            raise contradiction(f"{self.what}: tensor {chunk.tensor} came where {due} was due.")
        if chunk.total != self.sizes[due]:
            raise contradiction(f"{self.what}: tensor {due} has {chunk.total} bytes, not {self.sizes[due]}.")
        if chunk.offset != len(self._current):
            raise contradiction(f"{self.what}: a chunk at {chunk.offset} came where {len(self._current)} was due.")
        self._current += chunk.data
        if chunk.last != (len(self._current) == chunk.total) or len(self._current) > chunk.total:
            raise contradiction(f"{self.what}: tensor {due} ends after {len(self._current)} of {chunk.total} bytes.")
        if chunk.last:
            self.tensors.append(bytes(self._current))
            self._current.clear()

    @property
    def complete(self) -> bool:
        """Whether every tensor came."""
        return len(self.tensors) == len(self.sizes)


@dataclass
class PassCollector:
    """Table, samples, observations and end of one window or instrumented pass."""

    pass_id: int
    kind: PassKind
    table: TableMessage | None = None
    observed: dict[str, int] = field(default_factory=dict)
    end: PassEndMessage | None = None
    _words: bytearray = field(default_factory=bytearray)

    def add(self, message: Message) -> None:
        """Take the next record of the pass; `ProtocolError` when it has no place here."""
        if not isinstance(message, TableMessage | SamplesMessage | ObservedMessage | PassEndMessage):
            raise unexpected(message, "record of a pass")
        if message.pass_id != self.pass_id:
            raise contradiction(f"A record of pass {message.pass_id} came in pass {self.pass_id}.")
        if isinstance(message, TableMessage):
            if self.table is not None or message.kind != self.kind:
                raise contradiction(f"Pass {self.pass_id}: a second table, or one of another kind.")
            self.table = message
        elif isinstance(message, SamplesMessage):
            if self.table is None or 4 * message.first_word != len(self._words) or len(message.data) % 4:
                raise contradiction(f"Pass {self.pass_id}: samples at word {message.first_word} are not the next ones.")
            self._words += message.data
        elif isinstance(message, ObservedMessage):
            self.observed.update(message.values)
        else:
            self._finish(message)

    def _finish(self, end: PassEndMessage) -> None:
        if self.table is None or end.kind != self.kind:
            raise contradiction(f"Pass {self.pass_id} ends without a table, or as one of another kind.")
        if 4 * end.sample_words != len(self._words):
            raise contradiction(
                f"Pass {self.pass_id}: {end.sample_words} sample words were sent, {len(self._words) // 4} came."
            )
        if (end.iterations, end.warmup) != (self.table.iterations, self.table.warmup):
            raise contradiction(f"Pass {self.pass_id}: table and end disagree on the iterations.")
        self.end = end

    @property
    def words(self) -> NDArray[np.uint32]:
        """All sample words in order."""
        return np.frombuffer(bytes(self._words), dtype="<u4").astype(np.uint32)


def split_rows(
    words: NDArray[np.uint32], iterations: int, rows: int, columns: tuple[Column, ...]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Samples, and whether each wrapped, both of shape (iterations, rows, counted columns).

    Raises:
        ProtocolError: the words are not that many, or a width is neither 4 nor 8.
    """
    counted = [column for column in columns if column.status == ColumnStatus.OK]
    if any(column.width not in (4, 8) for column in counted):
        raise contradiction("A column is neither 4 nor 8 bytes wide.")
    row_words = sum(column.width // 4 for column in counted) + 1
    due = iterations * rows * row_words
    if words.size != due:
        raise contradiction(f"{words.size} sample words came; {iterations} iterations of {rows} rows take {due}.")
    table = words.reshape(iterations, rows, row_words).astype(np.uint64)
    samples = np.empty((iterations, rows, len(counted)), dtype=np.uint64)
    at = 0
    places = [index for index, column in enumerate(columns) if column.status == ColumnStatus.OK]
    wrapped = np.empty(samples.shape, dtype=np.bool_)
    for index, column in enumerate(counted):
        samples[:, :, index] = table[:, :, at]
        if column.width == 8:
            samples[:, :, index] |= table[:, :, at + 1] << np.uint64(32)
        at += column.width // 4
    for index, place in enumerate(places):
        wrapped[:, :, index] = (table[:, :, at] >> np.uint64(place)) & np.uint64(1) != 0
    return samples, wrapped
