"""Runs inside a child process: one host interpreter, all inputs, outputs to a file.

Arguments: the model and a directory with `request.json` and `inputs.bin`; writes `outputs.npz` there.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ARENA_BYTES = 64 << 20
HANDLES = (13, 14)
"""Resources and variants: tflite-micro dies when one of them is asked for."""
DTYPES = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 15: "uint32",
}  # fmt: skip


class Tflm:
    """tflite-micro through the class under its Python interface, the only one that gives every tensor."""

    def __init__(self, data: bytes, layers: bool) -> None:
        runtime: Any = import_module("tflite_micro").runtime
        kind = runtime.InterpreterConfig
        self.inner = runtime.Interpreter.from_bytes(
            data,
            arena_size=ARENA_BYTES + 4 * len(data),
            intrepreter_config=kind.kPreserveAllTensors if layers else kind.kAllocationRecording,
        )

    def invoke(self, inputs: list[np.ndarray[Any, Any]]) -> None:
        for index, array in enumerate(inputs):
            self.inner.set_input(array, index)
        self.inner.invoke()

    def output(self, position: int, tensor: int) -> bytes:
        return np.ascontiguousarray(self.inner.get_output(position)).tobytes()

    def tensor(self, index: int) -> bytes:
        return np.ascontiguousarray(self.inner.GetTensor(index, 0)["tensor_data"]).tobytes()


class LiteRt:
    """LiteRT with its reference kernels, or as it comes."""

    def __init__(self, data: bytes, layers: bool, profile: str) -> None:
        litert: Any = import_module("ai_edge_litert.interpreter")
        kinds = litert.OpResolverType
        self.inner = litert.Interpreter(
            model_content=data,
            experimental_op_resolver_type=kinds.BUILTIN_REF if profile == "litert-ref" else kinds.AUTO,
            experimental_preserve_all_tensors=layers,
        )
        self.inner.allocate_tensors()
        self.inputs = [detail["index"] for detail in self.inner.get_input_details()]

    def invoke(self, inputs: list[np.ndarray[Any, Any]]) -> None:
        for index, array in zip(self.inputs, inputs, strict=True):
            self.inner.set_tensor(index, array)
        self.inner.invoke()

    def output(self, position: int, tensor: int) -> bytes:
        return self.tensor(tensor)

    def tensor(self, index: int) -> bytes:
        return np.ascontiguousarray(self.inner.get_tensor(index)).tobytes()


def _outputs(operator: Any) -> list[int]:
    return [t for t in operator.OutputsAsNumpy().tolist() if t >= 0] if operator.OutputsLength() else []


def main(model: Path, work: Path) -> None:
    """Run everything the request asks for."""
    tflite: Any = import_module("tflite")
    request = json.loads((work / "request.json").read_text())
    data = model.read_bytes()
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    operators = [_outputs(graph.Operators(i)) for i in range(graph.OperatorsLength())]
    handles = {t for outputs in operators for t in outputs if graph.Tensors(t).Type() in HANDLES}
    profile, layers_wanted = request["profile"], request["layers"]
    interpreter = Tflm(data, layers_wanted) if profile == "tflm" else LiteRt(data, layers_wanted, profile)
    blob = (work / "inputs.bin").read_bytes()
    chunks: list[bytes] = []
    shape: dict[str, Any] = {"outputs": [], "layers": []}
    at = 0
    for sizes in request["inputs"]:
        arrays = []
        for position, size in enumerate(sizes):
            tensor = graph.Tensors(graph.Inputs(position))
            dims = [max(1, int(d)) for d in tensor.ShapeAsNumpy()] if tensor.ShapeLength() else []
            dtype = DTYPES[tensor.Type()]
            arrays.append(np.frombuffer(blob[at : at + size], dtype).reshape(dims))
            at += size
        interpreter.invoke(arrays)
        outputs = [interpreter.output(i, int(graph.Outputs(i))) for i in range(graph.OutputsLength())]
        layers = []
        if layers_wanted:
            layers = [[b"" if t in handles else interpreter.tensor(t) for t in tensors] for tensors in operators]
        shape = {"outputs": [len(o) for o in outputs], "layers": [[len(t) for t in layer] for layer in layers]}
        chunks += [*outputs, *(tensor for layer in layers for tensor in layer)]
    np.savez(
        work / "outputs.npz",
        shape=np.frombuffer(json.dumps(shape).encode(), np.uint8),
        blob=np.frombuffer(b"".join(chunks), np.uint8),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
