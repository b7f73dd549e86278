"""`runtime.yaml`: what the owner of a runtime says of it, checked line by line.

harness_runtime: 1                      # version of this form
name: pocket                            # also the name of its directory inside a build
version: "1.0"
sources: [src/*.c]                      # files and globs, C, C++ and assembler, relative to this file
includes: [include]                     # directories searched for headers
flags: [-DPOCKET_TENSORS=64]            # of its own sources, after those of the plan
libraries:                              # static libraries, for all cores or for those they name
  - {path: lib/m4/libpocket.a, cores: [cortex-m4]}
cores: [cortex-m4, cortex-m55]          # default: any
toolchains: [gcc]                       # default: any
model: embedded                         # the harness links the .tflite file; `own`: the sources hold the model
model_sha256: "0123..."                 # with `own`: of the .tflite file that they hold
arena_bytes: 32768                      # where the plan says no arena-size
operators: [CONV_2D, SOFTMAX]           # default: any; a model with others is refused at freeze time
layers:                                 # default: each operator of the model file reports its own events
  - {operator: 1, name: CONV_2D}        # an entry stands for all operators since the previous one
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.board.validation import explain
from harness.core.errors import UsageError
from harness.core.strict_yaml import YamlDocument, load
from harness.engines.flags import refused
from harness.engines.trees import digest_of, uncovered

FILE_NAME = "runtime.yaml"
TAKEN_NAMES = frozenset({"aot", "external", "firmware", "generated", "port"})
"""Names that mean something else in a build or on the command line."""
SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".S")


class RuntimeFileError(UsageError):
    """A runtime's runtime.yaml cannot be used."""

    code = "runtime.invalid"


def _relative(text: str) -> str:
    pure = PurePosixPath(text)
    if not text or pure.is_absolute() or ".." in pure.parts or "\\" in text or "\0" in text:
        raise ValueError(f"{text!r} leaves the directory; paths are relative to runtime.yaml and stay below it")
    return text


def _name(text: str) -> str:
    if text in TAKEN_NAMES:
        raise ValueError(f"{text!r} is taken")
    return text


def _flag(text: str) -> str:
    if why := refused(text):
        raise ValueError(why)
    return text


_Path = Annotated[str, AfterValidator(_relative)]
_Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_+.-]*$")]
_Operator = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Library(_Record):
    """A static library; without `cores` for all of the runtime's."""

    path: _Path
    cores: list[_Word] = Field(default_factory=list)


class Layer(_Record):
    """A group of operators that the runtime runs as one: the last of them in the model file, and its name in events."""

    operator: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_+]{0,63}$")]


class RuntimeFile(_Record):
    """The whole of runtime.yaml."""

    harness_runtime: Literal[1]
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$"), AfterValidator(_name)]
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$")]
    sources: list[_Path] = Field(default_factory=list)
    includes: list[_Path] = Field(default_factory=list)
    flags: list[Annotated[str, AfterValidator(_flag)]] = Field(default_factory=list)
    libraries: list[Library] = Field(default_factory=list)
    cores: list[_Word] = Field(default_factory=list)
    toolchains: list[_Word] = Field(default_factory=list)
    model: Literal["embedded", "own"] = "embedded"
    model_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    arena_bytes: Annotated[int, Field(ge=1, le=1 << 30)] | None = None
    operators: list[_Operator] = Field(default_factory=list)
    layers: list[Layer] = Field(default_factory=list)

    @model_validator(mode="after")
    def _consistent(self) -> RuntimeFile:
        if not self.sources and not self.libraries:
            raise ValueError("it names neither sources nor libraries")
        if (self.model == "own") != (self.model_sha256 is not None):
            raise ValueError("model: own and model_sha256 go together")
        places = [layer.operator for layer in self.layers]
        if places != sorted(set(places)):
            raise ValueError("layers must name operators in the order of the model file, each once")
        return self


