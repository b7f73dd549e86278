"""Typed records of the wire protocol: payload bytes in, frozen dataclasses out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.capture.frames import FLAG_LAST, Frame
from harness.capture.wire import ERROR_NAMES, Record
from harness.core.errors import ProtocolError


@dataclass(frozen=True)
class HelloMessage:
    """The firmware's answer to a nonce; integers as sent."""

    protocol_version: int
    engine_abi: int
    engine_code: int
    cpu_clock_hz: int
    window_clock_hz: int
    timing_scope: int
    lifecycle: int
    arena_bytes: int
    op_count: int
    sample_words: int
    max_payload: int
    max_columns: int
    model_sha256: bytes
    build_id: str
    board_type: str
    engine: str
    engine_version: str
    window_clock: str
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    self_test: Mapping[str, int]


@dataclass(frozen=True)
class LayerMessage:
    """One operator, in execution order; `output_bytes` of each of its outputs."""

    index: int
    source_index: int
    name: str
    output_bytes: tuple[int, ...]


@dataclass(frozen=True)
class LogMessage:
    """A line for people."""

    text: str


@dataclass(frozen=True)
class InputSetMessage:
    """An input is complete on the target; `crc32` of what lies there."""

    index: int
    size: int
    crc32: int


@dataclass(frozen=True)
class Column:
    """One column of a table: `width` bytes a value, 0 when it is not counted."""

    source: int
    status: int
    width: int
    id: int
    name: str


@dataclass(frozen=True)
class TableMessage:
    """Shape of the samples that follow: iterations x rows x counted columns, then an overflow word a row."""

    pass_id: int
    kind: int
    iterations: int
    warmup: int
    rows: int
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class SamplesMessage:
    """A stretch of a pass' samples: little-endian 32-bit words from `first_word` on."""

    pass_id: int
    first_word: int
    data: bytes


@dataclass(frozen=True)
class ObservedMessage:
    """Totals over a window of what only an emulator knows."""

    pass_id: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class ChunkMessage:
    """A stretch of a tensor. `unit` is the inference (OUTPUT) or the layer (LAYER_OUTPUT)."""

    kind: Record
    pass_id: int
    unit: int
    tensor: int
    offset: int
    total: int
    data: bytes
    last: bool


@dataclass(frozen=True)
class PassEndMessage:
    """A pass is over: what was run, and the CRC-32 of the outputs as the last inference left them."""

    pass_id: int
    kind: int
    iterations: int
    warmup: int
    segments: int
    sample_words: int
    ticks: int
    warm_ticks: int
    outputs_crc32: int
    settle_ticks: int = 0


@dataclass(frozen=True)
class ErrorMessage:
    """The firmware refuses or fails."""

    code: int
    detail: int
    text: str

    @property
    def name(self) -> str:
        """Name of the code."""
        return ERROR_NAMES.get(self.code, f"code {self.code}")


@dataclass(frozen=True)
class FaultMessage:
    """Registers at a fault, and words from the stack pointer upwards."""

    registers: Mapping[str, int]
    stack: tuple[int, ...]


@dataclass(frozen=True)
class BootMessage:
    """The firmware has just booted; `cause` is the chip's word on its last reset, 0 where it has none."""

    cause: int


@dataclass(frozen=True)
class EndMessage:
    """How many records of each kind the session sent before this one."""

    counts: Mapping[int, int]


Message = (
    HelloMessage
    | LayerMessage
    | LogMessage
    | InputSetMessage
    | TableMessage
    | SamplesMessage
    | ObservedMessage
    | ChunkMessage
    | PassEndMessage
    | ErrorMessage
    | FaultMessage
    | EndMessage
    | BootMessage
)

FAULT_REGISTERS = (
    *(f"r{index}" for index in range(13)),
    *("sp", "lr", "pc", "xpsr", "exc_return", "exception", "cfsr", "hfsr", "mmfar", "bfar"),
)


