"""Writes the C files of a lowered model. The same model and options give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.engines.aot.carrays import array_literal
from harness.engines.aot.lowering import Array, Call, ConstantTensor, Lowered, View
from harness.engines.aot.planner import ArenaPlan
from harness.engines.base import EngineOptions
from harness.model.types import Model, Tensor

SOURCES = ("engine_config.h", "model.c", "model_weights.c", "model_weights.h")

_NOTE = "/* Generated from a model; do not edit. */\n"


def emit(
    model: Model, lowered: Sequence[Lowered], arena: ArenaPlan, options: EngineOptions, version: str, out: Path
) -> int:
    """Write `SOURCES` into a directory. Returns the bytes of constant data."""
    constants = list(_constants(model, lowered, arena))
    texts = {
        "engine_config.h": _config_header(model, options),
        "model.c": "".join(_model(model, lowered, arena, version)),
        "model_weights.c": _weights_source(constants),
        "model_weights.h": _weights_header(constants),
    }
    for name in SOURCES:
        (out / name).write_text(texts[name], "utf-8")
    return sum(array.values.nbytes for array in constants)


def _constants(model: Model, lowered: Sequence[Lowered], arena: ArenaPlan) -> Iterator[Array]:
    """Every constant array once, under its C name, in order of first use."""
    seen: set[int] = set()

    def tensor(index: int) -> Iterator[Array]:
        index = arena.views.get(index, index)
        data = model.tensors[index].data
        if data is not None and index not in seen:
            seen.add(index)
            yield Array(_tensor_name(index), "int8_t", np.frombuffer(data, np.int8))

    for number, step in enumerate(lowered):
        if isinstance(step, View):
            yield from tensor(step.input)
            continue
        for value in _leaves(step.fields):
            if isinstance(value, ConstantTensor):
                yield from tensor(value.tensor)
            elif isinstance(value, Array):
                yield Array(f"op{number}_{value.name}", value.ctype, value.values)
        for index in step.inputs:
            yield from tensor(index)


def _leaves(fields: Mapping[str, Any]) -> Iterator[Any]:
    for value in fields.values():
        if isinstance(value, Mapping):
            yield from _leaves(value)
        else:
            yield value


def _tensor_name(index: int) -> str:
    return f"tensor{index}"


def _config_header(model: Model, options: EngineOptions) -> str:
    def total(indices: Sequence[int]) -> int:
        return sum(model.tensors[index].nbytes for index in indices)

    return f"""{_NOTE}#ifndef ENGINE_CONFIG_H
#define ENGINE_CONFIG_H

#define ENGINE_OP_COUNT {len(model.operators)}
#define ENGINE_INPUT_COUNT {len(model.inputs)}
#define ENGINE_OUTPUT_COUNT {len(model.outputs)}
#define ENGINE_INPUT_BYTES {total(model.inputs)}
#define ENGINE_OUTPUT_BYTES {total(model.outputs)}

/* Whole cache lines: what one layer reads never moves against the lines when another layer changes. */
#ifndef ENGINE_ARENA
#define ENGINE_ARENA __attribute__((section("{options.arena_section}"), aligned(32)))
#endif
#ifndef ENGINE_WEIGHTS
#define ENGINE_WEIGHTS __attribute__((section("{options.weights_section}"), aligned(32)))
#endif

