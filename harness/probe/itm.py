"""Trace packets of the Instrumentation Trace Macrocell, decoded from raw SWO bytes.

Packet formats as in the Armv7-M and Armv8-M architecture reference manuals, appendix on debug packets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OVERFLOW = 0x70
SYNC_ZEROS = 5
"""A synchronisation packet is at least 47 zero bits and a one: five zero bytes or more, then 0x80."""
_SYNC = b"\0" * SYNC_ZEROS + b"\x80"
_SIZES = (0, 1, 2, 4)
_TIMESTAMPS = frozenset({*range(0x10, 0x70, 0x10), *range(0xC0, 0x100, 0x10), 0x94, 0xB4})
"""Local timestamps of one byte and of several, global timestamps."""


@dataclass
class ItmCounts:
    """What was met beside the payload of the port asked for.

    Attributes:
        syncs: synchronisation packets.
        errors: bytes that begin no packet, and packets that a synchronisation packet interrupts.
        overflows: times the target, or the probe, had to drop packets.
        other: packets of other ports, hardware packets and timestamps.
    """

    syncs: int = 0
    errors: int = 0
    overflows: int = 0
    other: int = 0

    def __str__(self) -> str:
        return (
            f"{self.syncs} synchronisations, {self.errors} errors, {self.overflows} overflows, "
            f"{self.other} other packets"
        )


class ItmDecoder:
    """Takes raw bytes, however they are cut; gives the bytes that one stimulus port carried.

    Nothing is held back: a byte of payload is handed out with the byte that carried it. After damage, decoding goes on
    with the next byte, and a synchronisation packet sets it right wherever it stands.
    """

    def __init__(self, port: int = 0) -> None:
        self.counts = ItmCounts()
        self._port = port
        self._zeros = 0
        self._idle_zeros = 0
        self._left = 0
        self._ours = False
        self._continued = False
        header = re.escape(bytes([port << 3 | 3]))
        self._words = re.compile(b"(?:" + header + b"[\\s\\S]{4})+")

    def feed(self, data: bytes) -> bytes:
        """Take raw bytes; returns the payload they completed."""
        out = bytearray()
        position, size = 0, len(data)
        while position < size:
            if self._left == 0 and not self._continued and self._zeros == 0:
                run = self._words.match(data, position)
                # The fast way, unless damage moved a synchronisation into what looks like packets.
                if run is not None and _SYNC not in run[0]:
                    out += _payload(run[0])
                    position = run.end()
                    self._zeros = len(run[0]) - len(run[0].rstrip(b"\0"))
                    continue
            self._byte(data[position], out)
            position += 1
        return bytes(out)

    def _byte(self, byte: int, out: bytearray) -> None:
        zeros, self._zeros = self._zeros, self._zeros + 1 if byte == 0 else 0
        if byte == _SYNC[-1] and zeros >= SYNC_ZEROS:
            self.counts.syncs += 1
            # Some of its zeros were taken for payload: the packet before it was cut.
            self.counts.errors += self._idle_zeros < SYNC_ZEROS
            self._left, self._idle_zeros, self._continued = 0, 0, False
        elif self._left:
            self._left -= 1
            if self._ours:
                out.append(byte)
        elif self._continued:
            self._continued = byte >= 0x80
        elif byte == 0:
            self._idle_zeros += 1
        else:
            self.counts.errors += self._idle_zeros != 0
            self._idle_zeros = 0
            self._header(byte)

    def _header(self, byte: int) -> None:
        size = _SIZES[byte & 3]
        if size:
            self._left = size
            self._ours = byte & 4 == 0 and byte >> 3 == self._port
            self.counts.other += not self._ours
        elif byte == OVERFLOW:
            self.counts.overflows += 1
        elif byte in _TIMESTAMPS or byte & 0x0B == 0x08:
            # Timestamps and extensions go on as long as bit 7 is set.
            self.counts.other += 1
            self._continued = byte >= 0x80
        else:
            self.counts.errors += 1


def _payload(words: bytes) -> bytes:
    """What packets of four bytes each carry, five bytes a packet."""
    out = bytearray(len(words) // 5 * 4)
    for place in range(4):
        out[place::4] = words[place + 1 :: 5]
    return bytes(out)
