"""Compilers: which there are, where they are on this host, and what they say of themselves.

One entry of `TOOLCHAINS` a compiler. Everything of a toolchain that can change an image is part of its facts: the
versions of compiler, assembler and linker, and the bytes of the C and compiler support libraries that are linked.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.core.deadline import Deadline
from harness.core.errors import BuildError, SettingsError, ToolMissingError
from harness.core.hashing import sha256_file, tree_digest
from harness.core.proc import clean_env, run_guarded
from harness.core.suggest import did_you_mean

PROBE_SECONDS = 30.0


@dataclass(frozen=True)
class ToolchainSpec:
    """One supported compiler.

    Args:
        name: as in the setting `toolchain`.
        compiler: program that compiles and links.
        cflags: flags of every compilation, besides the board's core and the plan's optimisation.
        ldflags: flags of every link.
        libraries: libraries that `-print-file-name` finds and that are linked.
        install: what to install when it is missing.
        driver: program that is asked where libraries lie, when that is not the compiler.
        linker: program that links, when the compiler is to be told.
        c_library: directory of the C library, with `include` and a `lib` that has the driver's multilib directories.
    """

    name: str
    title: str
    compiler: str
    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    libraries: tuple[str, ...]
    install: str
    driver: str = ""
    linker: str = ""
    c_library: str = ""


@dataclass(frozen=True)
class ToolchainFacts:
    """What a plan keeps of a toolchain: name, version text, digest of the linked libraries."""

    name: str
    version: str
    libraries: str


@dataclass(frozen=True)
class Toolchain:
    """A toolchain found on this host.

    `include_flags` and `library_flags` say where its C library lies here; what lies there is among the facts.
    """

    spec: ToolchainSpec
    compiler: Path
    facts: ToolchainFacts
    include_flags: tuple[str, ...] = ()
    library_flags: tuple[str, ...] = ()


_WARNINGS = ("-Wall", "-Wextra", "-Wdate-time", "-Werror")
_GNU = ToolchainSpec(
    name="gcc",
    title="GNU Arm Embedded",
    compiler="arm-none-eabi-gcc",
    cflags=(
        "-std=c11",
        *_WARNINGS,
        "-g",
        "-gno-record-gcc-switches",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-common",
        "-fno-ident",
    ),
    ldflags=("--specs=nano.specs", "-nostartfiles", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--fatal-warnings"),
    libraries=("libc_nano.a", "libm.a", "libgcc.a"),
    install="apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
)

_LLVM = ToolchainSpec(
    name="llvm",
    title="LLVM with picolibc",
    compiler="clang-19",
    cflags=(
        "--target=arm-none-eabi",
        "-std=c11",
        *_WARNINGS,
        "-g",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-common",
        "-fno-ident",
    ),
    ldflags=(
        "--target=arm-none-eabi",
        "-nostdlib",
        "-Wl,--gc-sections",
        "-Wl,--build-id=none",
        "-Wl,--fatal-warnings",
    ),
    libraries=("libc.a", "libm.a", "libgcc.a"),
    install="apt-get install clang-19 lld-19 picolibc-arm-none-eabi gcc-arm-none-eabi",
    driver="arm-none-eabi-gcc",
    linker="ld.lld-19",
    c_library="/usr/lib/picolibc/arm-none-eabi",
)

TOOLCHAINS: Mapping[str, ToolchainSpec] = MappingProxyType({spec.name: spec for spec in (_GNU, _LLVM)})
"""All supported toolchains by name."""


def toolchain_spec(name: str) -> ToolchainSpec:
    """The toolchain of a name; `SettingsError` when there is none."""
    if name not in TOOLCHAINS:
        raise SettingsError(f"There is no toolchain {name!r}.", why=did_you_mean(name, TOOLCHAINS))
    return TOOLCHAINS[name]


def find_toolchain(name: str, cpuflags: Sequence[str]) -> Toolchain:
    """Find a toolchain on the PATH and ask it what it is.

    Args:
        name: as in the setting `toolchain`.
        cpuflags: the board's core; decides which libraries are linked.

    Raises:
        SettingsError: there is no such toolchain.
        ToolMissingError: it is not installed, or not completely.
        BuildError: it does not answer.
    """
    spec = toolchain_spec(name)
    compiler = _program(spec, spec.compiler)
    if spec.driver:
        return _with_driver(spec, compiler, cpuflags)
    questions = [
        ("--version",),
        ("-print-prog-name=as",),
        ("-print-prog-name=ld",),
        *((*cpuflags, f"-print-file-name={library}") for library in spec.libraries),
    ]
    with ThreadPoolExecutor(2) as pool:
        version, as_path, ld_path, *libraries = pool.map(lambda args: _ask(compiler, args), questions)
        tools = list(pool.map(lambda tool: _ask(Path(tool), ("--version",)), (as_path, ld_path)))
    digests = [
        (library, _library(spec, library, path)) for library, path in zip(spec.libraries, libraries, strict=True)
    ]
    text = " | ".join(answer.splitlines()[0].strip() for answer in (version, *tools))
    return Toolchain(spec, compiler, ToolchainFacts(spec.name, text, tree_digest(digests)))


def _program(spec: ToolchainSpec, name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise ToolMissingError(
            f"The compiler {name} is not installed.",
            why="It was not found on the PATH.",
            todo=spec.install,
            context={"tool": name},
        )
    return Path(found)


def _with_driver(spec: ToolchainSpec, compiler: Path, cpuflags: Sequence[str]) -> Toolchain:
    """A compiler without libraries of its own: a GNU driver tells the multilib directory and libgcc."""
    driver, linker = _program(spec, spec.driver), _program(spec, spec.linker)
    questions = [
        (compiler, ("--version",)),
        (linker, ("--version",)),
        (driver, (*cpuflags, "-print-multi-directory")),
        (driver, (*cpuflags, "-print-libgcc-file-name")),
    ]
    with ThreadPoolExecutor(2) as pool:
        version, link_version, multilib, libgcc = pool.map(lambda question: _ask(*question), questions)
    root = Path(spec.c_library)
    place = root / "lib" / multilib
    paths = [str(place / name) if name != Path(libgcc).name else libgcc for name in spec.libraries]
    digests = [(name, _library(spec, name, path)) for name, path in zip(spec.libraries, paths, strict=True)]
    # Headers are read by every unit, and no compile records which: they count as a whole.
    digests += [
        (f"include/{path.relative_to(root / 'include').as_posix()}", sha256_file(path))
        for path in sorted((root / "include").rglob("*.h"))
    ]
    text = " | ".join(answer.splitlines()[0].strip() for answer in (version, link_version))
    return Toolchain(
        spec,
        compiler,
        ToolchainFacts(spec.name, text, tree_digest(digests)),
        include_flags=("-isystem", str(root / "include")),
        library_flags=(f"--ld-path={linker}", f"-L{place}", f"-L{Path(libgcc).parent}", "-lc", "-lm", "-lgcc"),
    )


def _ask(program: Path, args: Sequence[str]) -> str:
    where = shutil.which(str(program))
    if where is None:
        raise ToolMissingError(f"The program {program} is not installed.", todo="Install the toolchain again.")
    done = run_guarded(
        [where, *args], Deadline(PROBE_SECONDS, f"the answer of {program.name} {args[-1]}"), env=clean_env()
    )
    if not done.ok or not done.stdout.strip():
        raise BuildError(
            f"{program.name} {args[-1]} failed with status {done.status}.",
            why=done.stderr.strip()[:300],
            todo="Install the toolchain again.",
        )
    return done.stdout.strip()


def _library(spec: ToolchainSpec, library: str, path: str) -> str:
    if not Path(path).is_file():
        raise ToolMissingError(
            f"The toolchain has no {library} for this core.",
            why=f"{spec.compiler} answers {path!r}.",
            todo=spec.install,
        )
    return sha256_file(Path(path))
