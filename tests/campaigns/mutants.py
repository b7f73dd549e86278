"""Mutated model files: each is refused with a typed error or compiled, quickly and in little memory.

Bits, bytes, small numbers, words of hostile sizes, offsets (cycles among them) and truncation, in models of every
operator. Code made of mutants that compile is built with sanitizers and run. Arguments: how many mutants (default
10000), how many of different code to build and run (default 300), seed (default 1).
"""

from __future__ import annotations

import random
import resource
import struct
import sys
import tempfile
import time
from pathlib import Path

from tests.engines.cases import random_inputs
from tests.engines.host import HostCompiler
from tests.engines.test_mutants import mutants
from tests.model.test_verify import MODELS, compile_or_refuse

MUTANTS, BUILT, SEED = 10_000, 300, 1
MOST_SECONDS, MOST_BYTES = 2.0, 500_000_000


def mutant(draw: random.Random) -> bytes:
    """A model with one to six places changed, or cut off."""
    data = bytearray(draw.choice(MODELS))
    if draw.random() < 0.1:
        return bytes(data[: draw.randrange(len(data))])
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        at, kind = draw.randrange(len(data)), draw.choice(("bit", "byte", "small", "small", "word", "offset"))
        if kind == "bit":
            data[at] ^= 1 << draw.randrange(8)
        elif kind == "byte":
            data[at] = draw.randrange(256)
        elif kind == "small":
            data[at] = draw.choice((0, 1, 2, 3, 4, 127, 128, 255))
        elif at + 4 <= len(data):
            at -= at % 4
            hostile = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, len(data), len(data) - at)
            struct.pack_into("<I", data, at, draw.choice(hostile) if kind == "word" else draw.randrange(len(data)))
    return bytes(data)


def main(arguments: list[str]) -> int:
    """Run the campaign; returns the exit status."""
    count, built, seed = (*map(int, arguments), *(MUTANTS, BUILT, SEED)[len(arguments) :])
    draw = random.Random(seed)
    compiled, slowest = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="harness-mutants-") as name:
        place = Path(name)
        for _ in range(count):
            data, started = mutant(draw), time.process_time()
            compiled += compile_or_refuse(data, place)
            slowest = max(slowest, time.process_time() - started)
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{count} mutants: {count - compiled} refused, {compiled} compiled, slowest {slowest:.2f} s, "
            f"{memory / 1e6:.0f} MB at most",
            flush=True,
        )
        compiler = HostCompiler(place)
        for model in mutants(built, seed, place):
            sizes = [model.tensors[index].nbytes for index in model.inputs]
            engine = compiler.engine(model, guarded=True, name="mutant")
            if len(engine.run(random_inputs(sizes, 1, 5))) != 5:
                print(f"a mutant of {model.path} ended early")
                return 1
        print(f"{built} of different code built with sanitizers and run on 5 inputs each: no report")
    return 0 if slowest < MOST_SECONDS and memory < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