class _Short(Exception):
    """A payload ends before its fields do."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise _Short
        piece = self._data[self._at : self._at + size]
        self._at += size
        return piece

    def u8(self) -> int:
        return self._take(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self._take(2), "little")

    def u32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def i32(self) -> int:
        return int.from_bytes(self._take(4), "little", signed=True)

    def u64(self) -> int:
        return int.from_bytes(self._take(8), "little")

    def text(self) -> str:
        return self._take(self.u8()).decode("utf-8", "replace")

    def raw(self, size: int) -> bytes:
        return self._take(size)

    def sizes(self) -> tuple[int, ...]:
        return tuple(self.u32() for _ in range(self.u8()))

    def rest(self) -> bytes:
        return self._take(len(self._data) - self._at)

    @property
    def done(self) -> bool:
        return self._at == len(self._data)


def parse(frame: Frame) -> Message:
    """The record a frame carries.

    Raises:
        ProtocolError: an unknown type, or a payload that is not of its form.
    """
    try:
        kind = Record(frame.type)
        reader = _Reader(frame.payload)
        message = _PARSERS[kind](reader, frame)
        if not reader.done:
            raise _Short
    except ValueError:
        raise ProtocolError(
            f"A record of the unknown type {frame.type:#04x} came.",
            why="The firmware speaks another version of the protocol.",
            todo="Build the image with this version of the harness.",
            context={"kind": "unknown_type", "type": frame.type},
        ) from None
    except _Short:
        raise ProtocolError(
            f"The payload of a record {Record(frame.type).name} is not of its form ({len(frame.payload)} bytes).",
            why="The firmware speaks another version of the protocol.",
            todo="Build the image with this version of the harness.",
            context={"kind": "bad_payload", "type": frame.type},
        ) from None
    return message


def _hello(r: _Reader, _: Frame) -> HelloMessage:
    return HelloMessage(
        protocol_version=r.u16(),
        engine_abi=r.u16(),
        engine_code=r.i32(),
        cpu_clock_hz=r.u32(),
        window_clock_hz=r.u32(),
        timing_scope=r.u8(),
        lifecycle=r.u8(),
        arena_bytes=r.u32(),
        op_count=r.u32(),
        sample_words=r.u32(),
        max_payload=r.u32(),
        max_columns=r.u8(),
        model_sha256=r.raw(32),
        build_id=r.text(),
        board_type=r.text(),
        engine=r.text(),
        engine_version=r.text(),
        window_clock=r.text(),
        input_bytes=r.sizes(),
        output_bytes=r.sizes(),
        self_test={r.text(): r.u32() for _ in range(r.u8())},
    )


def _table(r: _Reader, _: Frame) -> TableMessage:
    return TableMessage(
        pass_id=r.u32(),
        kind=r.u8(),
        iterations=r.u32(),
        warmup=r.u32(),
        rows=r.u32(),
        columns=tuple(Column(r.u8(), r.u8(), r.u8(), r.u16(), r.text()) for _ in range(r.u8())),
    )


def _chunk(r: _Reader, frame: Frame) -> ChunkMessage:
    last = bool(frame.flags & FLAG_LAST)
    return ChunkMessage(Record(frame.type), r.u32(), r.u32(), r.u32(), r.u32(), r.u32(), r.rest(), last)


def _pass_end(r: _Reader, _: Frame) -> PassEndMessage:
    head = (r.u32(), r.u8(), r.u32(), r.u32(), r.u32(), r.u32())
    ticks, warm, settle = r.u64(), r.u32(), r.u64()
    return PassEndMessage(*head, ticks=ticks, warm_ticks=warm, settle_ticks=settle, outputs_crc32=r.u32())


def _fault(r: _Reader, _: Frame) -> FaultMessage:
    registers = {name: r.u32() for name in FAULT_REGISTERS}
    return FaultMessage(registers, tuple(r.u32() for _ in range(r.u32())))


_PARSERS: Mapping[Record, Callable[[_Reader, Frame], Message]] = {
    Record.HELLO: _hello,
    Record.LAYER: lambda r, _: LayerMessage(r.u32(), r.u32(), r.text(), r.sizes()),
    Record.LOG: lambda r, _: LogMessage(r.text()),
    Record.INPUT_SET: lambda r, _: InputSetMessage(r.u32(), r.u32(), r.u32()),
    Record.TABLE: _table,
    Record.SAMPLES: lambda r, _: SamplesMessage(r.u32(), r.u32(), r.rest()),
    Record.OBSERVED: lambda r, _: ObservedMessage(r.u32(), {r.text(): r.u64() for _ in range(r.u8())}),
    Record.OUTPUT: _chunk,
    Record.LAYER_OUTPUT: _chunk,
    Record.PASS_END: _pass_end,
    Record.ERROR: lambda r, _: ErrorMessage(r.u16(), r.u32(), r.text()),
    Record.FAULT: _fault,
    Record.END: lambda r, _: EndMessage({r.u8(): r.u32() for _ in range(r.u8())}),
    Record.BOOT: lambda r, _: BootMessage(r.u32()),
}
