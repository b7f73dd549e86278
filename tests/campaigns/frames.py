"""Random and mutated frames through both codecs: the C one under sanitizers, the Python one on the same bytes.

Arguments: how many frames (default 10 million), the seed (default 1). The C program knows what it sent, so a frame that
comes out of damaged bytes as another one is found whatever its checksum says; the Python codec must see what the C
codec sees, frame by frame and error by error, and write undamaged frames as the same bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from struct import Struct
from typing import IO

from harness.capture.frames import Damaged, Frame, FrameDecoder, Problem, encode_frame
from tests.firmware.host_build import host_program

FRAMES = 10_000_000
RESULT = Struct("<BBBIIII")
OK, OK_DAMAGED = 1, 0x81
STATUS = {Problem.BAD_COBS: 2, Problem.BAD_CRC: 3, Problem.TOO_SHORT: 4, Problem.TOO_LONG: 5}


def batches(stream: IO[bytes]) -> Iterator[tuple[bytes, list[tuple[int, ...]]]]:
    """Wire bytes and what the C codec made of them."""
    sizes = Struct("<II")
    while head := stream.read(sizes.size):
        wire, results = sizes.unpack(head)
        yield stream.read(wire), list(RESULT.iter_unpack(stream.read(results)))


def result_of(item: Frame | Damaged) -> tuple[int, ...]:
    """A result of the Python codec in the C program's form, without bit 7."""
    if isinstance(item, Damaged):
        return STATUS[item.problem], 0, 0, 0, 0, 0, 0
    crc = zlib.crc32(item.payload)
    return OK, item.type, item.flags, item.sequence, item.nonce, len(item.payload), crc


class CrossCheck:
    """The Python codec beside the C codec's answers."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.disagreements = 0
        self.encoded = 0
        self._decoder = FrameDecoder()

    def check(self, wire: bytes, answers: list[tuple[int, ...]]) -> None:
        """One batch, which begins and ends between frames."""
        items = self._decoder.feed(wire)
        found = [result_of(item) for item in items]
        expected = [(answer[0] & 0x7F, *answer[1:]) for answer in answers]
        if found != expected:
            self.disagreements += 1 + sum(a != b for a, b in zip(found, expected, strict=False))
        self.statuses.update(answer[0] for answer in answers)
        pieces = [piece for piece in wire.split(b"\0") if piece]
        for item, answer, piece in zip(items, answers, pieces, strict=False):
            if answer[0] == OK and isinstance(item, Frame):
                self.encoded += 1
                self.disagreements += encode_frame(item) != piece + b"\0"


def main(arguments: list[str]) -> int:
    """Run the campaign; returns the exit status."""
    frames = int(arguments[0]) if arguments else FRAMES
    seed = arguments[1] if len(arguments) > 1 else "1"
    started = time.monotonic()
    check = CrossCheck()
    command = [str(host_program("codec_fuzz.c")), str(frames), seed, "stream"]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            for wire, answers in batches(process.stdout):
                check.check(wire, answers)
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip()
    whole, again = check.statuses[OK], check.statuses[OK_DAMAGED]
    refused = sum(check.statuses.values()) - whole - again
    print(f"C codec under sanitizers: status {process.returncode}, {said}")
    print(f"frames {frames}, whole {whole}, whole although bytes around them were damaged {again}, refused {refused}")
    for problem, status in STATUS.items():
        print(f"    {problem:24} {check.statuses[status]}")
    print(f"the codecs disagree on {check.disagreements}; {check.encoded} encoded again by the Python codec")
    print(f"{time.monotonic() - started:.0f} s")
    return 0 if process.returncode == 0 and check.disagreements == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
