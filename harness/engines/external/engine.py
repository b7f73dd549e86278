"""The engine `external`: compiles and links a runtime of the user's, which reads the model on the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import ModelError, SettingsError, UnsupportedModelError
from harness.core.suggest import did_you_mean
from harness.engines.base import EngineOptions, GeneratedEngine, LayerFacts, layer_facts, tensor_facts
from harness.engines.external.archive import check_archive
from harness.engines.external.emit import SOURCES, emit
from harness.engines.external.known import DIRECTORY, NAME, find_runtime
from harness.engines.external.manifest import Layer, Runtime
from harness.engines.trees import SourceTree
from harness.model.types import Model

ROUNDINGS = ("tflm", "litert-ref")
"""Values of the option `rounding`: the reference that the runtime's outputs are compared with."""
OPTIONS = (DIRECTORY, NAME, "rounding")


class ExternalEngine:
    """An engine from a directory of the user."""

    name = "external"
    backends = ("own",)
    path_options = (DIRECTORY, NAME)

    def trees(self, options: EngineOptions) -> tuple[SourceTree, ...]:
        """The runtime's directory; see `Engine.trees`."""
        return (_tree(find_runtime(options)),)

    def check(self, model: Model, options: EngineOptions) -> None:
        """Raise when runtime, model and board do not go together; see `Engine.check`.

        Raises:
            BuildError: a static library cannot be linked for the board's core.
        """
        _usable(find_runtime(options), model, options)

    def prebuilt(self, options: EngineOptions) -> GeneratedEngine:
        """What of it does not depend on a model; see `Engine.prebuilt`."""
        runtime = find_runtime(options)
        _fits_board(runtime, options)
        return _generated(runtime, options)

    def generate(self, model: Model, options: EngineOptions, out: Path) -> GeneratedEngine:
        """Write the model, the arena and the sizes for the runtime; see `Engine.generate`."""
        runtime = find_runtime(options)
        arena_bytes = _usable(runtime, model, options)
        layers = _layers(model, runtime.file.layers)
        embedded = runtime.file.model == "embedded"
        emit(model, len(layers), arena_bytes, (options.arena_section, options.weights_section), embedded, out)
        return _generated(
            runtime, options, model=model, layers=layers, arena_bytes=arena_bytes, embedded=embedded, sources=SOURCES
        )


def _tree(runtime: Runtime) -> SourceTree:
    return SourceTree(runtime.name, runtime.root, runtime.version, runtime.sha256, option=DIRECTORY)


def _generated(
    runtime: Runtime,
    options: EngineOptions,
    *,
    model: Model | None = None,
    layers: tuple[LayerFacts, ...] = (),
    arena_bytes: int = 0,
    embedded: bool = False,
    sources: tuple[str, ...] = (),
) -> GeneratedEngine:
    version = f"{runtime.name} {runtime.version}"
    return GeneratedEngine(
        sources=sources,
        kernel_sources=runtime.sources,
        include_dirs=(".", *(str(path) for path in runtime.includes)),
        arena_bytes=arena_bytes,
        weights_bytes=model.size_bytes if model is not None and embedded else None,
        layers=layers,
        input_tensors=tuple(tensor_facts(model, index) for index in model.inputs) if model is not None else (),
        output_tensors=tuple(tensor_facts(model, index) for index in model.outputs) if model is not None else (),
        engine_version=version,
        kernels_version=version,
        runtime=runtime.name,
        trees=(_tree(runtime),),
        # Warnings of code that is not ours are its owner's business.
        tree_flags=("-w", *runtime.file.flags),
        libraries=runtime.libraries(options.core),
    )


