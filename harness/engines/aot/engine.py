"""The engine `aot`: checks a model, lowers its operators, and writes C that implements `firmware/engine.h`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.core.errors import ModelError, SettingsError, UnsupportedModelError
from harness.core.resources import data_dir
from harness.core.suggest import did_you_mean
from harness.engines.aot import cmsis_nn_sources
from harness.engines.aot.cmsis_nn import with_cmsis_nn
from harness.engines.aot.emit import SOURCES, emit
from harness.engines.aot.lowering import Call, Cell, KernelConfig, Lowered, OpView, RefusedError, calls_of
from harness.engines.aot.planner import ALIGNMENT, plan_arena
from harness.engines.aot.prebuilt import prebuilt_kernels
from harness.engines.aot.registry import LOWERINGS
from harness.engines.aot.state import find_state
from harness.engines.base import EngineOptions, GeneratedEngine, layer_facts, tensor_facts
from harness.engines.trees import SourceTree
from harness.model.types import Model, Operator

ENGINE_VERSION = "1.2"
KERNELS_VERSION = "1.2"
MAX_ARENA = 1 << 30
MAX_OPERATORS = 2048
MAX_OPERANDS = 16384
"""Inputs and outputs of all operators."""
MAX_BOUNDARY = 1024
"""Inputs and outputs of a model."""
BOUNDARY_DTYPES = ("int8", "uint8", "int16", "int32", "float32")
"""Element types of a model's inputs and outputs."""
MAX_CONSTANTS = 64 << 20
"""Bytes of constants, counted for each operator that uses them."""

CONFIG: Mapping[str, tuple[str, ...]] = {
    "kernels": ("portable", "naive"),
    "rounding": ("tflm", "litert-ref"),
}
"""Options of `engine-config` and their values, the default first."""


class AotEngine:
    """The ahead-of-time engine."""

    name = "aot"
    backends = ("portable", cmsis_nn_sources.NAME)
    path_options = (cmsis_nn_sources.NAME,)

    def trees(self, options: EngineOptions) -> tuple[SourceTree, ...]:
        """Sources from outside the package; see `Engine.trees`."""
        path = options.config.get(cmsis_nn_sources.NAME)
        if options.backend == cmsis_nn_sources.NAME:
            return (cmsis_nn_sources.find_tree(None if path is None else str(path)),)
        if path is not None:
            raise SettingsError(
                f"Engine option {cmsis_nn_sources.NAME!r} is given, but backend is {options.backend!r}.",
                todo=f"Set backend to {cmsis_nn_sources.NAME!r}, or leave the option out.",
            )
        return ()

    def check(self, model: Model, options: EngineOptions) -> None:
        """Raise when the model cannot be compiled; see `Engine.check`."""
        self._lower(model, options)

    def generate(self, model: Model, options: EngineOptions, out: Path) -> GeneratedEngine:
        """Write the C sources of a model; see `Engine.generate`."""
        lowered, cells = self._lower(model, options)
        arena = plan_arena(model.main, lowered, cells)
        if arena.nbytes > MAX_ARENA:
            raise ModelError(
                f"{model.path.name} needs {arena.nbytes} bytes for its activations.",
                why=f"At most {MAX_ARENA} can be addressed.",
                todo="Use a smaller model.",
            )
        # A zero-sized array is not C; a model without activations still gets one unit.
        arena = replace(arena, nbytes=max(arena.nbytes, ALIGNMENT))
        weights_bytes = emit(model, lowered, arena, options, ENGINE_VERSION, out, cells)
        kernels = data_dir("firmware").resolve() / "kernels"
        used = sorted({call.kernel.source for step in lowered for call in calls_of(step)})
        trees = self.trees(options)
        library = [path for tree in trees for path in cmsis_nn_sources.locate(tree.path, cmsis_nn_sources.UNITS)]
        headers = [path for tree in trees for path in cmsis_nn_sources.locate(tree.path, cmsis_nn_sources.HEADERS)]
        return GeneratedEngine(
            sources=SOURCES,
            kernel_sources=(*(kernels / name for name in used), *library),
            include_dirs=(".", str(kernels), *dict.fromkeys(str(path.parent) for path in headers)),
            arena_bytes=arena.nbytes,
            weights_bytes=weights_bytes,
            layers=tuple(
                replace(facts, kernels=tuple(call.kernel.function for call in calls_of(step)))
                for facts, step in zip(layer_facts(model), lowered, strict=True)
            ),
            input_tensors=tuple(tensor_facts(model, index) for index in model.inputs),
            output_tensors=tuple(tensor_facts(model, index) for index in model.outputs),
            engine_version=ENGINE_VERSION,
            kernels_version=" + ".join([KERNELS_VERSION, *(f"{tree.name} {tree.version}" for tree in trees)]),
            trees=trees,
            tree_flags=("-w",),
        )

    def prebuilt(self, options: EngineOptions) -> GeneratedEngine:
        """The kernels; see `Engine.prebuilt`."""
        return prebuilt_kernels(self.trees(options), ENGINE_VERSION, KERNELS_VERSION)

    def _lower(self, model: Model, options: EngineOptions) -> tuple[tuple[Lowered, ...], tuple[Cell, ...]]:
        config = kernel_config(options.config)
        _refuse_excess(model)
        state = find_state(model)
        lowered: list[Lowered] = []
        problems = list(state.problems)
        for operator in model.operators:
            try:
                lowered.append(_lower_one(model, operator, config, options, state.of_tensor))
            except RefusedError as refusal:
                problems.append(f"operator {operator.index} ({operator.name}): {refusal}")
        problems += _boundary_problems(model)
        if problems:
            raise _unsupported(model, problems)
        return tuple(lowered), state.cells