#endif
"""


def _weights_header(constants: Sequence[Array]) -> str:
    lines = "".join(f"extern const {a.ctype} {a.name}[{a.values.size}];\n" for a in constants)
    return f"{_NOTE}#ifndef MODEL_WEIGHTS_H\n#define MODEL_WEIGHTS_H\n\n#include <stdint.h>\n\n{lines}\n#endif\n"


def _weights_source(constants: Sequence[Array]) -> str:
    parts = [_NOTE, '#include "model_weights.h"\n\n#include "engine_config.h"\n']
    for array in constants:
        parts.append(f"\nENGINE_WEIGHTS const {array.ctype} {array.name}[{array.values.size}] = ")
        parts.append(array_literal(array.values))
        parts.append(";\n")
    return "".join(parts)


def _model(model: Model, lowered: Sequence[Lowered], arena: ArenaPlan, version: str) -> Iterator[str]:
    headers = sorted({step.kernel.header for step in lowered if not isinstance(step, View)})
    yield _NOTE
    yield '#include "engine.h"\n\n#include "engine_config.h"\n#include "model_weights.h"\n'
    yield from (f'#include "{header}"\n' for header in headers)
    yield f"\nstatic int8_t arena[{arena.nbytes}] ENGINE_ARENA;\n"
    for number, step in enumerate(lowered):
        yield "\n" + "".join(_operator(model, number, step, arena))
    yield "\n" + "".join(_tables(model, arena, version))
    yield _ENTRY_POINTS


def _place(tensor: Tensor, arena: ArenaPlan) -> str:
    if tensor.index in arena.tensors:
        return f"arena + {arena.tensors[tensor.index]}"
    return _tensor_name(arena.views.get(tensor.index, tensor.index))


def _operator(model: Model, number: int, step: Lowered, arena: ArenaPlan) -> Iterator[str]:
    operator = model.operators[number]
    shapes = [
        " ".join("x".join(map(str, model.tensors[index].shape)) or "scalar" for index in indices if index >= 0)
        for indices in (operator.inputs[:1], operator.outputs)
    ]
    macs = f", {operator.macs} MACs" if operator.macs else ""
    yield f"/* {number}: {operator.name}, {shapes[0]} to {shapes[1]}{macs}. */\n"
    if isinstance(step, View):
        yield f"static void run_{number}(void) {{\n    /* The output is the memory of the input. */\n}}\n"
        return
    yield f"static const {step.kernel.struct} op{number} = {{\n"
    yield from _fields(step.fields, number, 1)
    yield f"}};\n\nstatic void run_{number}(void) {{\n"
    yield f"    {step.kernel.function}({', '.join(_arguments(model, number, step, arena))});\n}}\n"


def _arguments(model: Model, number: int, step: Call, arena: ArenaPlan) -> Iterator[str]:
    yield f"&op{number}"
    for index in step.inputs:
        yield _place(model.tensors[index], arena)
    if step.kernel.takes_scratch:
        yield f"arena + {arena.scratch[number]}" if step.scratch_bytes else "0"
    for index in step.outputs:
        yield _place(model.tensors[index], arena)


def _fields(fields: Mapping[str, Any], number: int, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield f"{indent}.{name} = {{\n"
            yield from _fields(value, number, depth + 1)
            yield f"{indent}}},\n"
        elif isinstance(value, ConstantTensor):
            yield f"{indent}.{name} = {_tensor_name(value.tensor)},\n"
        elif isinstance(value, Array):
            yield f"{indent}.{name} = op{number}_{value.name},\n"
        else:
            yield f"{indent}.{name} = {int(value)},\n"


def _buffers(model: Model, name: str, indices: Sequence[int], arena: ArenaPlan) -> str:
    items = []
    for index in indices:
        tensor = model.tensors[index]
        cast = "" if tensor.index in arena.tensors else "(void *)"
        items.append(f"{{{cast}{_wrapped(_place(tensor, arena), cast)}, {tensor.nbytes}}}")
    return f"static const engine_buffer_t {name}[] = {{{', '.join(items)}}};\n"


def _wrapped(place: str, cast: str) -> str:
    return f"({place})" if cast and " " in place else place


def _tables(model: Model, arena: ArenaPlan, version: str) -> Iterator[str]:
    for number, operator in enumerate(model.operators):
        yield _buffers(model, f"outputs_{number}", operator.outputs, arena)
    yield _buffers(model, "model_inputs", model.inputs, arena)
    yield _buffers(model, "model_outputs", model.outputs, arena)
    yield "\nstatic const engine_op_t ops[ENGINE_OP_COUNT] = {\n"
    for number, operator in enumerate(model.operators):
        yield f'    {{"{operator.name}", {operator.index}, {len(operator.outputs)}, outputs_{number}}},\n'
    yield "};\n\nstatic void (*const run[ENGINE_OP_COUNT])(void) = {\n"
    yield from (f"    run_{number},\n" for number in range(len(model.operators)))
    yield "};\n\nstatic const uint8_t model_sha256[32] = "
    yield array_literal(np.frombuffer(bytes.fromhex(model.sha256), np.uint8)) + ";\n"
    yield f"""
static const engine_info_t info = {{
    .name = "aot",
    .version = "{version}",
    .model_sha256 = model_sha256,
    .op_count = ENGINE_OP_COUNT,
    .input_count = ENGINE_INPUT_COUNT,
    .output_count = ENGINE_OUTPUT_COUNT,
    .ops = ops,
    .inputs = model_inputs,
    .outputs = model_outputs,
    .arena_bytes = sizeof(arena),
}};
"""


_ENTRY_POINTS = """
const engine_info_t *engine_info(void) {
    return &info;
}

int engine_init(void) {
    return 0;
}

void engine_reset(void) {}

int engine_invoke(const engine_observer_t *observer) {
    if (observer == 0) {
        for (uint32_t op = 0; op < ENGINE_OP_COUNT; op++) {
            run[op]();
        }
        return 0;
    }
    for (uint32_t op = 0; op < ENGINE_OP_COUNT; op++) {
        observer->before(observer->ctx, op);
        run[op]();
        observer->after(observer->ctx, op);
    }
    return 0;
}
"""
