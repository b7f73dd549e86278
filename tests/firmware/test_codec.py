"""The C codec: shared vectors, agreement with the Python codec on arbitrary bytes, fuzzing under sanitizers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.capture.frames import Damaged, Frame, FrameDecoder, encode_frame
from tests.firmware.host_build import host_program

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "frame_vectors.json").read_text())
STATUS = {2: "BAD_COBS", 3: "BAD_CRC", 4: "TOO_SHORT", 5: "TOO_LONG"}


class Codec:
    """The C codec behind a pipe."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [host_program("codec_vectors.c")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _hear(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the codec ended"
        return line.rstrip("\n")

    def encode(self, frame: Frame) -> bytes:
        self._say(f"e {frame.type} {frame.flags} {frame.sequence} {frame.nonce} {frame.payload.hex()}")
        return bytes.fromhex(self._hear())

    def decode(self, wire: bytes) -> list[Frame | str]:
        self._say(f"d {wire.hex()}")
        out: list[Frame | str] = []
        while (line := self._hear()) != ".":
            kind, *rest = line.split(" ")
            if kind == "bad":
                out.append(STATUS[int(rest[0])])
            else:
                out.append(Frame(*map(int, rest[:4]), bytes.fromhex(rest[4])))
        return out


@pytest.fixture(scope="module")
def codec() -> Iterator[Codec]:
    codec = Codec()
    yield codec
    assert codec.process.stdin is not None
    codec.process.stdin.close()
    assert codec.process.wait(10) == 0


def python_decode(wire: bytes) -> list[Frame | str]:
    return [item.problem.name if isinstance(item, Damaged) else item for item in FrameDecoder().feed(wire)]


def frame_of(vector: dict[str, Any]) -> Frame:
    return Frame(vector["type"], vector["flags"], vector["sequence"], vector["nonce"], bytes.fromhex(vector["payload"]))


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda v: v["name"])
def test_good_vectors(codec: Codec, vector: dict[str, Any]) -> None:
    frame, wire = frame_of(vector), bytes.fromhex(vector["wire"])
    assert codec.encode(frame) == wire == encode_frame(frame)
    assert codec.decode(wire) == [frame] == python_decode(wire)


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=lambda v: v["name"])
def test_bad_vectors(codec: Codec, vector: dict[str, Any]) -> None:
    wire = bytes.fromhex(vector["wire"])
    assert codec.decode(wire) == [vector["problem"]] == python_decode(wire)


word = st.integers(0, 0xFFFFFFFF)
byte = st.integers(0, 255)
# Runs without a zero around the length of a block, which plain binary data hardly ever has.
runs = st.sampled_from([0, 1, 100, 243, 244, 245, 253, 254, 255, 507, 508, 509]).map(lambda size: b"\x55" * size)
payloads = st.one_of(st.binary(max_size=2048), st.lists(runs, max_size=4).map(b"\0".join).map(lambda b: b[:2048]))
frames = st.builds(Frame, byte, byte, word, word, payloads)


@settings(max_examples=150, deadline=None)
@given(frames)
def test_codecs_write_the_same_bytes(codec: Codec, frame: Frame) -> None:
    wire = codec.encode(frame)
    assert wire == encode_frame(frame)
    assert codec.decode(wire) == [frame]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), st.builds(encode_frame, frames)), max_size=6), st.data())
def test_codecs_agree_on_any_bytes(codec: Codec, pieces: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(b"\0".join(pieces))
    for _ in range(data.draw(st.integers(0, 4)) if wire else 0):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(byte)
    assert codec.decode(bytes(wire)) == python_decode(bytes(wire))


def test_fuzz_under_sanitizers() -> None:
    """Set HARNESS_FUZZ_ROUNDS for a longer campaign."""
    rounds = os.environ.get("HARNESS_FUZZ_ROUNDS", "300000")
    done = subprocess.run([host_program("codec_fuzz.c"), rounds, "20260101"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert int(words[1]) == int(rounds)
    assert int(words[3]) > int(rounds) // 10, "too few whole frames: the fuzzer damages everything"
    assert int(words[5]) > int(rounds) // 2, "too few damaged frames were refused"
