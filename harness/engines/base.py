"""What an engine is to the rest of the harness, and which engines there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from harness.core.errors import SettingsError
from harness.core.suggest import did_you_mean
from harness.engines.trees import SourceTree
from harness.model.types import Model, Quantization

DSP, MVE = "dsp", "mve"
"""Features of a core that kernels are chosen by."""


@dataclass(frozen=True)
class EngineOptions:
    """What decides the code an engine makes, besides the model.

    Args:
        config: the plan's `engine-config`, checked by the engine.
        arena_size: bytes the arena may have; None: as many as it needs.
        arena_section, weights_section: linker sections for the arena and for constant data.
        backend: the kernel library.
        features: what the core has, of `DSP` and `MVE`.
        core, cpuflags: the board's core by name, and the compiler flags that choose it.
        toolchain: name of the toolchain.
        search: further directories where runtimes may lie.
        pinned: digests of the sources that a plan needs, by name; empty while one is frozen.
    """

    config: Mapping[str, Any]
    arena_size: int | None = None
    arena_section: str = ".arena.ram"
    weights_section: str = ".weights.code"
    backend: str = "portable"
    features: frozenset[str] = frozenset()
    core: str = ""
    cpuflags: tuple[str, ...] = ()
    toolchain: str = ""
    search: tuple[Path, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerFacts:
    """One operator as it runs: `id` counts in execution order, `source_index` is its place in the model file.

    `kernels` are the functions that it runs, empty where the engine does not say or nothing runs.
    """

    id: int
    op: str
    source_index: int
    macs: int
    output_tensors: tuple[int, ...]
    output_bytes: tuple[int, ...]
    output_dtypes: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class TensorFacts:
    """An input or output of the model; `index` is its tensor index in the model file."""

    name: str
    index: int
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    quantization: Quantization | None


@dataclass(frozen=True)
class GeneratedEngine:
    """What an engine made of a model.

    Args:
        sources: files it wrote, relative to the output directory.
        kernel_sources: C files to compile besides, by absolute path.
        include_dirs: directories to search for headers, relative to the output directory or absolute.
        arena_bytes: memory for activations.
        weights_bytes: memory for constant data; None: the engine's sources hold it, and nobody counted.
        layers: operators in execution order.
        input_tensors, output_tensors: in the model's order.
        engine_version, kernels_version: versions of the generator and of the kernels.
        trees: directories of sources from outside the package; files of `kernel_sources` may lie in them.
        tree_flags: compiler flags of the units that lie in them, after all others.
        libraries: static libraries to link, in them too.
        link_flags: further flags of the link.
        runtime: name that the firmware states as its engine; empty: the engine's own name.
    """

    sources: tuple[str, ...]
    kernel_sources: tuple[Path, ...]
    include_dirs: tuple[str, ...]
    arena_bytes: int
    weights_bytes: int | None
    layers: tuple[LayerFacts, ...]
    input_tensors: tuple[TensorFacts, ...]
    output_tensors: tuple[TensorFacts, ...]
    engine_version: str
    kernels_version: str
    trees: tuple[SourceTree, ...] = ()
    tree_flags: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    link_flags: tuple[str, ...] = ()
    runtime: str = ""


class Engine(Protocol):
    """Makes a model executable: sources that implement `firmware/engine.h`."""

    @property
    def name(self) -> str:
        """The name settings use."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the `backend` setting that it takes, the default first."""

    @property
    def path_options(self) -> tuple[str, ...]:
        """Names of its options that are directories of this host."""

    def trees(self, options: EngineOptions) -> tuple[SourceTree, ...]:
        """The sources from outside the package that these options need, pinned as they are now.

        Raises:
            SettingsError, ToolMissingError: they are not there, or not what they should be.
        """

    def check(self, model: Model, options: EngineOptions) -> None:
        """Raise when the model or the options are not for this engine, naming everything that is the matter.

        Raises:
            UnsupportedModelError: operators or their options are not supported.
            ModelError: an operator's tensors contradict each other.
            SettingsError: an engine option is unknown or has a value that is not.
        """

    def prebuilt(self, options: EngineOptions) -> GeneratedEngine:
        """What of the engine is the same for every model, to be compiled ahead of the first build.

        Raises:
            SettingsError, ToolMissingError: it is not there, or not for this board.
        """

    def generate(self, model: Model, options: EngineOptions, out: Path) -> GeneratedEngine:
        """Write the sources into an existing directory; the same arguments give the same bytes.

        Raises as `check` does.
        """


ENGINES: Mapping[str, str] = {
    "aot": "harness.engines.aot.engine:AotEngine",
    "external": "harness.engines.external.engine:ExternalEngine",
}
"""Engines by name, and where their class is."""
PATH_OPTIONS = frozenset({"cmsis-nn", "directory"})
"""Options of any engine that are directories; in a file they are relative to it."""


def get_engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        SettingsError: there is none.
    """
    if name not in ENGINES:
        raise SettingsError(f"There is no engine {name!r}.", why=did_you_mean(name, ENGINES))
    module, _, attribute = ENGINES[name].partition(":")
    engine: Engine = getattr(import_module(module), attribute)()
    return engine


def tensor_facts(model: Model, index: int) -> TensorFacts:
    """What a build keeps of an input or output tensor."""
    tensor = model.tensors[index]
    return TensorFacts(tensor.name, index, tensor.dtype, tensor.shape, tensor.nbytes, tensor.quantization)


def layer_facts(model: Model) -> tuple[LayerFacts, ...]:
    """The model's operators as layers, for engines that run them one by one in file order."""
    return tuple(
        LayerFacts(
            id=number,
            op=operator.name,
            source_index=operator.index,
            macs=operator.macs,
            output_tensors=operator.outputs,
            output_bytes=tuple(model.tensors[index].nbytes for index in operator.outputs),
            output_dtypes=tuple(model.tensors[index].dtype for index in operator.outputs),
        )
        for number, operator in enumerate(model.operators)
    )
