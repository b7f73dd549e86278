"""Writes `.tflite` files from plain values, byte for byte the same for the same values.

`serialise` writes any table of the schema; `ModelBuilder` puts tensors and operators together into a model.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.enums import ACTIVATIONS, DTYPES, OPERATORS, PADDINGS
from harness.model.schema import FORCED_ALIGNMENT, IDENTIFIER, OPTIONS_OF, SCALARS, TABLES, UNIONS, Field

_FORMATS = {"bool": "?", "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f"} | {
    "u64": "Q",
    "i64": "q",
    "f64": "d",
}
_UNION_TAGS = {name: {table: tag for tag, table in members.items()} for name, members in UNIONS.items()}


@dataclass(frozen=True)
class Union:
    """A union's value: the name of its table and the table's fields."""

    table: str
    fields: Mapping[str, Any]


def serialise(table: str, fields: Mapping[str, Any], identifier: bytes = IDENTIFIER) -> bytes:
    """A flatbuffer whose root is the given table.

    Fields that are not named or None are left out; tables are mappings, unions are `Union`, byte vectors may be bytes.

    Raises:
        KeyError: a field is unknown.
        struct.error: a value does not fit its type.
    """
    out = _Writer()
    out.buffer += bytes(4) + identifier
    out.patch(0, out.table(table, fields))
    out.align(4)
    return bytes(out.buffer)


class _Writer:
    """Appends; what a table refers to follows it, so every offset is patched once its target is written."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self._vtables: dict[bytes, int] = {}

    def align(self, alignment: int, ahead: int = 0) -> None:
        """Pad so that the position `ahead` bytes further is aligned."""
        self.buffer += bytes(-(len(self.buffer) + ahead) % alignment)

    def patch(self, at: int, target: int) -> None:
        struct.pack_into("<I", self.buffer, at, target - at)

    def table(self, kind: str, values: Mapping[str, Any]) -> int:
        known = {field.name: field for field in TABLES[kind]}
        present = [(known[name], value) for name, value in values.items() if value is not None]
        slots: list[tuple[int, int, bytes, tuple[Field, Any] | None]] = []
        for field, value in present:
            if field.kind == "union":
                tag = _UNION_TAGS[field.element][value.table]
                slots.append((field.id - 1, 1, bytes([tag]), None))
            inline = struct.pack(f"<{_FORMATS[field.element]}", value) if field.kind == "scalar" else bytes(4)
            slots.append((field.id, field.width, inline, None if field.kind == "scalar" else (field, value)))
        slots.sort(key=lambda slot: (-slot[1], slot[0]))
        offsets, size = {}, 4
        for number, width, _, _ in slots:
            size += -size % width
            offsets[number] = size
            size += width
        count = 1 + max(offsets, default=-1)
        entries = [offsets.get(number, 0) for number in range(count)]
        vtable = self._vtable(struct.pack(f"<{2 + count}H", 4 + 2 * count, size, *entries))
        self.align(max([4, *(slot[1] for slot in slots)]))
        at = len(self.buffer)
        self.buffer += struct.pack("<i", at - vtable) + bytes(size - 4)
        for number, width, inline, _ in slots:
            self.buffer[at + offsets[number] : at + offsets[number] + width] = inline
        for number, _, _, pending in sorted(slots, key=lambda slot: slot[0]):
            if pending is not None:
                self.patch(at + offsets[number], self._value(kind, *pending))
        return at

    def _vtable(self, content: bytes) -> int:
        if content not in self._vtables:
            self.align(2)
            self._vtables[content] = len(self.buffer)
            self.buffer += content
        return self._vtables[content]

    def _value(self, table: str, field: Field, value: Any) -> int:
        if field.kind == "table":
            return self.table(field.element, value)
        if field.kind == "union":
            return self.table(value.table, value.fields)
        if field.kind == "string":
            return self._string(value)
        if field.nested == "scalar":
            return self._scalars(field, value, FORCED_ALIGNMENT.get((table, field.name), 4))
        self.align(4)
        at = len(self.buffer)
        self.buffer += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for number, item in enumerate(value):
            target = self._string(item) if field.nested == "string" else self.table(field.element, item)
            self.patch(at + 4 + 4 * number, target)
        return at

    def _string(self, text: str) -> int:
        raw = text.encode()
        self.align(4)
        at = len(self.buffer)
        self.buffer += struct.pack("<I", len(raw)) + raw + b"\0"
        return at

    def _scalars(self, field: Field, values: Any, alignment: int) -> int:
        raw = bytes(values) if isinstance(values, bytes | bytearray) else self._pack(field.element, values)
        width = SCALARS[field.element]
        self.align(max(4, width, alignment), ahead=4)
        at = len(self.buffer)
        self.buffer += struct.pack("<I", len(raw) // width) + raw
        return at

    @staticmethod
    def _pack(element: str, values: Sequence[Any]) -> bytes:
        return struct.pack(f"<{len(values)}{_FORMATS[element]}", *values)


class ModelBuilder:
    """Collects tensors and operators of one subgraph; `build` writes the file.

    Tensors are numbered from 0 in the order they are added.
    """

    def __init__(self, description: str = "harness") -> None:
        self._description = description
        self._buffers: list[dict[str, Any]] = [{}]
        self._codes: list[tuple[str, int]] = []
        self._tensors: list[dict[str, Any]] = []
        self._operators: list[dict[str, Any]] = []
        self._name = "main"
        self._children: list[ModelBuilder] = []

    def child(self, name: str) -> ModelBuilder:
        """A further subgraph of the same file, without inputs and outputs; the first one has index 1."""
        made = ModelBuilder(self._description)
        made._buffers, made._codes, made._name = self._buffers, self._codes, name
        self._children.append(made)
        return made

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        *,
        name: str | None = None,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        data: bytes | None = None,
        shape_signature: Sequence[int] | None = None,
        variable: bool = False,
    ) -> int:
        """Add a tensor; `data` makes it constant, `variable` one that keeps its content. Returns its index."""
        number = len(self._tensors)
        quantization = None
        if scale is not None:
            scales = list(scale) if isinstance(scale, Sequence) else [scale]
            points = list(zero_point) if isinstance(zero_point, Sequence) else [zero_point] * len(scales)
            quantization = {"scale": scales, "zero_point": points, "quantized_dimension": axis}
        buffer = 0
        if data is not None:
            buffer = len(self._buffers)
            self._buffers.append({"data": data})
        self._tensors.append(
            {
                "shape": list(shape),
                "type": DTYPES.index(dtype),
                "buffer": buffer,
                "name": name if name is not None else f"tensor_{number}",
                "quantization": quantization,
                "shape_signature": shape_signature,
                "is_variable": True if variable else None,
            }
        )
        return number

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], version: int = 1, **options: Any
    ) -> int:
        """Add an operator by its builtin name; paddings and activations are words. Returns its index."""
        if (name, version) not in self._codes:
            self._codes.append((name, version))
        if "padding" in options:
            options["padding"] = PADDINGS.index(options["padding"])
        if "fused_activation_function" in options:
            options["fused_activation_function"] = ACTIVATIONS.index(options["fused_activation_function"])
        self._operators.append(
            {
                "opcode_index": self._codes.index((name, version)),
                "inputs": list(inputs),
                "outputs": list(outputs),
                "builtin_options": Union(OPTIONS_OF[name], options) if name in OPTIONS_OF else None,
            }
        )
        return len(self._operators) - 1

    def build(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The model file with the given tensors as inputs and outputs."""
        codes = []
        for name, version in self._codes:
            number = OPERATORS[name]
            codes.append(
                {"deprecated_builtin_code": min(number, 127), "version": version, "builtin_code": number or None}
            )
        model = {
            "version": 3,
            "operator_codes": codes,
            "subgraphs": [self._graph(inputs, outputs), *(child._graph((), ()) for child in self._children)],
            "description": self._description,
            "buffers": self._buffers,
        }
        return serialise("Model", model)

    def _graph(self, inputs: Sequence[int], outputs: Sequence[int]) -> dict[str, Any]:
        return {
            "tensors": self._tensors,
            "inputs": list(inputs),
            "outputs": list(outputs),
            "operators": self._operators,
            "name": self._name,
        }
