"""Building: a plan becomes a directory with an image, its record, and everything a run needs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from harness import __version__
from harness.core import strict_json
from harness.core.deadline import Deadline
from harness.core.errors import BuildError, EvidenceError, UsageError
from harness.core.files import published_dir, write_synced
from harness.core.store import ContentStore
from harness.engines.base import GeneratedEngine, TensorFacts, get_engine
from harness.image.build_header import FILE_NAME, Lifecycle, TimingScope, Variant, build_header
from harness.image.compile import ELF_NAME, MAP_NAME, compile_image, image_store
from harness.image.elf import ElfFacts, read_elf
from harness.image.engine_facts import EngineFacts
from harness.image.port_files import write_port_files
from harness.image.project import Project, firmware_project
from harness.image.record import (
    RECORD_NAME,
    Build,
    BuildInput,
    PinnedFile,
    board_regions,
    code_region,
    compute_build_id,
    load_build,
    verify,
)
from harness.image.tensor_file import read_tensor
from harness.plan.freeze import Replay, replay
from harness.plan.record import Plan

DEFAULT_TIMING_SCOPE: TimingScope = "invoke_only"
DEADLINE_SECONDS = 600.0
FLAT_NAME = "image.bin"
POWER_DIRECTORY = "power"
"""Where a build of a plan that asks for power has its power image, a build of its own."""


def build(
    plan: Plan | Path | str,
    out: Path | str | None = None,
    *,
    model: Path | str | None = None,
    inputs: Sequence[Path | str] = (),
    lifecycle: Lifecycle = "carry",
    timing_scope: TimingScope | None = None,
    variant: Variant = "profile",
    cache: bool = True,
    boards_path: Sequence[Path] = (),
    runtimes: Sequence[Path] = (),
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Build:
    """Build the firmware image of a plan.

    The directory appears in one step with everything in it; a build that fails leaves nothing behind.

    Args:
        plan: a plan or the file of one.
        out: directory to make; it must not exist, or be empty. None: a new temporary directory, the caller's to remove.
        model: where the model is, when it moved since the plan was frozen.
        inputs: a file (raw or .npy) for each model input, in order; none: zero bytes. Never linked into the image.
        lifecycle: `carry` runs the plan's counts in one boot, `single` one timed inference a boot.
        timing_scope: what the clean window spans: `invoke_only` (default), or also restoring the inputs.
        variant: `profile` talks over the plan's transport; `power` is the same engine and kernels without one, for a
            power monitor.
        cache: whether objects and images of earlier builds may be used, and are kept.
        boards_path: further directories with board types.
        runtimes: further directories where the plan's runtime may lie, when it moved.
        deadline_seconds: for compiling and linking.

    Raises:
        UsageError: `out` is not empty, or the inputs do not fit the model.
        PlanError: the model, compiler, board type or package differs from what the plan froze.
        ToolMissingError: the compiler is not installed.
        BuildError: it refused, or the image does not fit into the board's memory.
    """
    frozen = plan if isinstance(plan, Plan) else Plan.load(plan)
    scope: TimingScope = timing_scope or DEFAULT_TIMING_SCOPE
    for name, value, known in (("lifecycle", lifecycle, Lifecycle), ("timing scope", scope, TimingScope)):
        if value not in get_args(known):
            raise UsageError(f"There is no {name} {value!r}.", why=f"Known: {', '.join(get_args(known))}.")
    with _target(out) as final, _new_directory(final) as directory, _store(cache) as store:
        world = replay(frozen, model=model, boards_path=tuple(boards_path), runtimes=tuple(runtimes))
        deadline = Deadline(deadline_seconds, "the compiler", f"the image of {frozen.board}")
        request = _Request(frozen, world, lifecycle, scope, variant, store, deadline)
        _fill_record(request, directory, inputs)
        if variant == "profile" and frozen.settings["power"] != "none":
            (directory / POWER_DIRECTORY).mkdir()
            _fill_record(replace(request, variant="power"), directory / POWER_DIRECTORY, inputs)
    return load_build(final)


@dataclass(frozen=True)
class _Request:
    plan: Plan
    world: Replay
    lifecycle: Lifecycle
    timing_scope: TimingScope
    variant: Variant
    store: ContentStore
    deadline: Deadline


def _fill_record(request: _Request, directory: Path, inputs: Sequence[Path | str]) -> None:
    made = _fill(request, directory, inputs)
    write_synced(directory / RECORD_NAME, strict_json.pretty(made.to_dict()).encode())


def _fill(request: _Request, directory: Path, inputs: Sequence[Path | str]) -> Build:
    plan, world = request.plan, request.world
    generated = directory / "generated"
    generated.mkdir()
    engine = get_engine(plan.engine).generate(world.model, world.options, generated)
    _check_arena(plan, engine)
    pinned_inputs = _write_inputs(inputs, engine.input_tensors, directory)
    write_port_files(world.board_type, generated)
    project = firmware_project(plan.settings, world.board_type, world.toolchain, generated, engine, request.variant)
    basis = project.basis()
    build_id = compute_build_id(plan, request.lifecycle, request.timing_scope, basis)
    header = build_header(plan, build_id, request.lifecycle, request.timing_scope)
    (generated / FILE_NAME).write_text(header, "utf-8")
    facts = _make_image(request, project, directory)
    model_copy = directory / "model" / "model.tflite"
    model_copy.parent.mkdir()
    model_copy.write_bytes(world.model.data)
    files = sorted(path for path in generated.rglob("*") if path.is_file())
    made = Build(
        directory=directory,
        plan=plan,
        build_id=build_id,
        lifecycle=request.lifecycle,
        timing_scope=request.timing_scope,
        engine=EngineFacts.of(plan.engine, engine),
        inputs=pinned_inputs,
        elf_facts=facts,
        elf_file=PinnedFile.of(directory / ELF_NAME, directory),
        flat_image=PinnedFile.of(directory / FLAT_NAME, directory),
        link_map=PinnedFile.of(directory / MAP_NAME, directory),
        model_file=PinnedFile.of(model_copy, directory),
        generated=tuple(PinnedFile.of(path, directory) for path in files),
        basis=basis,
        harness_version=__version__,
        variant=request.variant,
    )
    verify(made)
    return made


def _make_image(request: _Request, project: Project, directory: Path) -> ElfFacts:
    regions = board_regions(request.plan)
    lengths = {region.name: region.length for region in regions}
    try:
        _copy_image(compile_image(project, lengths, request.store, request.deadline), directory)
    except FileNotFoundError:
        # Somebody purged the cache meanwhile; what is gone is made again.
        _copy_image(compile_image(project, lengths, request.store, request.deadline), directory)
    try:
        facts = read_elf(directory / ELF_NAME, regions)
    except EvidenceError as fault:
        raise BuildError("The linker made an image that cannot be used.", why=fault.why) from None
    (directory / FLAT_NAME).write_bytes(facts.flat_image(code_region(request.plan)))
    return facts


def _copy_image(entry: Path, directory: Path) -> None:
    for name in (ELF_NAME, MAP_NAME):
        shutil.copyfile(entry / name, directory / name)


def _check_arena(plan: Plan, engine: GeneratedEngine) -> None:
    size = plan.settings["arena-size"]
    if size is not None and engine.arena_bytes > size:
        raise BuildError(
            "The arena is too small for the model.",
            why=f"It needs {engine.arena_bytes} bytes, arena-size is {size}: {engine.arena_bytes - size} too few.",
            todo="Freeze again with a larger arena-size, or without one.",
            context={"needed": engine.arena_bytes, "arena_size": size},
        )


def _write_inputs(
    given: Sequence[Path | str], tensors: Sequence[TensorFacts], directory: Path
) -> tuple[BuildInput, ...]:
    if given and len(given) != len(tensors):
        raise UsageError(
            f"{len(given)} input files were given, the model has {len(tensors)} inputs.",
            todo="Give one file for each input in the model's order, or none for zero bytes.",
        )
    place = directory / "inputs"
    place.mkdir()
    out = []
    for number, tensor in enumerate(tensors):
        data = read_tensor(given[number], tensor, f"input {number}") if given else bytes(tensor.nbytes)
        path = place / f"input_{number}.bin"
        path.write_bytes(data)
        out.append(BuildInput(PinnedFile.of(path, directory), "file" if given else "zero"))
    return tuple(out)


@contextmanager
def _target(out: Path | str | None) -> Iterator[Path]:
    """The directory to make; a temporary one does not outlive a build that fails."""
    if out is not None:
        yield Path(out).absolute()
        return
    made = Path(tempfile.mkdtemp(prefix="harness-build-"))
    try:
        yield made
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


@contextmanager
def _new_directory(final: Path) -> Iterator[Path]:
    """A directory that becomes `final`; an empty one that exists is taken, and put back when the build fails."""
    taken = final.is_dir() and not final.is_symlink()
    if (taken and any(final.iterdir())) or (not taken and (final.exists() or final.is_symlink())):
        raise UsageError(
            f"{final} is not a new or empty directory.",
            why="A build never touches what an earlier one left.",
            todo="Name another directory.",
        )
    if taken:
        final.rmdir()
    try:
        with published_dir(final) as directory:
            yield directory
    except BaseException:
        if taken:
            final.mkdir(exist_ok=True)
        raise


@contextmanager
def _store(cache: bool) -> Iterator[ContentStore]:
    if cache:
        yield image_store()
        return
    with tempfile.TemporaryDirectory(prefix="harness-objects-") as place:
        yield ContentStore(Path(place))
