"""Reads a `.tflite` file into frozen records. Nothing is read before the whole file was walked and checked."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import tflite

from harness.core.errors import ModelError, UnsupportedModelError
from harness.model.enums import ACTIVATIONS, BITS, DTYPES, OPERATOR_NAMES, PADDINGS
from harness.model.graph import check_graph
from harness.model.macs import operator_macs
from harness.model.schema import OPTIONS_OF, TABLES, UNIONS
from harness.model.types import Model, Operator, Quantization, Subgraph, Tensor
from harness.model.verify import MAX_BYTES, verify

MAX_RANK = 8
MAX_TENSOR_BYTES = (1 << 31) - 1
MAX_NUMBERS = 2_000_000
"""Numbers in shapes, indices and quantisations of one file, counted as often as they are referred to."""


def load_model(path: Path | str) -> Model:
    """Read a model.

    Args:
        path: a `.tflite` file.

    Raises:
        ModelError: the file cannot be read, is not a TFLite model, is damaged, or contradicts itself.
        UnsupportedModelError: it is a model of a form that no engine here takes.
    """
    path = Path(path)
    data = _read(path)
    return read_model(data, path)


def read_model(data: bytes, path: Path = Path("model.tflite")) -> Model:
    """Read a model from the bytes of a file; `path` names it in errors. Raises as `load_model` does."""
    verify(data, path.name)
    root: Any = tflite.Model.GetRootAsModel(data, 0)  # type: ignore[no-untyped-call]
    reader = _Reader(root, path.name)
    return Model(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        data=data,
        description=_text(root.Description()),
        subgraphs=reader.subgraphs(),
    )


def _read(path: Path) -> bytes:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise ModelError(f"{path} is not a file.", todo="Name a .tflite file.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as fault:
        raise ModelError(
            f"The model {path} cannot be read.", why=fault.strerror or str(fault), todo="Name a readable .tflite file."
        ) from None


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")


class _Reader:
    def __init__(self, root: Any, name: str) -> None:
        self._root = root
        self._name = name
        self._numbers = 0

    def _fail(self, why: str, todo: str = "Convert the model again.") -> NoReturn:
        raise ModelError(f"{self._name} contradicts itself.", why=why, todo=todo)

    def _list(self, table: Any, field: str) -> list[Any]:
        count = getattr(table, f"{field}Length")()
        self._numbers += count
        if self._numbers > MAX_NUMBERS:
            self._fail(f"Its shapes and indices refer to more than {MAX_NUMBERS} numbers.")
        values: list[Any] = getattr(table, f"{field}AsNumpy")().tolist() if count else []
        return values

    def subgraphs(self) -> tuple[Subgraph, ...]:
        if self._root.Version() != 3:
            self._fail(f"It states schema version {self._root.Version()}; this is known for version 3 only.")
        if not self._root.SubgraphsLength():
            self._fail("It has no graph.")
        return tuple(self._subgraph(index) for index in range(self._root.SubgraphsLength()))

    @cached_property
    def _buffers(self) -> tuple[bytes | None, ...]:
        out: list[bytes | None] = []
        for index in range(self._root.BuffersLength()):
            buffer = self._root.Buffers(index)
            if buffer.Offset() > 1 or buffer.Size() > 1:
                raise UnsupportedModelError(
                    f"{self._name} keeps weights outside its flatbuffer.",
                    why=f"Buffer {index} begins at {buffer.Offset()}.",
                    todo="Convert the model without external buffers; they are for models above 2 GB.",
                )
            out.append(memoryview(buffer.DataAsNumpy()).tobytes() if buffer.DataLength() else None)
        return tuple(out)

    @cached_property
    def _codes(self) -> tuple[tuple[str, int], ...]:
        out = []
        for index in range(self._root.OperatorCodesLength()):
            code = self._root.OperatorCodes(index)
            number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
            name = OPERATOR_NAMES.get(number, f"BUILTIN_{number}")
            if name == "CUSTOM" and code.CustomCode():
                name = f"CUSTOM({_text(code.CustomCode())})"
            out.append((name, code.Version()))
        return tuple(out)

    def _subgraph(self, index: int) -> Subgraph:
        graph = self._root.Subgraphs(index)
        where = f"graph {index}" if self._root.SubgraphsLength() > 1 else "the graph"
        tensors = tuple(self._tensor(graph.Tensors(i), i) for i in range(graph.TensorsLength()))
        operators = tuple(self._operator(graph.Operators(i), i, tensors) for i in range(graph.OperatorsLength()))
        out = Subgraph(
            index=index,
            name=_text(graph.Name()),
            tensors=tensors,
            operators=operators,
            inputs=tuple(self._list(graph, "Inputs")),
            outputs=tuple(self._list(graph, "Outputs")),
        )
        for problem in check_graph(out):
            self._fail(f"In {where}: {problem}.")
        return out

    def _tensor(self, tensor: Any, index: int) -> Tensor:
        name = _text(tensor.Name())
        where = f"tensor {index} ({name})"
        shape = tuple(1 if extent == -1 else extent for extent in self._list(tensor, "Shape"))
        if len(shape) > MAX_RANK or any(extent < 0 for extent in shape):
            self._fail(f"{where} has the shape {list(shape[: MAX_RANK + 1])}.")
        if not 0 <= tensor.Type() < len(DTYPES):
            self._fail(f"{where} has the unknown element type {tensor.Type()}.")
        dtype = DTYPES[tensor.Type()]
        if tensor.Buffer() >= len(self._buffers):
            self._fail(f"{where} names buffer {tensor.Buffer()} of {len(self._buffers)}.")
        data = self._buffers[tensor.Buffer()]
        elements = 1
        for extent in shape:
            elements *= extent
        nbytes = (elements * BITS.get(dtype, 0) + 7) // 8
        if nbytes > MAX_TENSOR_BYTES:
            self._fail(f"{where} of shape {list(shape)} takes {nbytes} bytes.")
        if data is not None and dtype in BITS and len(data) != nbytes:
            self._fail(f"{where} of shape {list(shape)} and type {dtype} takes {nbytes} bytes; it has {len(data)}.")
        return Tensor(
            index=index,
            name=name,
            dtype=dtype,
            shape=shape,
            quantization=self._quantization(tensor.Quantization(), where),
            nbytes=nbytes,
            data=data,
            is_variable=bool(tensor.IsVariable()),
        )

    def _quantization(self, table: Any, where: str) -> Quantization | None:
        if table is None or not table.ScaleLength():
            return None
        scales = self._list(table, "Scale")
        points = self._list(table, "ZeroPoint") or [0] * len(scales)
        if len(points) != len(scales):
            self._fail(f"{where} has {len(scales)} scales and {len(points)} zero points.")
        return Quantization(tuple(map(float, scales)), tuple(map(int, points)), table.QuantizedDimension())

    def _operator(self, operator: Any, index: int, tensors: Sequence[Tensor]) -> Operator:
        if operator.OpcodeIndex() >= len(self._codes):
            self._fail(f"Operator {index} names operator code {operator.OpcodeIndex()} of {len(self._codes)}.")
        name, version = self._codes[operator.OpcodeIndex()]
        inputs = tuple(self._list(operator, "Inputs"))
        outputs = tuple(self._list(operator, "Outputs"))
        for tensor in (*inputs, *outputs):
            if not -1 <= tensor < len(tensors):
                self._fail(f"Operator {index} ({name}) names tensor {tensor} of {len(tensors)}.")
        return Operator(
            index=index,
            name=name,
            inputs=inputs,
            outputs=outputs,
            options=MappingProxyType(dict(self._options(operator, name, index))),
            macs=operator_macs(name, _shapes(tensors, inputs), [s for s in _shapes(tensors, outputs) if s is not None]),
            version=version,
        )

    def _options(self, operator: Any, name: str, index: int) -> Iterable[tuple[str, Any]]:
        expected = OPTIONS_OF.get(name)
        table = operator.BuiltinOptions()
        tag = operator.BuiltinOptionsType()
        if expected is None or table is None or not tag:
            return
        found = UNIONS["BuiltinOptions"].get(tag, f"options of kind {tag}")
        if found != expected:
            self._fail(f"Operator {index} ({name}) carries {found} instead of {expected}.")
        options = getattr(tflite, expected)()
        options.Init(table.Bytes, table.Pos)
        for field in TABLES[expected]:
            method = "".join(part[:1].upper() + part[1:] for part in field.name.split("_"))
            if field.kind == "vector":
                yield field.name, tuple(self._list(options, method))
            elif field.kind == "string":
                yield field.name, _text(getattr(options, method)())
            elif hasattr(options, method):
                yield field.name, _word(field.name, getattr(options, method)())


_WORDS: Mapping[str, Sequence[str]] = {"padding": PADDINGS, "fused_activation_function": ACTIVATIONS}


def _word(field: str, value: Any) -> Any:
    words = _WORDS.get(field)
    if words is None:
        return value
    return words[value] if 0 <= value < len(words) else f"{field}_{value}"


def _shapes(tensors: Sequence[Tensor], indices: Sequence[int]) -> list[tuple[int, ...] | None]:
    return [tensors[index].shape if index >= 0 else None for index in indices]
