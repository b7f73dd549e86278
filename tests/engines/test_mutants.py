"""Mutated models that still compile: the code made of them touches nothing it must not.

`HARNESS_MUTANTS` sets how many different ones are compiled and run (default 10).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.errors import ModelError
from harness.engines.base import EngineOptions, get_engine
from harness.model.load import read_model
from harness.model.types import Model
from tests.engines.cases import KINDS, batch, random_inputs, seeded_model
from tests.engines.host import HostCompiler

MUTANTS = int(os.environ.get("HARNESS_MUTANTS", "10"))
SEED = int(os.environ.get("HARNESS_MUTANT_SEED", "1"))
BIG_ARENA = 1 << 22


def mutants(count: int, seed: int, out: Path) -> Iterator[Model]:
    """Models that compile after a few bytes outside their weights changed, no two of the same graph code."""
    draw = random.Random(seed)
    originals = [seeded_model(), *(batch(kind, 5, 3) for kind in sorted(KINDS))]
    seen: set[str] = set()
    while count:
        data = bytearray(draw.choice(originals))
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 2, 3, 127, 128, 255, draw.randrange(256)))
        try:
            model = read_model(bytes(data))
            made = get_engine("aot").generate(model, EngineOptions({}), out)
        except ModelError:
            continue
        code = "\n".join(line for line in (out / "model.c").read_text().splitlines() if line[:4] != "    ")
        code += "".join(line for line in (out / "model.c").read_text().splitlines() if " = " in line)
        if code in seen or made.arena_bytes > BIG_ARENA:
            continue
        seen.add(code)
        count -= 1
        yield model


@pytest.mark.parametrize("share", range(2))
def test_compiled_mutants_are_harmless(share: int, host_compiler: HostCompiler, tmp_path: Path) -> None:
    for model in mutants(MUTANTS // 2, 2 * SEED + share, tmp_path):
        engine = host_compiler.engine(model, guarded=True, name="mutant")
        sizes = [model.tensors[index].nbytes for index in model.inputs]
        assert len(engine.run(random_inputs(sizes, 1, 5))) == 5
