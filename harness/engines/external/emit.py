"""The files that stand between the firmware and an external engine: sizes, the model, and a guarded arena."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.engines.aot.carrays import array_literal
from harness.model.types import Model

SOURCES = ("engine_config.h", "engine_resources.c")
_NOTE = "/* Generated for a runtime from outside the package; do not edit. */\n"


def emit(model: Model, ops: int, arena_bytes: int, sections: tuple[str, str], embedded: bool, out: Path) -> None:
    """Write `SOURCES` into a directory.

    Args:
        model: the model.
        ops: operators that the runtime reports.
        arena_bytes: size of the arena.
        sections: linker sections of the arena and of the model.
        embedded: whether the model file itself is linked.
        out: the directory.
    """
    (out / "engine_config.h").write_text(_config(model, ops), "utf-8")
    (out / "engine_resources.c").write_text(_resources(model, arena_bytes, sections, embedded), "utf-8")


def _config(model: Model, ops: int) -> str:
    def total(indices: Sequence[int]) -> int:
        return sum(model.tensors[index].nbytes for index in indices)

    return f"""{_NOTE}#ifndef ENGINE_CONFIG_H
#define ENGINE_CONFIG_H

#define ENGINE_OP_COUNT {ops}
#define ENGINE_INPUT_COUNT {len(model.inputs)}
#define ENGINE_OUTPUT_COUNT {len(model.outputs)}
#define ENGINE_INPUT_BYTES {total(model.inputs)}
#define ENGINE_OUTPUT_BYTES {total(model.outputs)}
#define ENGINE_ARENA_GUARDED 1

#endif
"""


def _resources(model: Model, arena_bytes: int, sections: tuple[str, str], embedded: bool) -> str:
    arena_section, model_section = sections
    content = np.frombuffer(model.data, np.uint8)
    file = (
        f'__attribute__((section("{model_section}"), aligned(32))) static const uint8_t model[{content.size}] = '
        f"{array_literal(content)};\n"
        if embedded
        else ""
    )
    return f"""{_NOTE}#include "engine_resources.h"

#include "arena_guard.h"

{file}static const uint8_t model_sha256[32] = {array_literal(np.frombuffer(bytes.fromhex(model.sha256), np.uint8))};

/* The guards touch the arena: the first byte too many is noticed. */
static struct {{
    uint8_t before[ARENA_GUARD_BYTES];
    uint8_t bytes[{arena_bytes}];
    uint8_t behind[ARENA_GUARD_BYTES];
}} arena __attribute__((section("{arena_section}"), aligned(32)));

uint8_t *const engine_arena_guards[2] = {{arena.before, arena.behind}};

const engine_resources_t engine_resources = {{
    .model = {"model" if embedded else "0"},
    .model_bytes = {content.size if embedded else 0},
    .model_sha256 = model_sha256,
    .arena = arena.bytes,
    .arena_bytes = sizeof(arena.bytes),
}};
"""
