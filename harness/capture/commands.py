"""Commands to the firmware, numbered within a session."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from harness.capture.frames import FLAG_LAST, MAX_PAYLOAD, Frame, encode_frame
from harness.capture.wire import BUSY_LOOP, RESET_STATE, Command, PassKind, Source


@dataclass(frozen=True)
class PassCommand:
    """What a START asks for. `iterations` 0 in a window: as many as fill `target_ms`, between the two limits.

    A window waits `settle_ms` first; `busy_loop` lets it time a loop of known length in place of inferences.
    """

    pass_id: int
    kind: PassKind
    iterations: int
    warmup: int = 0
    target_ms: int = 0
    minimum: int = 0
    maximum: int = 0
    columns: tuple[tuple[Source, int], ...] = ()
    reset: bool = True
    settle_ms: int = 0
    busy_loop: bool = False

    def payload(self) -> bytes:
        """Bytes of the command."""
        flags = (RESET_STATE if self.reset else 0) | (BUSY_LOOP if self.busy_loop else 0)
        head = struct.pack(
            "<IBBIIIIIIB",
            self.pass_id,
            self.kind,
            flags,
            self.iterations,
            self.warmup,
            self.target_ms,
            self.minimum,
            self.maximum,
            self.settle_ms,
            len(self.columns),
        )
        return head + b"".join(struct.pack("<BH", source, number) for source, number in self.columns)


class CommandWriter:
    """Numbers the commands of one session."""

    def __init__(self, nonce: int) -> None:
        self.nonce = nonce
        self._sequence = 1

    def hello(self) -> bytes:
        """The hello, always number 0: repeated, it is the same question. A delimiter first ends what came before."""
        return b"\0" + encode_frame(Frame(Command.HELLO, 0, 0, self.nonce, b""))

    def set_input(self, index: int, data: bytes) -> Iterator[bytes]:
        """An input tensor, in as many frames as it takes."""
        room = MAX_PAYLOAD - 8
        for offset in range(0, max(len(data), 1), room):
            chunk = data[offset : offset + room]
            last = FLAG_LAST if offset + room >= len(data) else 0
            yield self._next(Command.SET_INPUT, struct.pack("<II", index, offset) + chunk, last)

    def start(self, command: PassCommand) -> bytes:
        """Start a window, an instrumented pass, or inferences for their outputs."""
        return self._next(Command.START, command.payload())

    def inspect(self, pass_id: int, *, reset: bool = True) -> bytes:
        """One inference that sends each operator's output."""
        return self._next(Command.INSPECT, struct.pack("<IB", pass_id, RESET_STATE if reset else 0))

    def end(self) -> bytes:
        """Ask for the counts."""
        return self._next(Command.END, b"")

    def _next(self, command: Command, payload: bytes, flags: int = 0) -> bytes:
        frame = Frame(command, flags, self._sequence, self.nonce, payload)
        self._sequence += 1
        return encode_frame(frame)