def _usable(runtime: Runtime, model: Model, options: EngineOptions) -> int:
    """Bytes of the arena, when everything goes together."""
    _check_options(options)
    _fits_board(runtime, options)
    problems = list(_problems(runtime, model))
    if problems:
        plural = "s" if len(problems) > 1 else ""
        raise UnsupportedModelError(
            f"Runtime {runtime.name!r} cannot run {model.path.name}: {len(problems)} problem{plural}.",
            why="\n".join(problems),
            todo=f"Its operators: {', '.join(runtime.file.operators) or 'any'}.",
            context={"problems": problems},
        )
    _layers(model, runtime.file.layers)
    if runtime.file.model_sha256 not in (None, model.sha256):
        raise ModelError(
            f"Runtime {runtime.name!r} holds another model than {model.path.name}.",
            why=f"Its runtime.yaml says {runtime.file.model_sha256}, the file's sha256 is {model.sha256}.",
            todo="Name the .tflite file that the runtime was made from.",
        )
    size = options.arena_size if options.arena_size is not None else runtime.file.arena_bytes
    if size is None:
        raise SettingsError(
            f"Runtime {runtime.name!r} does not say how large its arena is to be.",
            todo="Give arena-size, or state arena_bytes in its runtime.yaml.",
        )
    return size


def _check_options(options: EngineOptions) -> None:
    for key in options.config:
        if key not in OPTIONS:
            raise SettingsError(f"Engine 'external' has no option {key!r}.", why=did_you_mean(str(key), OPTIONS))
    rounding = options.config.get("rounding", ROUNDINGS[0])
    if rounding not in ROUNDINGS:
        raise SettingsError(
            f"Engine option 'rounding' is {rounding!r}.", why=did_you_mean(str(rounding), ROUNDINGS), todo="Correct it."
        )


def _fits_board(runtime: Runtime, options: EngineOptions) -> None:
    file = runtime.file
    for what, wanted, known in (("core", options.core, file.cores), ("toolchain", options.toolchain, file.toolchains)):
        if known and wanted not in known:
            raise SettingsError(
                f"Runtime {runtime.name!r} does not support {what} {wanted!r}.",
                why=f"Its runtime.yaml names: {', '.join(known)}.",
                todo=f"Choose another {'board' if what == 'core' else what}, or another runtime.",
            )
    libraries = runtime.libraries(options.core)
    if not libraries and not runtime.sources:
        raise SettingsError(
            f"Runtime {runtime.name!r} has no library for core {options.core!r}.",
            why=f"It has: {', '.join(sorted({core for lib in file.libraries for core in lib.cores}))}.",
            todo="Build one for this core and list it in runtime.yaml.",
        )
    for library in libraries:
        check_archive(library, options.core, options.cpuflags)


def _problems(runtime: Runtime, model: Model) -> Iterator[str]:
    for role, indices in (("input", model.inputs), ("output", model.outputs)):
        if not indices:
            yield f"the model has no {role}"
        for index in indices:
            if not model.tensors[index].nbytes:
                yield f"{role} tensor {index} ({model.tensors[index].name}) is empty"
    if not model.operators:
        yield "the model has no operators"
    for operator in model.operators:
        if runtime.file.operators and operator.name not in runtime.file.operators:
            yield f"operator {operator.index} ({operator.name}): the runtime does not list it"


def _layers(model: Model, groups: list[Layer]) -> tuple[LayerFacts, ...]:
    """What the runtime reports: every operator, or groups of them under the last one's outputs."""
    single = layer_facts(model)
    if not groups:
        return single
    last = groups[-1].operator
    if last != len(single) - 1:
        raise SettingsError(
            f"The runtime's layers end with operator {last}, the model with operator {len(single) - 1}.",
            why="Layers stand for all operators of a model.",
            todo="Mend `layers` in its runtime.yaml, or name the model that it is for.",
        )
    out = []
    for number, group in enumerate(groups):
        first = groups[number - 1].operator + 1 if number else 0
        end = single[group.operator]
        macs = sum(layer.macs for layer in single[first : group.operator + 1])
        out.append(LayerFacts(number, group.name, end.source_index, macs, end.output_tensors, end.output_bytes))
    return tuple(out)
