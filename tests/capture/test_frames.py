"""Decoder and sequence guard of the Python side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capture.frames import (
    MAX_BYTES,
    MAX_PAYLOAD,
    Damaged,
    Frame,
    FrameDecoder,
    Problem,
    SequenceGuard,
    cobs_decode,
    cobs_encode,
    encode_frame,
)
from harness.core.errors import ProtocolError

word = st.integers(0, 0xFFFFFFFF)
byte = st.integers(0, 255)
frames = st.builds(Frame, byte, byte, word, word, st.binary(max_size=400))


@given(st.binary(max_size=1200))
def test_cobs_round_trip(data: bytes) -> None:
    stuffed = cobs_encode(data)
    assert 0 not in stuffed
    assert cobs_decode(stuffed) == (data, True)


@given(st.lists(frames, max_size=5), st.data())
def test_decoder_does_not_care_how_bytes_are_cut(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    decoder = FrameDecoder()
    got: list[Frame | Damaged] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got.extend(decoder.feed(stream[start:end]))
    assert got == sent
    assert decoder.pending == 0


def test_a_payload_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="2049"):
        encode_frame(Frame(1, 0, 0, 0, bytes(MAX_PAYLOAD + 1)))


def test_bytes_without_a_delimiter_do_not_fill_memory() -> None:
    decoder = FrameDecoder()
    for _ in range(100):
        assert decoder.feed(b"\x55" * 10_000) == []
    assert len(decoder._pending) <= 2 * MAX_BYTES
    assert decoder.feed(b"\0") == [Damaged(Problem.TOO_LONG, 1_000_000)]
    frame = Frame(1, 0, 0, 0, b"after")
    assert decoder.feed(encode_frame(frame)) == [frame]


def frame(sequence: int, nonce: int = 5) -> Frame:
    return Frame(3, 0, sequence, nonce, b"")


@pytest.mark.parametrize(
    ("came", "kind", "says"),
    [
        (frame(4), "lost", "2 frame"),
        (frame(1), "repeated", "again"),
        (frame(2, nonce=6), "stale_nonce", "another session"),
    ],
)
def test_guard_names_what_is_wrong(came: Frame, kind: str, says: str) -> None:
    guard = SequenceGuard(5)
    guard.check(frame(0))
    guard.check(frame(1))
    with pytest.raises(ProtocolError, match=says) as caught:
        guard.check(came)
    assert caught.value.context["kind"] == kind
    assert "frame 1 of type 0x03" in caught.value.why
