"""Walks a whole `.tflite` file before anything reads it.

Python's flatbuffers package checks nothing: an offset out of the file surfaces as whatever `struct` raises, when the
part is first touched. After `verify` returned, every table, vector and string that the schema knows lies inside the
file, is aligned, and is not so often referred to that reading it would explode. Rules: the FlatBuffers binary format.
"""

from __future__ import annotations

import struct
from typing import NoReturn

from harness.core.errors import ModelError
from harness.model.schema import IDENTIFIER, SCALARS, TABLES, UNIONS, Field

MAX_BYTES = 16 << 20
"""Larger files are refused: no target holds them."""
MAX_TABLES = 60_000
"""Tables in one file, and references to tables; microcontroller models have hundreds."""

_LFS = b"version https://git-lfs"
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")


def verify(data: bytes, name: str) -> None:
    """Check the structure of a file.

    Args:
        data: the whole file.
        name: what to call it in errors.

    Raises:
        ModelError: it is a Git LFS pointer, not a TFLite model, truncated, or damaged; the message says where.
    """
    if data.startswith(_LFS):
        raise ModelError(
            f"{name} is a Git LFS pointer, not a model.",
            why=f"It has {len(data)} bytes of text that name the real file.",
            todo="Fetch the file with `git lfs pull`, then try again.",
        )
    if len(data) < 8:
        raise ModelError(
            f"{name} is truncated: it has {len(data)} bytes." if data else f"{name} is empty.",
            why="A .tflite file begins with an offset and the identifier TFL3.",
            todo="Copy or convert the model again.",
        )
    if data[4:8] != IDENTIFIER:
        raise ModelError(
            f"{name} is not a .tflite file.",
            why=f"Bytes 4 to 8 are {data[4:8]!r}; a TFLite model of schema version 3 has {IDENTIFIER!r} there.",
            todo="Convert the model with the TFLite converter, int8 quantised.",
        )
    if len(data) > MAX_BYTES:
        raise ModelError(
            f"{name} has {len(data)} bytes.", why=f"At most {MAX_BYTES} are read.", todo="Use a smaller model."
        )
    _Walk(data, name).run()


class _Walk:
    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._size = len(data)
        self._name = name
        self._references = 0
        self._seen: set[tuple[str, int]] = set()

    def run(self) -> None:
        self._table("Model", self._offset(0, "the root"), "Model")

    def _fail(self, where: str, problem: str) -> NoReturn:
        raise ModelError(
            f"{self._name} is damaged or truncated.",
            why=f"{where}: {problem} (the file has {self._size} bytes).",
            todo="Copy or convert the model again.",
            context={"where": where, "problem": problem, "size": self._size},
        )

    def _offset(self, at: int, where: str) -> int:
        """Position an unsigned offset at `at` leads to."""
        if at + 4 > self._size:
            self._fail(where, f"an offset at {at} lies beyond the end")
        offset: int = _U32.unpack_from(self._data, at)[0]
        target = at + offset
        if offset == 0 or target + 4 > self._size:
            self._fail(where, f"the offset at {at} leads to {target}, beyond the end" if offset else "an offset is 0")
        if target % 4:
            self._fail(where, f"what begins at {target} is not aligned to 4 bytes")
        return target

    def _table(self, kind: str, at: int, where: str) -> None:
        self._count(where)
        if (kind, at) in self._seen:
            return
        self._seen.add((kind, at))
        vtable = at - _I32.unpack_from(self._data, at)[0]
        if vtable < 0 or vtable % 2 or vtable + 4 > self._size:
            self._fail(where, f"its table at {at} has its field list at {vtable}, outside the file or misaligned")
        vtable_size: int = _U16.unpack_from(self._data, vtable)[0]
        table_size: int = _U16.unpack_from(self._data, vtable + 2)[0]
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > self._size:
            self._fail(where, f"the field list at {vtable} has the impossible length {vtable_size}")
        if table_size < 4 or at + table_size > self._size:
            self._fail(where, f"its table at {at} has the impossible length {table_size}")
        for field in TABLES.get(kind, ()):
            position = self._slot(at, vtable, vtable_size, table_size, field.id, field.width, f"{where}.{field.name}")
            if field.kind == "union":
                tag = self._slot(at, vtable, vtable_size, table_size, field.id - 1, 1, f"{where}.{field.name} type")
                self._union(field, self._data[tag] if tag else 0, position, f"{where}.{field.name}")
            elif position and field.kind != "scalar":
                self._value(field, position, f"{where}.{field.name}")

    def _slot(
        self, at: int, vtable: int, vtable_size: int, table_size: int, number: int, width: int, where: str
    ) -> int:
        """Position of a field's bytes, 0 when the table has none."""
        entry = 4 + 2 * number
        if entry + 2 > vtable_size:
            return 0
        offset: int = _U16.unpack_from(self._data, vtable + entry)[0]
        if offset == 0:
            return 0
        if offset < 4 or offset + width > table_size:
            self._fail(where, f"the field lies outside its table at {at}")
        if (at + offset) % width:
            self._fail(where, f"the field at {at + offset} is not aligned to {width} bytes")
        return at + offset

    def _union(self, field: Field, tag: int, position: int, where: str) -> None:
        if tag and position:
            known = UNIONS[field.element].get(tag, "")
            self._table(known, self._offset(position, where), f"{where}({known})" if known else where)

    def _value(self, field: Field, position: int, where: str) -> None:
        target = self._offset(position, where)
        if field.kind == "table":
            self._table(field.element, target, where)
        elif field.kind == "string":
            self._string(target, where)
        elif field.nested == "scalar":
            self._vector(target, SCALARS[field.element], where)
        else:
            self._references_vector(field, target, where)

    def _string(self, at: int, where: str) -> None:
        end = self._vector(at, 1, where)
        if end >= self._size or self._data[end] != 0:
            self._fail(where, f"the text at {at} does not end with a zero byte")

    def _vector(self, at: int, width: int, where: str) -> int:
        """Check a vector's extent; returns the position after its last element."""
        count: int = _U32.unpack_from(self._data, at)[0]
        end = at + 4 + count * width
        if end > self._size:
            self._fail(where, f"the vector at {at} has {count} elements of {width} bytes and ends beyond the end")
        if count and (at + 4) % width:
            self._fail(where, f"the vector at {at} is not aligned to {width} bytes")
        return end

    def _references_vector(self, field: Field, at: int, where: str) -> None:
        end = self._vector(at, 4, where)
        for number, position in enumerate(range(at + 4, end, 4)):
            inner = f"{where}[{number}]"
            target = self._offset(position, inner)
            if field.nested == "string":
                self._count(inner)
                self._string(target, inner)
            else:
                self._table(field.element, target, inner)

    def _count(self, where: str) -> None:
        self._references += 1
        if self._references > MAX_TABLES:
            self._fail(where, f"more than {MAX_TABLES} tables are referred to")
