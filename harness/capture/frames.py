"""Frame codec: COBS framing, CRC-32, and the order of frames within a session. See docs/wire-protocol.md."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from enum import StrEnum

from harness.core.errors import ProtocolError

MAX_PAYLOAD = 2048
FLAG_LAST = 0x01
_HEADER = struct.Struct("<BBII")
_CRC = struct.Struct("<I")
_MIN_BYTES = _HEADER.size + _CRC.size
MAX_BYTES = _MIN_BYTES + MAX_PAYLOAD
_BLOCK = 254


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: `type` and `flags` are bytes, `sequence` and `nonce` 32-bit."""

    type: int
    flags: int
    sequence: int
    nonce: int
    payload: bytes


class Problem(StrEnum):
    """What is wrong with bytes that end in a delimiter but are no frame."""

    BAD_COBS = "cut inside a block"
    BAD_CRC = "checksum differs"
    TOO_SHORT = "shorter than a frame"
    TOO_LONG = "longer than a frame"


@dataclass(frozen=True, slots=True)
class Damaged:
    """Bytes between two delimiters that are no frame; `size` is how many came."""

    problem: Problem
    size: int


def cobs_encode(data: bytes) -> bytes:
    """Consistent overhead byte stuffing: no zero byte in the result."""
    out = bytearray()
    *ended, last = data.split(b"\0")
    # A full block implies no zero: where one follows, an empty block says so. At the end none follows.
    for run, full in (*((run, _BLOCK) for run in ended), (last, _BLOCK + 1)):
        start = 0
        while len(run) - start >= full:
            out.append(_BLOCK + 1)
            out += run[start : start + _BLOCK]
            start += _BLOCK
        out.append(len(run) - start + 1)
        out += run[start:]
    return bytes(out)


def cobs_decode(data: bytes) -> tuple[bytes, bool]:
    """The bytes that were stuffed, and whether the last block is whole."""
    out = bytearray()
    position, size = 0, len(data)
    while position < size:
        code = data[position]
        end = position + code
        out += data[position + 1 : end]
        if code == 0 or end > size:
            return bytes(out), False
        position = end
        if code <= _BLOCK and position < size:
            out.append(0)
    return bytes(out), True


def encode_frame(frame: Frame) -> bytes:
    """Bytes of a frame on the wire, its delimiter included.

    Raises:
        ValueError: the payload is longer than `MAX_PAYLOAD`.
    """
    if len(frame.payload) > MAX_PAYLOAD:
        raise ValueError(f"payload of {len(frame.payload)} bytes; a frame carries at most {MAX_PAYLOAD}")
    body = _HEADER.pack(frame.type, frame.flags, frame.sequence, frame.nonce) + frame.payload
    return cobs_encode(body + _CRC.pack(zlib.crc32(body))) + b"\0"


def decode_frame(stuffed: bytes) -> Frame | Damaged:
    """Decode what stood before a delimiter."""
    body, whole = cobs_decode(stuffed)
    if len(body) > MAX_BYTES:
        return Damaged(Problem.TOO_LONG, len(stuffed))
    if not whole:
        return Damaged(Problem.BAD_COBS, len(stuffed))
    if len(body) < _MIN_BYTES:
        return Damaged(Problem.TOO_SHORT, len(stuffed))
    content = body[: -_CRC.size]
    if zlib.crc32(content) != _CRC.unpack_from(body, len(content))[0]:
        return Damaged(Problem.BAD_CRC, len(stuffed))
    kind, flags, sequence, nonce = _HEADER.unpack_from(content)
    return Frame(kind, flags, sequence, nonce, content[_HEADER.size :])


class FrameDecoder:
    """Turns bytes, however they are cut, into frames and damaged stretches."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._dropped = 0

    @property
    def pending(self) -> int:
        """Bytes that came since the last delimiter."""
        return len(self._pending) + self._dropped

    def feed(self, data: bytes) -> list[Frame | Damaged]:
        """Take bytes; returns what they completed. Two delimiters in a row are no frame and no damage."""
        *ended, rest = data.split(b"\0")
        out: list[Frame | Damaged] = []
        for part in ended:
            self._append(part)
            out.extend(self._finish())
        self._append(rest)
        return out

    def _append(self, part: bytes) -> None:
        # Bytes that never end in a delimiter must not fill the host's memory.
        room = 2 * MAX_BYTES - len(self._pending)
        self._pending += part[:room]
        self._dropped += max(0, len(part) - room)

    def _finish(self) -> list[Frame | Damaged]:
        size, stuffed = self.pending, bytes(self._pending)
        dropped = self._dropped
        self._pending.clear()
        self._dropped = 0
        if size == 0:
            return []
        return [Damaged(Problem.TOO_LONG, size) if dropped else decode_frame(stuffed)]


@dataclass
class SequenceGuard:
    """Requires the frames of one session to come whole, each once and in order."""

    nonce: int
    expected: int = 0
    last: str = field(default="nothing")

    def check(self, frame: Frame) -> None:
        """Accept the next frame of the session.

        Raises:
            ProtocolError: it is of another session, or frames are missing, repeated or out of order.
        """
        if frame.nonce != self.nonce:
            raise _protocol(
                "stale_nonce",
                f"A frame of another session came: nonce {frame.nonce:#010x}, this session's is {self.nonce:#010x}.",
                frame,
                self.last,
            )
        if frame.sequence > self.expected:
            missing = frame.sequence - self.expected
            raise _protocol("lost", f"{missing} frame(s) are missing before frame {frame.sequence}.", frame, self.last)
        if frame.sequence < self.expected:
            raise _protocol(
                "repeated",
                f"Frame {frame.sequence} came again or out of order; frame {self.expected} was next.",
                frame,
                self.last,
            )
        self.expected += 1
        self.last = f"frame {frame.sequence} of type {frame.type:#04x}"

    def damaged(self, damage: Damaged) -> ProtocolError:
        """The error for bytes that are no frame."""
        return ProtocolError(
            f"{damage.size} bytes are no frame: {damage.problem}.",
            why=f"Last good: {self.last}.",
            todo=_TODO,
            context={"kind": "damaged", "problem": damage.problem.name.lower(), "bytes": damage.size},
        )


_TODO = "Capture again; if it recurs, look at the probe, the cable and the transport's settings."


def _protocol(kind: str, what: str, frame: Frame, last: str) -> ProtocolError:
    return ProtocolError(
        what,
        why=f"Last good: {last}.",
        todo=_TODO,
        context={"kind": kind, "sequence": frame.sequence, "nonce": frame.nonce, "type": frame.type},
    )