@dataclass(frozen=True)
class Runtime:
    """A runtime in a directory of this host.

    `sources` and `includes` are absolute paths; `sha256` is the digest of every file in the directory.
    """

    root: Path
    file: RuntimeFile
    sources: tuple[Path, ...]
    includes: tuple[Path, ...]
    sha256: str

    @property
    def name(self) -> str:
        """Its name, also that of its directory inside a build."""
        return self.file.name

    @property
    def version(self) -> str:
        """What its owner calls this state of it."""
        return self.file.version

    def libraries(self, core: str) -> tuple[Path, ...]:
        """The static libraries to link for a core."""
        return tuple(self.root / lib.path for lib in self.file.libraries if not lib.cores or core in lib.cores)


def load_runtime(directory: Path | str) -> Runtime:
    """Read and check a runtime's directory.

    Raises:
        RuntimeFileError: there is no runtime.yaml, or it is malformed; names file, line and key.
        SettingsError: the directory holds too much, or a link that leads out of it.
    """
    root = Path(directory).absolute()
    if not root.is_dir():
        raise RuntimeFileError(f"{directory} is no directory.", todo=f"Name the directory that holds {FILE_NAME}.")
    path = root / FILE_NAME
    document = load(path, RuntimeFileError)
    if not isinstance(document.value, dict):
        raise RuntimeFileError(f"{path} is not a mapping.", todo=_EXAMPLE)
    try:
        file = RuntimeFile.model_validate(document.value)
    except ValidationError as fault:
        error = explain(fault, RuntimeFile, [document], RuntimeFileError, "The runtime")
        error.todo = _EXAMPLE
        raise error from None
    sha256 = digest_of(root)
    _check_libraries(root, file.libraries, document)
    return Runtime(
        root,
        file,
        sources=_sources(root, file.sources, document),
        includes=_directories(root, file.includes, document),
        sha256=sha256,
    )


_EXAMPLE = "docs/external-engines.md explains every key; examples/external-engine is one to copy."


def _sources(root: Path, patterns: Sequence[str], document: YamlDocument) -> tuple[Path, ...]:
    found: set[Path] = set()
    for number, pattern in enumerate(patterns):
        where = document.where(("sources", number))
        try:
            # A name is a pattern without wildcards.
            hits = [path for path in root.glob(pattern) if path.is_file()]
        # What pathlib makes of patterns that it cannot read.
        except (ValueError, IndexError, NotImplementedError, OSError) as fault:
            raise RuntimeFileError(
                f"{where}: sources: {pattern[:80]!r} is no pattern of file names.",
                why=(fault.strerror if isinstance(fault, OSError) else None) or str(fault),
                todo="Correct this line.",
            ) from None
        if not hits:
            raise RuntimeFileError(f"{where}: sources: {pattern!r} names no file.", todo="Correct this line.")
        for path in hits:
            if path.suffix not in SUFFIXES:
                raise RuntimeFileError(
                    f"{where}: sources: {path.relative_to(root).as_posix()} is no source file.",
                    why=f"Known: {', '.join(SUFFIXES)}.",
                    todo="Headers are found through `includes`, libraries through `libraries`.",
                )
            _check_covered(root, path, f"{where}: sources")
        found.update(hits)
    return tuple(sorted(found))


def _directories(root: Path, names: Sequence[str], document: YamlDocument) -> tuple[Path, ...]:
    out = []
    for number, name in enumerate(names):
        path = Path(os.path.normpath(root / name))
        where = document.where(("includes", number))
        if not path.is_dir():
            raise RuntimeFileError(f"{where}: includes: {name!r} is no directory.", todo="Correct this line.")
        _check_covered(root, path, f"{where}: includes")
        out.append(path)
    return tuple(out)


def _check_libraries(root: Path, libraries: Sequence[Library], document: YamlDocument) -> None:
    # One for another core may be missing here; whoever links it says so.
    for number, library in enumerate(libraries):
        if (root / library.path).exists():
            where = document.where(("libraries", number, "path"))
            _check_covered(root, root / library.path, f"{where}: libraries")


def _check_covered(root: Path, path: Path, where: str) -> None:
    """The plan pins a runtime by its digest, so all that it names must be part of it."""
    if why := uncovered(root, path):
        raise RuntimeFileError(
            f"{where}: the runtime's digest does not cover {path.relative_to(root).as_posix()}.",
            why=f"{why[:1].upper()}{why[1:]}.",
            todo="Move or copy it to where the digest covers it.",
        )