def kernel_config(config: Mapping[str, Any]) -> KernelConfig:
    """The checked form of `engine-config`.

    Raises:
        SettingsError: an option is unknown, or its value is.
    """
    known = (*CONFIG, cmsis_nn_sources.NAME)
    for key, value in config.items():
        if key not in known:
            raise SettingsError(f"Engine 'aot' has no option {key!r}.", why=did_you_mean(str(key), known))
        if key not in CONFIG:
            continue
        if value not in CONFIG[key]:
            raise SettingsError(
                f"Engine option {key!r} is {value!r}.", why=did_you_mean(str(value), CONFIG[key]), todo="Correct it."
            )
    return KernelConfig(**{key: str(config.get(key, values[0])) for key, values in CONFIG.items()})


def _lower_one(
    model: Model, operator: Operator, config: KernelConfig, options: EngineOptions, cells: Mapping[int, Cell]
) -> Lowered:
    lowering = LOWERINGS.get(operator.name)
    if lowering is None:
        raise RefusedError("the operator is not supported")
    view = OpView(model, operator, cells)
    lowered = lowering(view, config)
    if options.backend == cmsis_nn_sources.NAME and isinstance(lowered, Call):
        return with_cmsis_nn(view, lowered, options.features)
    return lowered


def _refuse_excess(model: Model) -> None:
    """Keep time and memory within bounds, whatever the file says."""
    constants = sum(
        len(model.tensors[index].data or b"") for op in model.operators for index in op.inputs if index >= 0
    )
    for count, most, what in (
        (len(model.operators), MAX_OPERATORS, "operators"),
        (
            sum(len(op.inputs) + len(op.outputs) for op in model.operators),
            MAX_OPERANDS,
            "inputs and outputs of operators",
        ),
        (len(model.inputs) + len(model.outputs), MAX_BOUNDARY, "inputs and outputs"),
        (constants, MAX_CONSTANTS, "bytes of constants, shared ones counted for each operator"),
    ):
        if count > most:
            raise UnsupportedModelError(
                f"{model.path.name} is too large for engine 'aot'.",
                why=f"It has {count} {what}; at most {most} are compiled.",
                todo="Use a smaller model.",
            )


def _boundary_problems(model: Model) -> Iterator[str]:
    for role, indices in (("input", model.inputs), ("output", model.outputs)):
        if not indices:
            yield f"the model has no {role}"
        for index in indices:
            tensor = model.tensors[index]
            if tensor.dtype not in BOUNDARY_DTYPES:
                yield f"{role} tensor {index} ({tensor.name}) is {tensor.dtype}"
            elif not tensor.nbytes:
                yield f"{role} tensor {index} ({tensor.name}) is empty"
            elif tensor.data is not None:
                yield f"{role} tensor {index} ({tensor.name}) is a constant"
    if not model.operators:
        yield "the model has no operators"


def _unsupported(model: Model, problems: Sequence[str]) -> UnsupportedModelError:
    computed = [model.tensors[index] for op in model.operators for index in op.outputs]
    floats = [tensor for tensor in computed if tensor.dtype in ("float32", "float16")]
    if floats and 2 * len(floats) > len(computed):
        what = f"{model.path.name} is a float model; engine 'aot' compiles int8 models."
        todo = "Quantise it to full int8 (weights, activations, inputs and outputs), then try again."
    else:
        what = f"Engine 'aot' cannot compile {model.path.name}: {len(problems)} problem{'s'[: len(problems) > 1]}."
        todo = f"Supported operators: {', '.join(LOWERINGS)}."
    return UnsupportedModelError(what, why="\n".join(problems), todo=todo, context={"problems": list(problems)})
