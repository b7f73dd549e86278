"""A small reader of flatbuffer tables: every offset is checked against the buffer before it is followed."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from harness.interop.errors import ForeignFormatError

_SHARE = 4
"""How many times its own size a buffer may expand to; sharing beyond that is no honest file."""


class Buffer:
    """The bytes of one flatbuffer. `spent` bounds what repeated references can expand to."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data = data
        self.file = file
        self.left = _SHARE * len(data) + 1024

    def fail(self, field: str, why: str) -> ForeignFormatError:
        """The error of a broken field."""
        return ForeignFormatError("The ETDump is damaged.", file=self.file, field=field, why=why)

    def read(self, form: str, at: int, field: str) -> int:
        """One little-endian scalar."""
        size = struct.calcsize(form)
        if at < 0 or at + size > len(self.data):
            raise self.fail(field, f"offset {at} is outside the {len(self.data)} bytes")
        value: int = struct.unpack_from(form, self.data, at)[0]
        return value

    def follow(self, at: int, field: str) -> int:
        """Where an offset field points to."""
        offset = self.read("<I", at, field)
        if offset == 0 or at + offset >= len(self.data):
            raise self.fail(field, f"offset {offset} at {at} is outside the {len(self.data)} bytes")
        return at + offset

    def take(self, count: int, field: str) -> None:
        """Account for bytes that are copied out."""
        self.left -= count
        if self.left < 0:
            raise self.fail(field, "it refers to the same bytes again and again")

    def block(self, at: int, field: str) -> bytes:
        """A length-prefixed run of bytes."""
        size = self.read("<I", at, field)
        if at + 4 + size > len(self.data):
            raise self.fail(field, f"{size} bytes at {at} do not fit into {len(self.data)}")
        self.take(size, field)
        return self.data[at + 4 : at + 4 + size]


class Table:
    """One table: fields by their index in the schema."""

    def __init__(self, buffer: Buffer, at: int, field: str) -> None:
        self.buffer, self.at, self.name = buffer, at, field
        buffer.take(8, field)
        self.vtable = at - buffer.read("<i", at, field)
        self.size = buffer.read("<H", self.vtable, field)
        if self.size < 4 or self.size % 2 or self.vtable + self.size > len(buffer.data):
            raise buffer.fail(field, f"its table of fields has {self.size} bytes")

    def _place(self, index: int) -> int | None:
        slot = 4 + 2 * index
        if slot + 2 > self.size:
            return None
        offset = self.buffer.read("<H", self.vtable + slot, self.name)
        return self.at + offset if offset else None

    def scalar(self, index: int, form: str, name: str, default: int) -> int:
        """A number, the default where the field is absent."""
        at = self._place(index)
        return default if at is None else self.buffer.read(form, at, f"{self.name}.{name}")

    def raw(self, index: int, name: str) -> bytes | None:
        """A vector of bytes."""
        at = self._place(index)
        field = f"{self.name}.{name}"
        return None if at is None else self.buffer.block(self.buffer.follow(at, field), field)

    def text(self, index: int, name: str) -> str | None:
        """A string; it must be UTF-8."""
        data = self.raw(index, name)
        try:
            return None if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.buffer.fail(f"{self.name}.{name}", "it is not UTF-8 text") from None

    def table(self, index: int, name: str) -> Table | None:
        """A table that a field refers to."""
        at = self._place(index)
        field = f"{self.name}.{name}"
        return None if at is None else Table(self.buffer, self.buffer.follow(at, field), field)

    def tables(self, index: int, name: str) -> Iterator[Table]:
        """A vector of tables."""
        at = self._place(index)
        if at is None:
            return
        field = f"{self.name}.{name}"
        start = self.buffer.follow(at, field)
        count = self.buffer.read("<I", start, field)
        if start + 4 + 4 * count > len(self.buffer.data):
            raise self.buffer.fail(field, f"{count} entries at {start} do not fit")
        for position in range(count):
            item = f"{field}[{position}]"
            yield Table(self.buffer, self.buffer.follow(start + 4 + 4 * position, item), item)
