"""Frames dropped, repeated, swapped, cut, flipped, or of another session: never a wrong result."""

from __future__ import annotations

import random

import pytest

from harness.capture.conversation import capture
from harness.capture.frames import Damaged, Frame, FrameDecoder, encode_frame
from harness.capture.record import Capture
from harness.capture.request import CaptureDeadlines
from harness.core.errors import CaptureError, DeadlineError, ProtocolError
from tests.capture.wires import EXPECTED, PATIENT, REQUEST, SHORT, ProcessWire, SpoiledWire, whole, wire
from tests.firmware.host_build import host_firmware

NONCE = 0x1234_5678


def spoiled(spoil_kind: str, at: int, deadlines: CaptureDeadlines) -> Capture:
    kept: list[bytes] = []

    def spoil(number: int, frame: Frame) -> list[bytes]:
        sent = encode_frame(frame)
        if kept and number == at + 1:
            return [sent, kept.pop()]
        if number != at:
            return [sent]
        if spoil_kind == "drop":
            return []
        if spoil_kind == "repeat":
            return [sent, sent]
        if spoil_kind == "swap":
            kept.append(sent)
            return []
        if spoil_kind == "cut":
            return [sent[: len(sent) // 2] + b"\0"]
        if spoil_kind == "flip":
            place = random.Random(at).randrange(len(sent) - 1)
            flipped = sent[place] ^ 0x10 or 0x55
            return [sent[:place] + bytes([flipped]) + sent[place + 1 :]]
        if spoil_kind == "stale":
            return [encode_frame(Frame(frame.type, frame.flags, frame.sequence, NONCE - 1, frame.payload))]
        assert spoil_kind == "renumber"
        return [encode_frame(Frame(frame.type, frame.flags, frame.sequence + 1, frame.nonce, frame.payload))]

    with wire(host_firmware()) as board:
        return capture(SpoiledWire(board, spoil), EXPECTED, REQUEST, deadlines, nonce=NONCE)


@pytest.fixture(scope="module")
def frame_count() -> int:
    with wire(host_firmware()) as board:
        raw = capture(board, EXPECTED, REQUEST, PATIENT, nonce=NONCE).raw
    frames = FrameDecoder().feed(raw)
    assert not any(isinstance(item, Damaged) for item in frames)
    return len(frames)


@pytest.mark.parametrize("where", [0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("kind", ["repeat", "cut", "flip", "stale", "renumber"])
def test_damage_is_a_protocol_error(kind: str, where: float, frame_count: int) -> None:
    with pytest.raises(ProtocolError) as caught:
        spoiled(kind, round(where * frame_count), PATIENT)
    assert caught.value.context["kind"] in {"damaged", "repeated", "stale_nonce", "lost"}


@pytest.mark.parametrize("where", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("kind", ["drop", "swap"])
def test_loss_is_seen_with_the_next_frame_or_by_its_silence(kind: str, where: float, frame_count: int) -> None:
    with pytest.raises((ProtocolError, DeadlineError)):
        spoiled(kind, round(where * frame_count), SHORT)


def test_lost_end_is_no_capture(frame_count: int) -> None:
    with pytest.raises(DeadlineError) as caught:
        spoiled("drop", frame_count - 1, SHORT)
    assert caught.value.context["awaiting"] == "the firmware's end record"


def test_cut_stream_names_the_unfinished_frame(frame_count: int) -> None:
    at = frame_count - 3

    def spoil(number: int, frame: Frame) -> list[bytes]:
        if number < at:
            return whole(frame)
        return [encode_frame(frame)[:9]] if number == at else []

    with wire(host_firmware()) as board, pytest.raises(CaptureError, match="unfinished frame"):
        capture(SpoiledWire(board, spoil), EXPECTED, REQUEST, SHORT, nonce=NONCE)


@pytest.mark.parametrize("kind", ["repeat", "flip", "drop", "stale"])
@pytest.mark.parametrize("at", [1, 3, 6])
def test_damaged_command_is_a_protocol_error_or_is_missed(kind: str, at: int) -> None:
    class Spoiling(ProcessWire):
        number = 0

        def write(self, data: bytes) -> int:
            assert data.endswith(b"\0"), "whole frames fit into the pipe"
            (frame,) = FrameDecoder().feed(data)
            assert isinstance(frame, Frame)
            damaged = {
                "repeat": data + data,
                "flip": data[:3] + bytes([data[3] ^ 0x20]) + data[4:],
                "drop": b"",
                "stale": encode_frame(Frame(frame.type, frame.flags, frame.sequence, NONCE - 1, frame.payload)),
            }
            out = damaged[kind] if self.number == at else data
            self.number += 1
            while out:
                out = out[super().write(out) :]
            return len(data)

    board = Spoiling(host_firmware())
    try:
        with pytest.raises((ProtocolError, DeadlineError)) as caught:
            capture(board, EXPECTED, REQUEST, SHORT, nonce=NONCE)
    finally:
        board.close()
    if kind != "drop":
        assert caught.value.context["kind"] == "command"
