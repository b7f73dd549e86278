"""Which sources, headers, flags and linker scripts make a firmware image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from harness.board.descriptor import BoardType
from harness.core.errors import BuildError
from harness.core.hashing import sha256_file
from harness.core.resources import data_dir
from harness.image.build_header import FILE_NAME, Variant, fault_flags
from harness.image.port_files import SCRIPT_NAME
from harness.plan.toolchain import Toolchain

if TYPE_CHECKING:
    from harness.engines.base import GeneratedEngine

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+(?:"([^"\n]+)"|<([^>\n]+)>|(\w+))', re.MULTILINE)
_SCRIPT_INCLUDE = re.compile(r"^\s*INCLUDE\s+\"?([\w./-]+)\"?", re.MULTILINE)


CXX_FLAGS = {"-std=c11": "-std=c++17"}
"""What stands for a flag of the C compiler when a unit is C++."""
CXX_ONLY_FLAGS = ("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
OPEN_DIRS = ("firmware", "generated")
"""Directories of the package whose headers sources from outside may include."""


@dataclass(frozen=True)
class Source:
    """A file that goes into an image; `name` is its place-independent name, as in `firmware/app/main.c`."""

    name: str
    path: Path

    @cached_property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return sha256_file(self.path)


@dataclass(frozen=True)
class Project:
    """Everything a compiler needs, with names that do not depend on where it lies.

    `roots` maps names to directories, the more specific ones last. `trees` names those of them that lie outside the
    package, with the digest of all their sources; `tree_flags` are the further flags of units in them.
    """

    units: tuple[Source, ...]
    include_dirs: tuple[Source, ...]
    scripts: tuple[Source, ...]
    script_dirs: tuple[Path, ...]
    roots: Mapping[str, Path]
    cflags: tuple[str, ...]
    app_flags: tuple[str, ...]
    ldflags: tuple[str, ...]
    toolchain: Toolchain
    trees: Mapping[str, str] = field(default_factory=dict)
    tree_flags: tuple[str, ...] = ()
    libraries: tuple[Source, ...] = ()

    def flags(self, unit: Source) -> tuple[str, ...]:
        """Compiler flags of a unit, without include directories."""
        cflags = tuple(CXX_FLAGS.get(flag, flag) for flag in self.cflags) if _is_cxx(unit) else self.cflags
        if unit.name.startswith("firmware/app/"):
            return (*cflags, *self.app_flags)
        if self.tree_of(unit) is None:
            return cflags
        return (*cflags, *(CXX_ONLY_FLAGS if _is_cxx(unit) else ()), *self.tree_flags)

    def includes(self, unit: Source) -> tuple[Source, ...]:
        """Directories searched for a unit's headers.

        Sources from outside look into their own first, and never into the application's: names may be the same.
        """
        if self.tree_of(unit) is None:
            return self.include_dirs
        own = [directory for directory in self.include_dirs if self.tree_of(directory) is not None]
        ours = [directory for directory in self.include_dirs if directory.name in OPEN_DIRS]
        return (*own, *ours)

    def tree_of(self, unit: Source) -> str | None:
        """Digest of the tree that a unit lies in; None for the package's own."""
        return self.trees.get(unit.name.partition("/")[0])

    def source(self, path: Path) -> Source:
        """A file under one of the roots, by its place-independent name."""
        return Source(_name(path, self.roots), path)

    def closure(self, unit: Source) -> tuple[Source, ...]:
        """Every header that a unit may include, in name order; those of the compiler and the C library left out.

        Conditions are not evaluated, so this is at least what the compiler reads.
        """
        found: dict[str, Source] = {}
        pending = [unit]
        while pending:
            current = pending.pop()
            for quoted, angled, macro in _INCLUDE.findall(current.path.read_bytes()):
                if macro and self.tree_of(current) is not None:
                    # Keyed by the digest of its whole tree, which holds whatever this may name.
                    continue
                if macro:
                    raise BuildError(
                        f"{current.name} includes through the macro {macro.decode()}.",
                        why="What it reads cannot be told without compiling, so its object could not be cached.",
                        todo="Include the header by its name.",
                    )
                header = self._find((quoted or angled).decode(), current.path.parent if quoted else None, unit)
                if header is not None and header.name not in found:
                    found[header.name] = header
                    pending.append(header)
        return tuple(found[name] for name in sorted(found))

    def _find(self, text: str, beside: Path | None, unit: Source) -> Source | None:
        directories = ([beside] if beside else []) + [directory.path for directory in self.includes(unit)]
        for directory in directories:
            candidate = directory / text
            if candidate.is_file():
                return self.source(candidate)
        return None

    def prefix_maps(self, cwd: Path) -> tuple[str, ...]:
        """Flags that replace every directory of this host by its name in debug information and `__FILE__`."""
        roots = [*self.roots.items(), (".", cwd)]
        return tuple(f"-ffile-prefix-map={path}={name}" for name, path in roots)

    @cached_property
    def _all_sources(self) -> dict[str, Source]:
        out = {unit.name: unit for unit in self.units}
        for unit in self.units:
            out.update((header.name, header) for header in self.closure(unit))
        out.update((script.name, script) for script in self.scripts)
        return out

    def basis(self) -> dict[str, Any]:
        """What decides the image, JSON-ready, without the generated header that carries the build id itself."""
        sources = {
            name: source.sha256 for name, source in self._all_sources.items() if name != f"generated/{FILE_NAME}"
        }
        return {
            "sources": sources,
            "units": [unit.name for unit in self.units],
            "cflags": list(self.cflags),
            "app_flags": list(self.app_flags),
            "ldflags": list(self.ldflags),
            "trees": dict(self.trees),
            "tree_flags": list(self.tree_flags),
            "libraries": {library.name: library.sha256 for library in self.libraries},
        }


