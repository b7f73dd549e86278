"""What a model costs, told without hardware: operators, MACs, parameters, tensors, and the arena over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.engines.aot.engine import AotEngine
from harness.engines.aot.lowering import Cell, Lowered, calls_of
from harness.engines.aot.planner import _aligned, _lifetimes, _share_in_place, _views, plan_arena
from harness.engines.base import EngineOptions
from harness.model.types import Model, Subgraph


@dataclass(frozen=True)
class OperatorCost:
    """One operator. `parameters` are elements of its constants, `arena_bytes` what is in use while it runs."""

    index: int
    name: str
    macs: int
    parameters: int
    parameter_bytes: int
    input_bytes: int
    output_bytes: int
    output_shapes: tuple[tuple[int, ...], ...]
    scratch_bytes: int
    arena_bytes: int


@dataclass(frozen=True)
class TensorCost:
    """One tensor that an operator, an input or an output of the model uses; `constant` ones are parameters."""

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    constant: bool


@dataclass(frozen=True)
class Analysis:
    """A model's operators and totals. Constants that operators share count once in the totals.

    `arena_bytes` is what the planner needs, at least the most that is in use at once, `arena_peak_bytes`.
    """

    model_sha256: str
    model_bytes: int
    operators: tuple[OperatorCost, ...]
    tensors: tuple[TensorCost, ...]
    macs: int
    parameters: int
    parameter_bytes: int
    arena_bytes: int
    arena_peak_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


def analyze(model: Model, options: EngineOptions) -> Analysis:
    """Cost of a model as the engine `aot` compiles it.

    Raises:
        UnsupportedModelError, ModelError, SettingsError: as `AotEngine.check`.
    """
    lowered, cells = AotEngine()._lower(model, options)
    used = arena_use(model.main, lowered, cells)
    rows = []
    for number, (operator, step) in enumerate(zip(model.operators, lowered, strict=True)):
        constants = [t for t in _tensors(model, operator.inputs) if t.data is not None]
        rows.append(
            OperatorCost(
                index=operator.index,
                name=operator.name,
                macs=operator.macs,
                parameters=sum(t.elements for t in constants),
                parameter_bytes=sum(t.nbytes for t in constants),
                input_bytes=sum(t.nbytes for t in _tensors(model, operator.inputs) if t.data is None),
                output_bytes=sum(t.nbytes for t in _tensors(model, operator.outputs)),
                output_shapes=tuple(t.shape for t in _tensors(model, operator.outputs)),
                scratch_bytes=max((call.scratch_bytes for call in calls_of(step)), default=0),
                arena_bytes=used[number],
            )
        )
    shared = {index for operator in model.operators for index in operator.inputs if index >= 0}
    constants = [model.tensors[index] for index in sorted(shared) if model.tensors[index].data is not None]
    return Analysis(
        model_sha256=model.sha256,
        model_bytes=model.size_bytes,
        operators=tuple(rows),
        tensors=_used_tensors(model),
        macs=sum(row.macs for row in rows),
        parameters=sum(t.elements for t in constants),
        parameter_bytes=sum(t.nbytes for t in constants),
        arena_bytes=plan_arena(model.main, lowered, cells).nbytes,
        arena_peak_bytes=max(used, default=0),
    )


def arena_use(graph: Subgraph, lowered: Sequence[Lowered], cells: Sequence[Cell] = ()) -> list[int]:
    """Bytes of the arena in use while each operator runs, rounded up to the planner's alignment tensor by tensor."""
    views = _views(lowered)
    blocks = _lifetimes(graph, lowered, views, cells)
    _share_in_place(lowered, views, blocks)
    out = []
    for number, step in enumerate(lowered):
        scratch = max((call.scratch_bytes for call in calls_of(step)), default=0)
        live = sum(_aligned(block.nbytes) for block in blocks.values() if block.first <= number <= block.last)
        out.append(live + (_aligned(scratch) if scratch else 0))
    return out


def _used_tensors(model: Model) -> tuple[TensorCost, ...]:
    used = {*model.inputs, *model.outputs}
    used |= {index for operator in model.operators for index in (*operator.inputs, *operator.outputs) if index >= 0}
    tensors = (model.tensors[index] for index in sorted(used))
    return tuple(TensorCost(t.index, t.name, t.dtype, t.shape, t.nbytes, t.data is not None) for t in tensors)


def _tensors(model: Model, indices: Sequence[int]) -> list[Any]:
    return [model.tensors[index] for index in indices if index >= 0]
