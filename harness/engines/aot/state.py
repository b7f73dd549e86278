"""State that a streaming model keeps between inferences, and what it is after a reset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.engines.aot.lowering import Cell
from harness.model.types import Model, Operator, Subgraph, Tensor

MAX_STATE_BYTES = 1 << 24
"""Of one variable, and of all together."""


@dataclass(frozen=True)
class State:
    """All cells of a model.

    `of_tensor` has those of variable tensors and of handles, by tensor index of the main graph; `problems` says what of
    it cannot be done.
    """

    cells: tuple[Cell, ...]
    of_tensor: Mapping[int, Cell]
    problems: tuple[str, ...]


def find_state(model: Model) -> State:
    """The state of a model: its variable tensors, and its resource variables with what CALL_ONCE assigns to them.

    Graphs that CALL_ONCE runs may only assign constants; a variable nothing is assigned to begins as its zero point.
    """
    problems: list[str] = []
    kept = sum(tensor.nbytes for tensor in model.tensors if tensor.is_variable and tensor.data is None)
    if kept > MAX_STATE_BYTES:
        return State((), MappingProxyType({}), (f"variable tensors have {kept} bytes; at most {MAX_STATE_BYTES} do",))
    handles = _handles(model.main)
    values = _values(model.main, handles, problems)
    initial = _assigned(model, problems)
    cells: list[Cell] = []
    of_tensor: dict[int, Cell] = {}
    by_name: dict[str, Cell] = {}
    if sum(tensor.nbytes for tensor in values.values()) > MAX_STATE_BYTES:
        problems.append(f"variables have more than {MAX_STATE_BYTES} bytes together")
        values = {}
    for name, tensor in values.items():
        content = initial.get(name, _zero(tensor))
        if len(content) != tensor.nbytes:
            problems.append(f"variable {name!r} is initialised with {len(content)} bytes and used with {tensor.nbytes}")
            continue
        by_name[name] = Cell(len(model.tensors) + len(cells), name, content)
        cells.append(by_name[name])
    for index, name in handles.items():
        if name in by_name:
            of_tensor[index] = by_name[name]
    for tensor in model.tensors:
        if tensor.is_variable and tensor.data is None and 0 < tensor.nbytes <= MAX_STATE_BYTES:
            of_tensor[tensor.index] = Cell(len(model.tensors) + len(cells), tensor.name, _zero(tensor))
            cells.append(of_tensor[tensor.index])
    return State(tuple(cells), MappingProxyType(of_tensor), tuple(problems))


def _handles(graph: Subgraph) -> dict[int, str]:
    """The variable each VAR_HANDLE gives a handle of, by the handle's tensor index."""
    return {op.outputs[0]: _variable(op) for op in graph.operators if op.name == "VAR_HANDLE" and op.outputs}


def _variable(op: Operator) -> str:
    # As in TFLite: container and name together; an empty container is the default one.
    return f"{op.options.get('container', '')}/{op.options.get('shared_name', '')}"


def _values(graph: Subgraph, handles: Mapping[int, str], problems: list[str]) -> dict[str, Tensor]:
    """A tensor with the variable's shape and type, for each variable that is read or assigned."""
    found: dict[str, Tensor] = {}
    for op in graph.operators:
        if op.name == "READ_VARIABLE" and op.inputs and op.outputs:
            handle, value = op.inputs[0], graph.tensors[op.outputs[0]]
        elif op.name == "ASSIGN_VARIABLE" and len(op.inputs) == 2 and op.inputs[1] >= 0:
            handle, value = op.inputs[0], graph.tensors[op.inputs[1]]
        else:
            continue
        if handle not in handles:
            problems.append(f"operator {op.index} ({op.name}): its handle is not that of a VAR_HANDLE")
            continue
        name = handles[handle]
        known = found.setdefault(name, value)
        if (known.nbytes, known.dtype) != (value.nbytes, value.dtype) or not 0 < value.nbytes <= MAX_STATE_BYTES:
            problems.append(
                f"operator {op.index} ({op.name}): variable {name!r} is {known.dtype} {list(known.shape)} and "
                f"{value.dtype} {list(value.shape)}"
            )
    return found


def _assigned(model: Model, problems: list[str]) -> dict[str, bytes]:
    initial: dict[str, bytes] = {}
    for op in model.operators:
        if op.name != "CALL_ONCE":
            continue
        where = f"operator {op.index} (CALL_ONCE)"
        number = op.options.get("init_subgraph_index", 0)
        if not 0 < number < len(model.subgraphs):
            problems.append(f"{where}: option init_subgraph_index is {number} of {len(model.subgraphs)} graphs")
            continue
        graph = model.subgraphs[number]
        handles = _handles(graph)
        for inner in graph.operators:
            said = _initialise(inner, graph.tensors, handles, initial)
            if said:
                problems.append(f"{where}: in graph {number}, operator {inner.index} ({inner.name}) {said}")
    return initial


def _initialise(
    op: Operator, tensors: Sequence[Tensor], handles: Mapping[int, str], initial: dict[str, bytes]
) -> str | None:
    """Take note of an assignment; returns what is the matter with it, if anything."""
    if op.name == "VAR_HANDLE":
        return None
    if op.name != "ASSIGN_VARIABLE":
        return "is not supported there"
    if len(op.inputs) != 2 or op.inputs[1] < 0 or op.inputs[0] not in handles:
        return "has no handle or no value"
    value = tensors[op.inputs[1]].data
    if value is None:
        return "assigns what is no constant"
    initial[handles[op.inputs[0]]] = value
    return None


def _zero(tensor: Tensor) -> bytes:
    """The content that stands for 0."""
    point = tensor.quantization.zero_points[0] if tensor.quantization and tensor.dtype == "int8" else 0
    return bytes([point & 255]) * tensor.nbytes
