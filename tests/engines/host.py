"""Compiles generated engines for the host, with sanitizers, and runs them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.resources import data_dir
from harness.engines.aot.emit import SOURCES, emit
from harness.engines.aot.engine import AotEngine
from harness.engines.aot.lowering import Cell, Lowered, View, calls_of
from harness.engines.aot.planner import ArenaPlan
from harness.engines.base import EngineOptions
from harness.model.load import read_model
from harness.model.types import Model

Tensors = tuple[bytes, ...]
HERE = Path(__file__).parent
FIRMWARE = data_dir("firmware")
KERNELS = FIRMWARE / "kernels"
STRICT = (
    "-std=c11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)
GUARD_BYTES = 64
TIMEOUT = 120.0


@dataclass(frozen=True)
class Case:
    """One inference: each operator's outputs in execution order, then the model's outputs."""

    layers: tuple[Tensors, ...]
    outputs: Tensors


@dataclass(frozen=True)
class HostEngine:
    """A compiled engine; `run` feeds it inputs."""

    model: Model
    program: Path

    def run(self, inputs: Sequence[Tensors], reset_every: int = 0) -> list[Case]:
        """Every operator's outputs for each inference, in one process, one after the other.

        `reset_every`: after how many inferences the state is reset; 0: never.
        """
        blob = self._run(inputs, {"HOST_RESET": str(reset_every)})
        tensors = self.model.tensors
        sizes = [[tensors[i].nbytes for i in op.outputs] for op in self.model.operators]
        sizes.append([tensors[i].nbytes for i in self.model.outputs])
        cases, at = [], 0
        for _ in inputs:
            groups = []
            for group in sizes:
                out = []
                for size in group:
                    out.append(blob[at : at + size])
                    at += size
                groups.append(tuple(out))
            cases.append(Case(tuple(groups[:-1]), groups[-1]))
        assert at == len(blob)
        return cases

    def run_quiet(self, inputs: Sequence[Tensors]) -> list[Tensors]:
        """The model's outputs, computed without an observer."""
        blob = self._run(inputs, {"HOST_QUIET": "1"})
        sizes = [self.model.tensors[i].nbytes for i in self.model.outputs]
        cases, at = [], 0
        for _ in inputs:
            out = []
            for size in sizes:
                out.append(blob[at : at + size])
                at += size
            cases.append(tuple(out))
        return cases

    def _run(self, inputs: Sequence[Tensors], extra: dict[str, str]) -> bytes:
        data = b"".join(tensor for case in inputs for tensor in case)
        done = subprocess.run([self.program], input=data, capture_output=True, timeout=TIMEOUT, env=os.environ | extra)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return done.stdout


class HostCompiler:
    """Compiles engines; kernels are compiled once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._objects: dict[Path, Path] = {}

    def engine(self, model: bytes | Model, *, guarded: bool = False, name: str = "model", **config: str) -> HostEngine:
        """The engine of a model. `guarded`: tensors share no memory, and touching what lies between them is caught."""
        loaded = read_model(model) if isinstance(model, bytes) else model
        digest = hashlib.sha256(repr((loaded.sha256, guarded, sorted(config.items()))).encode()).hexdigest()[:12]
        out = self._place / f"{name}-{digest}"
        program = out / "engine"
        if not program.exists():
            out.mkdir()
            kernels = _write_guarded(loaded, config, out) if guarded else _write(loaded, config, out)
            flags = ["-DHOST_RANGES"] if guarded else []
            sources = [*(out / source for source in SOURCES if source.endswith(".c")), HERE / "driver.c"]
            self._compile(
                ["-o", str(program), *flags, f"-I{out}", *map(str, sources), *map(str, map(self._object, kernels))]
            )
        return HostEngine(loaded, program)

    def _object(self, source: Path) -> Path:
        if source not in self._objects:
            target = self._place / f"{source.stem}.o"
            self._compile(["-c", str(source), "-o", str(target)])
            self._objects[source] = target
        return self._objects[source]

    def _compile(self, arguments: list[str]) -> None:
        # Sanitizers guard variables of the default sections only.
        plain = ["-DENGINE_ARENA=__attribute__((aligned(16)))", "-DENGINE_WEIGHTS="]
        command = ["gcc", *STRICT, *plain, f"-I{FIRMWARE}", f"-I{KERNELS}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr[-3000:]


def _write(model: Model, config: dict[str, str], out: Path) -> list[Path]:
    return list(AotEngine().generate(model, EngineOptions(config), out).kernel_sources)


def _write_guarded(model: Model, config: dict[str, str], out: Path) -> list[Path]:
    options = EngineOptions(config)
    lowered, cells = AotEngine()._lower(model, options)
    arena, ranges = _spaced(model, lowered, cells)
    emit(model, lowered, arena, options, "test", out, cells)
    first = arena.tensors[model.inputs[0]]
    rows = ",\n".join(f"    {{{start}, {size}}}" for start, size in ranges)
    (out / "host_ranges.h").write_text(
        f"#include <stddef.h>\n#define HOST_FIRST_INPUT {first}\n"
        f"static const size_t host_ranges[][2] = {{\n{rows},\n}};\n"
    )
    return [KERNELS / name for name in sorted({call.kernel.source for step in lowered for call in calls_of(step)})]


def _spaced(model: Model, lowered: Sequence[Lowered], cells: Sequence[Cell]) -> tuple[ArenaPlan, list[tuple[int, int]]]:
    """An arena in which nothing is shared, with gaps around everything."""
    at = GUARD_BYTES
    ranges: list[tuple[int, int]] = []

    def take(nbytes: int) -> int:
        nonlocal at
        start = at
        ranges.append((start, nbytes))
        at = start + -(-nbytes // 16) * 16 + GUARD_BYTES
        return start

    views = {step.output: step.input for step in lowered if isinstance(step, View)}
    tensors: dict[int, int] = {}
    for index in (*model.inputs, *(i for op in model.operators for i in op.outputs)):
        source = views.get(index)
        tensors[index] = take(model.tensors[index].nbytes) if source is None else tensors[source]
    tensors |= {cell.key: take(len(cell.initial)) for cell in cells}
    needs = [max((call.scratch_bytes for call in calls_of(step)), default=0) for step in lowered]
    scratch = {number: take(size) for number, size in enumerate(needs) if size}
    return ArenaPlan(at, tensors, scratch, views), ranges
