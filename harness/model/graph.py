"""Checks that a graph can be executed in the order it is written in."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.types import Subgraph


def check_graph(graph: Subgraph) -> Iterator[str]:
    """What is wrong with a graph: tensors that are missing, computed twice, or used before they are computed."""
    count = len(graph.tensors)
    for role, indices in (("input", graph.inputs), ("output", graph.outputs)):
        for index in indices:
            if not 0 <= index < count:
                yield f"{role} tensor {index} of {count} does not exist"
                return
    if len(set(graph.inputs)) != len(graph.inputs):
        yield "an input is named twice"
    known = {tensor.index for tensor in graph.tensors if tensor.data is not None or tensor.is_variable}
    constant = [index for index in graph.inputs if graph.tensors[index].data is not None]
    if constant:
        yield f"input tensor {constant[0]} is a constant"
    written = set(graph.inputs)
    known |= written
    for operator in graph.operators:
        where = f"operator {operator.index} ({operator.name})"
        for index in operator.inputs:
            # Tensors without elements need nobody to compute them.
            if index >= 0 and index not in known and graph.tensors[index].nbytes:
                yield f"{where} reads tensor {index} before anything computes it"
        for index in operator.outputs:
            if index < 0:
                yield f"{where} leaves out an output"
            elif index in written or graph.tensors[index].data is not None:
                yield f"{where} computes tensor {index}, which is an input, a constant or computed before"
            written.add(index)
            known.add(index)
    for index in graph.outputs:
        if index not in known:
            yield f"nothing computes output tensor {index}"
