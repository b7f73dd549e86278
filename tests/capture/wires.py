"""Transports for tests: the app as a process of this machine, and wires that spoil what passes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.capture.frames import Damaged, Frame, FrameDecoder, encode_frame
from harness.capture.request import CaptureDeadlines, CaptureRequest, ExpectedImage, WindowRequest

INPUTS = (bytes(i * 7 % 256 for i in range(3000)), bytes(range(10)))
OTHER_INPUTS = (bytes(i * 13 % 256 for i in range(3000)), bytes(10))
EXPECTED = ExpectedImage(
    build_id="00112233445566778899aabbccddeeff",
    board_type="stub",
    model_sha256="abcd" + 60 * "0",
    engine="stub",
    input_bytes=(3000, 10),
    output_bytes=(10,),
    layer_output_bytes=((3000,), (10,), (10,)),
    cpu_clock_hz=25_000_000,
    timing_scope="invoke_only",
    lifecycle="carry",
)
REQUEST = CaptureRequest(
    inputs=INPUTS,
    iterations=7,
    warmup=2,
    window=WindowRequest("fixed"),
    inference_inputs=(INPUTS, OTHER_INPUTS),
    inspect=(OTHER_INPUTS,),
)
SHORT = CaptureDeadlines(3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0)
PATIENT = CaptureDeadlines(20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0)


def stub_layers(inputs: tuple[bytes, ...]) -> tuple[bytes, bytes, bytes]:
    """What the stub engine's three layers compute."""
    first, second = inputs
    added = bytes((value + 1) % 256 for value in first)
    sums = bytes((second[i] + sum(added[i::10])) % 256 for i in range(10))
    return added, sums, bytes(-value % 256 for value in sums)


class ProcessWire:
    """The host firmware behind pipes."""

    name = "process"

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def read(self, max_bytes: int = 65536) -> bytes:
        try:
            return os.read(self._out, max_bytes)
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> int:
        try:
            return os.write(self._in, data[:512])
        except (BlockingIOError, BrokenPipeError):
            return 0

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@contextmanager
def wire(program: Path) -> Iterator[ProcessWire]:
    """A fresh boot."""
    connection = ProcessWire(program)
    try:
        yield connection
    finally:
        connection.close()


class SpoiledWire:
    """Passes on what `spoil` makes of each frame from the target, given its number on this wire."""

    name = "spoiled"

    def __init__(self, inner: ProcessWire, spoil: Callable[[int, Frame], list[bytes]]) -> None:
        self._inner = inner
        self._spoil = spoil
        self._decoder = FrameDecoder()
        self._number = 0

    def read(self, max_bytes: int = 65536) -> bytes:
        out = b""
        for item in self._decoder.feed(self._inner.read(max_bytes)):
            assert not isinstance(item, Damaged)
            out += b"".join(self._spoil(self._number, item))
            self._number += 1
        return out

    def write(self, data: bytes) -> int:
        return self._inner.write(data)

    def close(self) -> None:
        self._inner.close()


def whole(frame: Frame) -> list[bytes]:
    """The frame as it is."""
    return [encode_frame(frame)]