def _name(path: Path, roots: Mapping[str, Path]) -> str:
    resolved = path.resolve()
    for name, root in reversed(list(roots.items())):
        if resolved.is_relative_to(root):
            return f"{name}/{resolved.relative_to(root).as_posix()}"
    raise BuildError(f"{path} lies outside the directories of a build.", todo="Move it into firmware/ or the port.")


def firmware_project(
    settings: Mapping[str, Any],
    board: BoardType,
    toolchain: Toolchain,
    generated: Path,
    engine: GeneratedEngine,
    variant: Variant = "profile",
) -> Project:
    """The project of an image; `generated` holds the engine's output and the port's generated files, and will hold the
    build header.

    `settings` are those of a plan.

    Raises:
        BuildError: the port lacks a file.
    """
    firmware = data_dir("firmware").resolve()
    port, generated = board.port_dir.resolve(), generated.resolve()
    outside = {tree.name: tree for tree in engine.trees}
    roots = {name: tree.path.resolve() for name, tree in outside.items()}
    roots |= {"firmware": firmware, "port": port, "generated": generated}
    if not (port / "board.h").is_file():
        raise BuildError(f"The port {board.port!r} has no board.h.", why=f"Looked in {port}.")
    own_script = port / SCRIPT_NAME
    link_script = own_script if own_script.is_file() else generated / SCRIPT_NAME
    paths = [
        *_app_files(firmware, variant),
        *_c_files(firmware / "hal"),
        *_c_files(port),
        *(generated / name for name in engine.sources if name.endswith(".c")),
        *engine.kernel_sources,
    ]
    common = firmware / "ports" / "common"
    include_dirs = [firmware, firmware / "app", firmware / "hal", port, common, generated]
    include_dirs += [firmware / "power"] if variant == "power" else []
    include_dirs += _engine_dirs(engine, generated)
    script_dirs = (port, common)
    units = tuple(Source(_name(path, roots), path.resolve()) for path in dict.fromkeys(paths))
    return Project(
        units=tuple(sorted(units, key=lambda unit: unit.name)),
        include_dirs=tuple(Source(_name(path, roots).removesuffix("/."), path) for path in dict.fromkeys(include_dirs)),
        scripts=tuple(Source(_name(path, roots), path) for path in _scripts(link_script, script_dirs)),
        script_dirs=script_dirs,
        roots=roots,
        cflags=(
            *board.core.cpuflags,
            *toolchain.spec.cflags,
            f"-{settings['optimization']}",
            *settings["compile-flags"],
        ),
        app_flags=fault_flags(settings["test-fault"]),
        ldflags=(*board.core.cpuflags, *toolchain.spec.ldflags, *engine.link_flags),
        toolchain=toolchain,
        trees=MappingProxyType({name: tree.sha256 for name, tree in outside.items()}),
        tree_flags=engine.tree_flags,
        libraries=tuple(Source(_name(path, roots), path.resolve()) for path in engine.libraries),
    )


def _is_cxx(unit: Source) -> bool:
    return unit.path.suffix in (".cc", ".cpp", ".cxx")


_POWER_SHARES = ("frames.c", "inputs.c")
"""What the power image takes of the application: the CRC and the inputs; nothing that talks."""


def _app_files(firmware: Path, variant: Variant) -> list[Path]:
    if variant == "profile":
        return _c_files(firmware / "app")
    return [*_c_files(firmware / "power"), *(firmware / "app" / name for name in _POWER_SHARES)]


def _c_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.c"))


def _engine_dirs(engine: GeneratedEngine, generated: Path) -> Iterable[Path]:
    for entry in engine.include_dirs:
        yield (generated / entry).resolve()


def _scripts(first: Path, directories: Iterable[Path]) -> list[Path]:
    found, pending = [first], [first]
    while pending:
        text = pending.pop().read_text("utf-8")
        for name in _SCRIPT_INCLUDE.findall(text):
            path = next((place / name for place in directories if (place / name).is_file()), None)
            if path is not None and path not in found:
                found.append(path)
                pending.append(path)
    return found
