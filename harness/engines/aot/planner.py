"""Places every activation in one arena, so that tensors needed at the same time do not overlap."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.engines.aot.lowering import Call, Cell, Lowered, View, calls_of
from harness.model.types import Subgraph

ALIGNMENT = 16


@dataclass(frozen=True)
class Block:
    """A piece of memory; it is in use from operator `first` to operator `last`, both included.

    `first` is -1 for what is there before the first operator.
    """

    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class ArenaPlan:
    """Where everything lies.

    `tensors` gives each activation's offset in the arena by tensor index, and each cell's by its key; `scratch` that of
    each operator's scratch; `views` the tensor of which another one is a view, resolved to one that is no view.
    """

    nbytes: int
    tensors: Mapping[int, int]
    scratch: Mapping[int, int]
    views: Mapping[int, int]


def plan_arena(graph: Subgraph, lowered: Sequence[Lowered], cells: Iterable[Cell] = ()) -> ArenaPlan:
    """Plan the arena of a graph. Constants take no part in it, cells keep their place throughout.

    An output stays until the end, an input is there before the first operator, everything else lives from the operator
    that computes it to the last that reads it.
    """
    views = _views(lowered)
    blocks = _lifetimes(graph, lowered, views, cells)
    shared = _share_in_place(lowered, views, blocks)
    tensors = sorted(blocks)
    needs = [max((call.scratch_bytes for call in calls_of(step)), default=0) for step in lowered]
    scratch = [(number, nbytes) for number, nbytes in enumerate(needs) if nbytes]
    pieces = [blocks[tensor] for tensor in tensors]
    pieces += [Block(nbytes, number, number) for number, nbytes in scratch]
    offsets, total = place(pieces)
    at = dict(zip(tensors, offsets, strict=False))
    for tensor, owner in shared.items():
        at[tensor] = at[owner]
    for tensor, owner in views.items():
        if owner in at:
            at[tensor] = at[owner]
    return ArenaPlan(
        nbytes=total,
        tensors=at,
        scratch={number: offset for (number, _), offset in zip(scratch, offsets[len(tensors) :], strict=True)},
        views=views,
    )


def place(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Offsets for blocks, largest first into the lowest gap that fits, and the total size."""
    offsets = [0] * len(blocks)
    placed: list[tuple[int, int, Block]] = []
    order = sorted(range(len(blocks)), key=lambda i: (-blocks[i].nbytes, blocks[i].first, i))
    for index in order:
        block = blocks[index]
        nbytes = _aligned(block.nbytes)
        offset = 0
        for start, end, other in placed:
            if other.first <= block.last and block.first <= other.last:
                if offset + nbytes <= start:
                    break
                offset = max(offset, end)
        offsets[index] = offset
        insort(placed, (offset, offset + nbytes, block), key=lambda item: item[:2])
    return offsets, max((end for _, end, _ in placed), default=0)


def _aligned(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


def _views(lowered: Iterable[Lowered]) -> dict[int, int]:
    views: dict[int, int] = {}
    for step in lowered:
        if isinstance(step, View):
            views[step.output] = views.get(step.input, step.input)
    return views


def _lifetimes(
    graph: Subgraph, lowered: Sequence[Lowered], views: Mapping[int, int], cells: Iterable[Cell]
) -> dict[int, Block]:
    blocks = {cell.key: Block(len(cell.initial), -1, len(lowered)) for cell in cells}
    fixed = frozenset(blocks)

    def use(tensor: int, when: int) -> None:
        owner = views.get(tensor, tensor)
        if owner in fixed:
            return
        facts = graph.tensors[owner]
        if facts.data is None:
            block = blocks.get(owner, Block(facts.nbytes, when, when))
            blocks[owner] = replace(block, last=max(block.last, when))

    for tensor in graph.inputs:
        use(tensor, -1)
    for number, step in enumerate(lowered):
        if isinstance(step, View):
            use(step.output, number)
            use(step.input, number)
        for call in calls_of(step):
            for tensor in (*call.outputs, *call.inputs):
                use(tensor, number)
    for tensor in graph.outputs:
        use(tensor, len(lowered))
    return blocks


def _share_in_place(lowered: Sequence[Lowered], views: Mapping[int, int], blocks: dict[int, Block]) -> dict[int, int]:
    """Let outputs take the memory of inputs nobody needs any more; removes their blocks, returns output -> owner."""
    shared: dict[int, int] = {}
    for number, step in enumerate(lowered):
        if not isinstance(step, Call):
            continue
        for candidate in step.in_place:
            owner = views.get(candidate, candidate)
            owner = shared.get(owner, owner)
            output = step.outputs[0]
            if output not in blocks or owner not in blocks:
                continue
            if blocks[owner].last == number and blocks[owner].nbytes >= blocks[output].nbytes:
                blocks[owner] = replace(blocks[owner], last=blocks[output].last)
                del blocks[output]
                shared[output] = owner
                break
    return shared
