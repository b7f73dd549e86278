"""Compiling and linking through a content-addressed cache.

An object's key is what decides its bytes: toolchain, flags, the unit and every header it may include. An image's key is
the keys of its objects, the linker scripts and the link flags. Entries appear by rename, so a compiler that is killed
leaves none; each is sealed by a digest of its files, so that a damaged one is made again instead of used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from shutil import copyfile
from threading import Event
from typing import Any

from harness.core.deadline import Deadline
from harness.core.hashing import sha256_bytes
from harness.core.proc import clean_env, run_guarded
from harness.core.resources import cache_root
from harness.core.store import ContentStore
from harness.core.strict_json import canonical
from harness.image.diagnostics import compile_error, link_error
from harness.image.project import Project, Source

CACHE_FORMAT = 3
PARALLEL = 2
ELF_NAME, MAP_NAME = "image.elf", "image.map"


def image_store() -> ContentStore:
    """The cache of objects and images on this host."""
    return ContentStore(cache_root() / "images")


def compile_image(project: Project, regions: Mapping[str, int], store: ContentStore, deadline: Deadline) -> Path:
    """Compile and link; returns a directory with `image.elf` and `image.map`.

    Args:
        project: what to compile.
        regions: memory regions and their lengths, to explain an image that does not fit.
        store: where objects and images are kept.
        deadline: for all of it.

    Raises:
        BuildError: the compiler or linker refused; nothing was written.
        DeadlineError: it took too long.
    """
    keys = {unit.name: object_key(project, unit) for unit in project.units}
    key = image_key(project, keys)

    def make(directory: Path) -> None:
        objects = _compile_all(project, keys, store, deadline)
        _link(project, objects, directory, regions, deadline)

    return store.get_or_make_sealed(key, make)


def object_key(project: Project, unit: Source) -> str:
    """Digest of everything that decides a unit's object."""
    return _digest(
        {
            "format": CACHE_FORMAT,
            "kind": "object",
            "toolchain": asdict(project.toolchain.facts),
            "cflags": list(project.flags(unit)),
            "include_dirs": [directory.name for directory in project.includes(unit)],
            "unit": [unit.name, unit.sha256],
            "headers": [[header.name, header.sha256] for header in project.closure(unit)],
            "tree": project.tree_of(unit),
        }
    )


def image_key(project: Project, objects: Mapping[str, str]) -> str:
    """Digest of everything that decides an image."""
    return _digest(
        {
            "format": CACHE_FORMAT,
            "kind": "image",
            "toolchain": asdict(project.toolchain.facts),
            "ldflags": list(project.ldflags),
            "objects": sorted(objects.items()),
            "libraries": [[library.name, library.sha256] for library in project.libraries],
            "scripts": [[script.name, script.sha256] for script in project.scripts],
        }
    )


def _digest(value: Any) -> str:
    return sha256_bytes(canonical(value))


def compile_objects(project: Project, units: Sequence[Source], store: ContentStore, deadline: Deadline) -> None:
    """Compile units into the cache without linking; raises like `compile_image`."""
    _compile_all(replace(project, units=tuple(units)), {u.name: object_key(project, u) for u in units}, store, deadline)


def _compile_all(
    project: Project, keys: Mapping[str, str], store: ContentStore, deadline: Deadline
) -> tuple[tuple[Source, Path], ...]:
    failed = Event()

    def one(unit: Source) -> Path | None:
        if failed.is_set():
            return None
        try:
            return store.get_or_make_sealed(
                keys[unit.name], lambda directory: _compile(project, unit, directory, deadline)
            )
        except BaseException:
            failed.set()
            raise

    pool = ThreadPoolExecutor(PARALLEL)
    try:
        futures = [pool.submit(one, unit) for unit in project.units]
        for future in as_completed(futures):
            future.result()
        made = [future.result() for future in futures]
    finally:
        failed.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return tuple((unit, path / "unit.o") for unit, path in zip(project.units, made, strict=True) if path is not None)


def _compile(project: Project, unit: Source, directory: Path, deadline: Deadline) -> None:
    deadline.check()
    command = [
        str(project.toolchain.compiler),
        *project.flags(unit),
        *project.prefix_maps(directory.resolve()),
        *(f"-I{include.path}" for include in project.includes(unit)),
        *project.toolchain.include_flags,
        "-c",
        str(unit.path),
        "-o",
        "unit.o",
    ]
    finished = run_guarded(command, deadline, cwd=directory, env=clean_env())
    if not finished.ok:
        raise compile_error(unit.name, finished)


def _link(
    project: Project,
    objects: tuple[tuple[Source, Path], ...],
    directory: Path,
    regions: Mapping[str, int],
    deadline: Deadline,
) -> None:
    # Objects are linked by short relative names, so that no path of this host reaches the map file.
    names = []
    for unit, path in objects:
        names.append(f"{unit.name.replace('/', '.')}.o")
        copyfile(path, directory / names[-1])
    libraries = {library.name.replace("/", "."): library.path for library in project.libraries}
    for name, path in libraries.items():
        copyfile(path, directory / name)
    command = [
        str(project.toolchain.compiler),
        *project.ldflags,
        *(f"-L{place}" for place in project.script_dirs),
        f"-T{project.scripts[0].path}",
        f"-Wl,-Map={MAP_NAME}",
        *names,
        *(("-Wl,--start-group", *libraries, "-Wl,--end-group") if libraries else ()),
        *project.toolchain.library_flags,
        "-o",
        ELF_NAME,
    ]
    finished = run_guarded(command, deadline, cwd=directory, env=clean_env())
    if not finished.ok:
        raise link_error(finished, regions)
    for name in (*names, *libraries):
        (directory / name).unlink()
