"""Writes the C files of a lowered model. The same model and options give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.engines.aot.carrays import array_literal
from harness.engines.aot.lowering import Array, Call, Cell, ConstantTensor, Lowered, View, calls_of
from harness.engines.aot.planner import ArenaPlan
from harness.engines.base import EngineOptions
from harness.model.types import Model, Tensor

SOURCES = ("engine_config.h", "model.c", "model_weights.c", "model_weights.h")

_NOTE = "/* Generated from a model; do not edit. */\n"


_CTYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t"}


def emit(
    model: Model,
    lowered: Sequence[Lowered],
    arena: ArenaPlan,
    options: EngineOptions,
    version: str,
    out: Path,
    cells: Sequence[Cell] = (),
) -> int:
    """Write `SOURCES` into a directory. Returns the bytes of constant data."""
    constants = [*_constants(model, lowered, arena), *map(_initial, filter(_content, cells))]
    texts = {
        "engine_config.h": _config_header(model, options),
        "model.c": "".join(_model(model, lowered, arena, version, cells)),
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
        if index < len(model.tensors) and index not in seen and model.tensors[index].data is not None:
            seen.add(index)
            yield _constant_array(model.tensors[index])

    for number, step in enumerate(lowered):
        if isinstance(step, View):
            yield from tensor(step.input)
        for label, call in _labelled(number, step):
            for value in _leaves(call.fields):
                if isinstance(value, ConstantTensor):
                    yield from tensor(value.tensor)
                elif isinstance(value, Array):
                    yield Array(f"{label}_{value.name}", value.ctype, value.values)
            for index in call.inputs:
                yield from tensor(index)


def _constant_array(tensor: Tensor) -> Array:
    # Floats are moved, never calculated with: words of their bytes are as good, and exact.
    dtype = "int32" if tensor.dtype == "float32" else tensor.dtype if tensor.dtype in _CTYPES else "int8"
    values = np.frombuffer(tensor.data or b"", np.dtype(dtype).newbyteorder("<"))
    return Array(_tensor_name(tensor.index), _CTYPES[dtype], values)


def _labelled(number: int, step: Lowered) -> Iterator[tuple[str, Call]]:
    """The calls of an operator with the C names of their parameters."""
    calls = calls_of(step)
    for place, call in enumerate(calls):
        yield f"op{number}" if len(calls) == 1 else f"op{number}_{place}", call


def _content(cell: Cell) -> bool:
    """Whether a cell begins with anything but one byte repeated."""
    return len(set(cell.initial)) > 1


def _initial(cell: Cell) -> Array:
    return Array(f"initial{cell.key}", "int8_t", np.frombuffer(cell.initial, np.int8))


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
#define ENGINE_LAYER_RANGES 1

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


def _model(
    model: Model, lowered: Sequence[Lowered], arena: ArenaPlan, version: str, cells: Sequence[Cell]
) -> Iterator[str]:
    headers = sorted({call.kernel.header for step in lowered for call in calls_of(step)})
    yield _NOTE
    yield '#include "engine.h"\n\n#include <string.h>\n\n#include "engine_config.h"\n#include "model_weights.h"\n'
    yield from (f'#include "{header}"\n' for header in headers)
    yield f"\nstatic int8_t arena[{arena.nbytes}] ENGINE_ARENA;\n"
    for number, step in enumerate(lowered):
        yield "\n" + "".join(_operator(model, number, step, arena))
    yield "\n" + "".join(_tables(model, arena, version))
    yield "\n" + "".join(_reset(cells, arena))
    yield _ENTRY_POINTS


def _place(index: int, arena: ArenaPlan) -> str:
    if index in arena.tensors:
        return f"arena + {arena.tensors[index]}"
    return _tensor_name(arena.views.get(index, index))


def _operator(model: Model, number: int, step: Lowered, arena: ArenaPlan) -> Iterator[str]:
    operator = model.operators[number]
    shapes = [
        " ".join("x".join(map(str, model.tensors[index].shape)) or "scalar" for index in indices if index >= 0)
        for indices in (operator.inputs[:1], operator.outputs)
    ]
    macs = f", {operator.macs} MACs" if operator.macs else ""
    yield f"/* {number}: {operator.name}, {shapes[0]} to {shapes[1]}{macs}. */\n"
    if not calls_of(step):
        why = "The output is the memory of the input." if isinstance(step, View) else "There is nothing left to do."
        yield f"static void run_{number}(void) {{\n    /* {why} */\n}}\n"
        return
    for label, call in _labelled(number, step):
        yield f"static const {call.kernel.struct} {label} = {{\n"
        yield from _fields(call.fields, label, 1)
        yield "};\n\n"
    yield f"static void run_{number}(void) {{\n"
    for label, call in _labelled(number, step):
        yield f"    {call.kernel.function}({', '.join(_arguments(number, label, call, arena))});\n"
    yield "}\n"


def _arguments(number: int, label: str, call: Call, arena: ArenaPlan) -> Iterator[str]:
    yield f"&{label}"
    for index in call.inputs:
        yield _place(index, arena)
    if call.kernel.takes_scratch:
        yield f"arena + {arena.scratch[number]}" if call.scratch_bytes else "0"
    for index in call.outputs:
        yield _place(index, arena)


def _fields(fields: Mapping[str, Any], label: str, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield f"{indent}.{name} = {{\n"
            yield from _fields(value, label, depth + 1)
            yield f"{indent}}},\n"
        elif isinstance(value, ConstantTensor):
            yield f"{indent}.{name} = {_tensor_name(value.tensor)},\n"
        elif isinstance(value, Array):
            yield f"{indent}.{name} = {label}_{value.name},\n"
        elif isinstance(value, tuple):
            yield f"{indent}.{name} = {{{', '.join(map(_number, value)) or '0'}}},\n"
        else:
            yield f"{indent}.{name} = {_number(value)},\n"


def _number(value: int) -> str:
    # The most negative 32-bit number is no literal of type int.
    return "-2147483647 - 1" if value == -(1 << 31) else str(int(value))


def _buffers(model: Model, name: str, indices: Sequence[int], arena: ArenaPlan) -> str:
    items = [_buffer(model.tensors[index], arena) for index in indices] or ["{0, 0}"]
    return f"static const engine_buffer_t {name}[] = {{{', '.join(items)}}};\n"


def _buffer(tensor: Tensor, arena: ArenaPlan) -> str:
    if not tensor.nbytes:
        return "{0, 0}"
    cast = "" if tensor.index in arena.tensors else "(void *)"
    return f"{{{cast}{_place(tensor.index, arena)}, {tensor.nbytes}}}"


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


def _reset(cells: Sequence[Cell], arena: ArenaPlan) -> Iterator[str]:
    yield "void engine_reset(void) {\n"
    for cell in cells:
        start, size = arena.tensors[cell.key], len(cell.initial)
        yield f"    /* {_comment(cell.name)} */\n"
        if _content(cell):
            yield f"    memcpy(arena + {start}, initial{cell.key}, {size});\n"
        else:
            yield f"    memset(arena + {start}, {cell.initial[0]}, {size});\n"
    yield "}\n"


def _comment(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-/ ") else "_" for c in text)[:60].replace("*/", "")


_ENTRY_POINTS = """
const engine_info_t *engine_info(void) {
    return &info;
}

int engine_init(void) {
    engine_reset();
    return 0;
}

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

int engine_invoke_layers(uint32_t first, uint32_t count) {
    if (first > ENGINE_OP_COUNT || count > ENGINE_OP_COUNT - first) {
        return 1;
    }
    for (uint32_t op = first; op < first + count; op++) {
        run[op]();
    }
    return 0;
}
"""
