"""One session with the firmware: bytes in and out, order and damage checked, faults told apart, every wait bounded."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from harness.capture.commands import CommandWriter
from harness.capture.frames import Damaged, Frame, FrameDecoder, SequenceGuard
from harness.capture.messages import BootMessage, ErrorMessage, FaultMessage, HelloMessage, LogMessage, Message, parse
from harness.capture.reports import firmware_error, report_error
from harness.capture.wire import Record
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError, ProtocolError

WATCH_SECONDS = 0.05
"""After this long a silence the target itself is looked at."""
HELLO_REPEAT_SECONDS = 0.25
GARBAGE_LIMIT = 256 * 1024
"""Bytes that are no frame before the hello: more than any buffer of an earlier boot holds."""
FAULT_GRACE_SECONDS = 0.2
EARLY_FAULT_SECONDS = 0.5
STALL_SECONDS = 0.25
"""A silence in the middle of a frame that is worth an event; the firmware never pauses there."""
_NAP_SECONDS = (0.0002, 0.002)
_COMMAND_BIT = 0x80

M = TypeVar("M", bound=Message)


class Transport(Protocol):
    """Carries bytes off the target and back. Nothing here waits."""

    name: str

    def read(self, max_bytes: int = 65536) -> bytes:
        """Bytes that have come; empty when none have."""
        ...

    def write(self, data: bytes) -> int:
        """Hand over bytes; returns how many were taken, possibly 0."""
        ...

    def close(self) -> None:
        """Stop. May be called more than once."""
        ...


class Session:
    """Talks to one boot of one image under one nonce.

    Args:
        transport: where bytes come from and go to.
        nonce: of this session; not 0.
        watch: called after a silence; raises a typed error when the target is halted, faulted or gone.
        where: board, for errors.
        tap: told every byte that comes, as it comes.
    """

    def __init__(
        self,
        transport: Transport,
        nonce: int,
        watch: Callable[[], None],
        where: str,
        tap: Callable[[bytes], None] = lambda data: None,
    ) -> None:
        self.commands = CommandWriter(nonce)
        self.raw = bytearray()
        self.log: list[str] = []
        self.events: list[str] = []
        self.counts: Counter[int] = Counter()
        self._transport = transport
        self._watch = watch
        self._where = where
        self._tap = tap
        self._decoder = FrameDecoder()
        self._guard = SequenceGuard(nonce)
        self._items: deque[Frame | Damaged] = deque()
        self._greeted = False
        self._early_fault: FaultMessage | None = None
        self._early_fault_at = 0.0
        self._stale = 0
        self._boots = 0
        self._garbage = 0
        self._echoes = 0
        self._heard_at = 0.0

    def deadline(self, seconds: float, awaiting: str) -> Deadline:
        """A deadline that names this session's board."""
        return Deadline(seconds, awaiting, self._where)

    @property
    def last_heard(self) -> str:
        """What came last, for errors."""
        if self._decoder.pending:
            return f"{self._guard.last}, then {self._decoder.pending} bytes of an unfinished frame"
        if not self._greeted and self._garbage:
            return f"{self._garbage} bytes that are no frames"
        if not self._greeted and self._stale:
            return f"{self._stale} frames of an earlier session"
        return self._guard.last

    def greet(self, deadline: Deadline) -> HelloMessage:
        """Say the nonce until the firmware answers with it; what an earlier boot left behind is passed over.

        Raises:
            DeadlineError: no answer.
            ProtocolError: what comes is no frames.
            HardFaultError: the firmware faulted before it could answer.
        """
        hello = self.commands.hello()
        said = 0.0
        while True:
            if time.monotonic() - said >= HELLO_REPEAT_SECONDS:
                self.send([hello], deadline)
                said = time.monotonic()
            frame = self._hello_frame()
            if frame is not None:
                return self._accept_hello(frame)
            if self._garbage > GARBAGE_LIMIT:
                raise self._garbage_error()
            if deadline.expired or self._fault_stands():
                raise self._silence(deadline)
            self._fill(deadline, min(HELLO_REPEAT_SECONDS, deadline.remaining()))

    def send(self, frames: Iterable[bytes], deadline: Deadline) -> None:
        """Hand over commands, waiting while the target's buffer is full."""
        for frame in frames:
            rest = frame
            nap = _NAP_SECONDS[0]
            quiet_since = time.monotonic()
            while rest:
                taken = self._transport.write(rest)
                rest = rest[taken:]
                if taken or not rest:
                    nap, quiet_since = _NAP_SECONDS[0], time.monotonic()
                    continue
                if time.monotonic() - quiet_since > WATCH_SECONDS:
                    self._read()
                    self._look()
                    quiet_since = time.monotonic()
                deadline.check(f"the target takes no commands; {self.last_heard}")
                time.sleep(nap)
                nap = min(2 * nap, _NAP_SECONDS[1])

    def receive(self, deadline: Deadline) -> Message:
        """The next record, log lines aside.

        Raises:
            DeadlineError: none came.
            ProtocolError: frames are damaged, lost, repeated, out of order, or of another session.
            HardFaultError, FirmwareError: the firmware reports a fault or an error.
            HarnessError: what `watch` raises.
        """
        while True:
            while not self._items:
                deadline.check(self.last_heard)
                self._fill(deadline, deadline.remaining())
            message = self._accept(self._items.popleft())
            if message is not None:
                return message

    def expect(self, kind: type[M], deadline: Deadline) -> M:
        """The next record, which must be of a kind."""
        message = self.receive(deadline)
        if not isinstance(message, kind):
            raise unexpected(message, kind.__name__)
        return message

    def close_books(self, counts: dict[int, int]) -> None:
        """Compare the firmware's counts with what came.

        Raises:
            ProtocolError: they differ.
        """
        came = {kind: count for kind, count in self.counts.items() if kind != Record.END}
        if came != counts:
            names = {kind: (counts.get(kind, 0), came.get(kind, 0)) for kind in {*counts, *came}}
            wrong = [f"{_name(kind)}: {sent} sent, {got} came" for kind, (sent, got) in names.items() if sent != got]
            raise ProtocolError(
                "The firmware counted other records than came.",
                why="; ".join(sorted(wrong)) + ".",
                todo="Capture again.",
                context={"kind": "counts"},
            )
        if self._echoes:
            self.events.append(f"{self._echoes} of our own commands came back and were ignored")

    def _hello_frame(self) -> Frame | None:
        while self._items:
            item = self._items.popleft()
            if isinstance(item, Damaged):
                self._garbage += item.size
            elif item.type & _COMMAND_BIT:
                self._echoes += 1
            elif item.nonce == self.commands.nonce and item.type == Record.HELLO and item.sequence == 0:
                return item
            elif item.type == Record.BOOT and item.nonce == 0:
                self._boots += 1
            elif item.type == Record.FAULT and item.nonce == 0:
                message = parse(item)
                assert isinstance(message, FaultMessage)
                self._early_fault, self._early_fault_at = message, time.monotonic()
            else:
                self._stale += 1
        return None

    def _accept_hello(self, frame: Frame) -> HelloMessage:
        self._greeted = True
        if self._garbage:
            self.events.append(f"{self._garbage} bytes before the hello were no frames and were passed over")
        if self._boots > 1:
            self.events.append(f"the firmware booted {self._boots} times before it answered")
        if self._stale:
            self.events.append(f"{self._stale} frames of an earlier session were passed over")
        self._guard.check(frame)
        self.counts[frame.type] += 1
        message = parse(frame)
        assert isinstance(message, HelloMessage)
        return message

    def _fault_stands(self) -> bool:
        """Whether a fault was reported before the hello and the boot did not go on: then it is of this boot."""
        return self._early_fault is not None and time.monotonic() - self._early_fault_at > EARLY_FAULT_SECONDS

    def _silence(self, deadline: Deadline) -> HarnessError:
        if self._early_fault is not None:
            return report_error(self._early_fault, self._where, self.last_heard)
        garbage = self._garbage + self._decoder.pending
        return self._garbage_error() if garbage else deadline.error(self.last_heard)

    def _garbage_error(self) -> ProtocolError:
        size = self._garbage + self._decoder.pending
        return ProtocolError(
            f"The target sends what is no frames: {size} bytes without a hello.",
            why=f"Board {self._where}: another firmware runs, or the transport is misconfigured.",
            todo="Flash the image again; check the transport's settings.",
            context={"kind": "garbage", "bytes": size},
        )

    def _accept(self, item: Frame | Damaged) -> Message | None:
        if isinstance(item, Frame) and item.type & _COMMAND_BIT and item.nonce == self.commands.nonce:
            self._echoes += 1
            return None
        try:
            if isinstance(item, Damaged):
                raise self._guard.damaged(item)
            self._guard.check(item)
        except ProtocolError:
            report = self._coming_report(item)
            if report is None:
                raise
            raise report_error(report, self._where, self.last_heard) from None
        self.counts[item.type] += 1
        return self._dispatch(parse(item))

    def _dispatch(self, message: Message) -> Message | None:
        if isinstance(message, LogMessage):
            self.log.append(message.text)
            return None
        if isinstance(message, FaultMessage | BootMessage):
            raise report_error(message, self._where, self.last_heard)
        if isinstance(message, ErrorMessage):
            raise firmware_error(message, self._where)
        return message

    def _coming_report(self, item: Frame | Damaged) -> FaultMessage | BootMessage | None:
        """A fault or a reset in the middle of a frame damages that frame: look whether its report follows."""
        deadline = Deadline(FAULT_GRACE_SECONDS, "a fault report")
        pending: list[Frame | Damaged] = [item]
        while True:
            pending.extend(self._items)
            self._items.clear()
            for candidate in pending:
                if self._is_report(candidate):
                    assert isinstance(candidate, Frame)
                    message = parse(candidate)
                    return message if isinstance(message, FaultMessage | BootMessage) else None
            pending.clear()
            if deadline.expired or not self._read():
                if deadline.expired:
                    return None
                time.sleep(_NAP_SECONDS[1])

    def _is_report(self, item: Frame | Damaged) -> bool:
        if not isinstance(item, Frame):
            return False
        return (item.type == Record.FAULT and item.nonce in (0, self.commands.nonce)) or (
            item.type == Record.BOOT and item.nonce == 0
        )

    def _read(self) -> bool:
        data = self._transport.read()
        if not data:
            return False
        now = time.monotonic()
        if self._decoder.pending and now - self._heard_at > STALL_SECONDS:
            self.events.append(
                f"stalled for {now - self._heard_at:.2f} s in the middle of a frame, after {self._guard.last}"
            )
        self._heard_at = now
        self.raw += data
        self._tap(data)
        self._items.extend(self._decoder.feed(data))
        return True

    def _fill(self, deadline: Deadline, seconds: float) -> None:
        """Read until something is complete, looking at the target after each silence; at most `seconds`."""
        until = time.monotonic() + seconds
        nap = _NAP_SECONDS[0]
        quiet_since = time.monotonic()
        while not self._items:
            if self._read():
                nap, quiet_since = _NAP_SECONDS[0], time.monotonic()
                continue
            now = time.monotonic()
            if now - quiet_since >= WATCH_SECONDS:
                self._look()
                quiet_since = time.monotonic()
            if now >= until or deadline.expired:
                return
            time.sleep(nap)
            nap = min(2 * nap, _NAP_SECONDS[1])

    def _look(self) -> None:
        """Look at the target; what it still said before it stopped comes first."""
        try:
            self._watch()
        except HarnessError:
            while self._read():
                pass
            if not any(self._is_report(item) for item in self._items):
                raise


def unexpected(message: Message, wanted: str) -> ProtocolError:
    """The error of a record that has no place here."""
    return ProtocolError(
        f"A {type(message).__name__} came where a {wanted} was due.",
        why="Firmware and host do not agree on the conversation.",
        todo="Build the image with this version of the harness.",
        context={"kind": "unexpected", "got": type(message).__name__, "wanted": wanted},
    )


def _name(kind: int) -> str:
    return Record(kind).name if kind in list(Record) else f"{kind:#04x}"
