"""Chunks and words put together; what does not fit is refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capture.collect import PassCollector, TensorCollector, split_rows
from harness.capture.frames import Frame
from harness.capture.messages import ChunkMessage, Column, PassEndMessage, SamplesMessage, TableMessage, parse
from harness.capture.wire import PassKind, Record
from harness.core.errors import ProtocolError

COLUMNS = (Column(0, 0, 4, 0, "cycles"), Column(1, 1, 0, 9, "event"), Column(2, 0, 8, 0, "emulator.x"))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_rows_come_back_as_they_were_packed(iterations: int, rows: int, data: st.DataObject) -> None:
    shape = (iterations, rows)
    count = iterations * rows
    cycles = np.array(data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)), dtype=np.uint64)
    wide = np.array(data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=count, max_size=count)), dtype=np.uint64)
    wrapped = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    low, high = wide & np.uint64(0xFFFFFFFF), wide >> np.uint64(32)
    words = np.stack([cycles, low, high, wrapped * 4], axis=1).astype(np.uint32).ravel()
    samples, marks = split_rows(words, iterations, rows, COLUMNS)
    assert np.array_equal(samples[:, :, 0], cycles.reshape(shape))
    assert np.array_equal(samples[:, :, 1], wide.reshape(shape))
    assert not marks[:, :, 0].any()
    assert np.array_equal(marks[:, :, 1], wrapped.reshape(shape))


def test_missing_words_are_refused() -> None:
    with pytest.raises(ProtocolError, match="7 sample words"):
        split_rows(np.zeros(7, dtype=np.uint32), 1, 2, COLUMNS)


def chunk(tensor: int, offset: int, total: int, data: bytes, last: bool) -> ChunkMessage:
    return ChunkMessage(Record.OUTPUT, 1, 0, tensor, offset, total, data, last)


def test_tensor_of_several_chunks() -> None:
    collector = TensorCollector((5, 0), "outputs")
    collector.add(chunk(0, 0, 5, b"abc", False))
    collector.add(chunk(0, 3, 5, b"de", True))
    assert not collector.complete
    collector.add(chunk(1, 0, 0, b"", True))
    assert collector.tensors == [b"abcde", b""]
    assert collector.complete


@pytest.mark.parametrize(
    "wrong",
    [
        chunk(1, 0, 5, b"abcde", True),
        chunk(0, 1, 5, b"abcd", True),
        chunk(0, 0, 6, b"abcde", True),
        chunk(0, 0, 5, b"abc", True),
        chunk(0, 0, 5, b"abcde", False),
    ],
)
def test_chunk_that_does_not_fit_is_refused(wrong: ChunkMessage) -> None:
    with pytest.raises(ProtocolError):
        TensorCollector((5,), "outputs").add(wrong)


def test_pass_that_contradicts_itself_is_refused() -> None:
    def started() -> PassCollector:
        collector = PassCollector(1, PassKind.COUNTERS)
        collector.add(TableMessage(1, PassKind.COUNTERS, 2, 0, 1, COLUMNS))
        collector.add(SamplesMessage(1, 0, bytes(16)))
        return collector

    end = PassEndMessage(1, PassKind.COUNTERS, 2, 0, 1, 4, 0, 0, 0)
    collector = started()
    collector.add(end)
    assert collector.end is end
    for wrong in (
        SamplesMessage(1, 5, bytes(4)),
        SamplesMessage(2, 4, bytes(4)),
        TableMessage(1, PassKind.COUNTERS, 2, 0, 1, COLUMNS),
        PassEndMessage(1, PassKind.COUNTERS, 2, 0, 1, 5, 0, 0, 0),
        PassEndMessage(1, PassKind.COUNTERS, 3, 0, 1, 4, 0, 0, 0),
        PassEndMessage(1, PassKind.WINDOW, 2, 0, 1, 4, 0, 0, 0),
    ):
        with pytest.raises(ProtocolError):
            started().add(wrong)


@given(st.integers(0, 255), st.binary(max_size=200))
def test_any_payload_is_a_record_or_a_protocol_error(kind: int, payload: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        parse(Frame(kind, 0, 0, 0, payload))
