"""Which runtimes this host knows, and the one that a plan asks for.

A runtime is named by its directory (`engine-config: {directory: ...}`) or, when the host knows it, by its name
(`{runtime: pocket}`). Known are those below the directories of the setting `runtimes-path` and of the variable
`HARNESS_RUNTIMES` (separated as in PATH), and those that installed packages state as entry points of the group
`harness.runtimes`: a module beside its runtime.yaml, a path, or a function that returns one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.errors import HarnessError, HostError, SettingsError, ToolMissingError
from harness.core.suggest import did_you_mean
from harness.engines.base import EngineOptions
from harness.engines.external.manifest import FILE_NAME, Runtime, load_runtime

DIRECTORY, NAME = "directory", "runtime"
"""Engine options that name a runtime; one of them."""
VARIABLE = "HARNESS_RUNTIMES"
GROUP = "harness.runtimes"


@dataclass(frozen=True)
class Found:
    """A directory that should hold a runtime: who named it, and the runtime, or what is the matter with it."""

    directory: str
    origin: str
    runtime: Runtime | None = None
    problem: HarnessError | None = None


def known_runtimes(search: Sequence[Path] = ()) -> tuple[Found, ...]:
    """Every runtime that this host knows; one that cannot be used comes with the reason.

    Args:
        search: further directories: of a runtime, or of several.
    """
    out: dict[str, Found] = {}
    for directory, origin in _directories(search):
        if directory not in out:
            out[directory] = _found(Path(directory), origin)
    for entry in entry_points(group=GROUP):
        found = _of_entry(entry)
        out.setdefault(found.directory, found)
    return tuple(out.values())


def _directories(search: Sequence[Path]) -> Iterator[tuple[str, str]]:
    listed = [Path(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    for origin, places in (("runtimes-path", search), (VARIABLE, listed)):
        for place in places:
            root = place.absolute()
            below = sorted(file.parent for file in root.glob(f"*/{FILE_NAME}"))
            for directory in below if below and not (root / FILE_NAME).is_file() else [root]:
                yield str(directory), origin


def _found(directory: Path, origin: str) -> Found:
    try:
        return Found(str(directory), origin, load_runtime(directory))
    except HarnessError as problem:
        return Found(str(directory), origin, problem=problem)
    except OSError as fault:
        # A list of runtimes must not end with one that this user may not read.
        return Found(str(directory), origin, problem=HostError.of(fault))


def _of_entry(entry: EntryPoint) -> Found:
    origin = f"entry point {entry.name}"
    try:
        return _found(_path_of(entry.load()).absolute(), origin)
    # A plug-in may raise whatever it likes; the list must not end with it.
    except Exception as fault:
        why = f"{type(fault).__name__}: {fault}"
        return Found(
            entry.value, origin, problem=SettingsError(f"The {origin} names no runtime.", why=why, todo="Mend it.")
        )


def _path_of(value: Any) -> Path:
    if isinstance(value, ModuleType):
        return Path(str(value.__file__)).parent
    return Path(value() if callable(value) else value)


def find_runtime(options: EngineOptions) -> Runtime:
    """The runtime that the options ask for; with `options.pinned`, wherever on this host its digest is found.

    Raises:
        SettingsError: none is named, or none or several have that name.
        ToolMissingError: nothing on this host has the digest that a plan needs.
        RuntimeFileError: its runtime.yaml cannot be used.
    """
    directory, name = options.config.get(DIRECTORY), options.config.get(NAME)
    if directory is not None and name is not None:
        raise SettingsError(f"Engine options {DIRECTORY!r} and {NAME!r} both name a runtime.", todo="Leave one out.")
    if options.pinned:
        return _pinned(str(directory), options)
    if directory is not None:
        return load_runtime(str(directory))
    return _named(None if name is None else str(name), known_runtimes(options.search))


def _pinned(directory: str, options: EngineOptions) -> Runtime:
    (name, wanted), *_ = options.pinned.items()
    own = _found(Path(directory), "the plan")
    others = [] if own.runtime is not None and own.runtime.sha256 == wanted else known_runtimes(options.search)
    for found in (own, *others):
        if found.runtime is not None and found.runtime.sha256 == wanted:
            return found.runtime
    if own.runtime is not None:
        # It is there and was changed; whoever compares the digests says so.
        return own.runtime
    if Path(directory).is_dir() and own.problem is not None:
        raise own.problem
    here = [f"{item.runtime.name} {item.runtime.version} {item.runtime.sha256}" for item in others if item.runtime]
    raise ToolMissingError(
        f"The runtime {name!r} that the plan needs is not on this host.",
        why=f"It needs the digest {wanted}. Here: {'; '.join(here) or 'no runtime'}.",
        todo=f"Name its directory with --runtime, or in the variable {VARIABLE}.",
        context={"runtime": name, "sha256": wanted, "directory": directory},
    )


def _named(name: str | None, known: Sequence[Found]) -> Runtime:
    usable = [found.runtime for found in known if found.runtime is not None]
    names = sorted({runtime.name for runtime in usable})
    if name is None:
        raise SettingsError(
            "Engine 'external' needs a runtime.",
            why=f"Known on this host: {', '.join(names) or 'none'}.",
            todo=f"Name one, as in --engine-config {DIRECTORY}=path/to/runtime.",
        )
    fitting = {runtime.sha256: runtime for runtime in usable if runtime.name == name}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    if fitting:
        raise SettingsError(
            f"{len(fitting)} different runtimes are called {name!r}.",
            why="; ".join(f"{item.root}: {item.version} {item.sha256}" for item in fitting.values()),
            todo=f"Name the directory, as in --engine-config {DIRECTORY}=path/to/runtime.",
        )
    broken = [found.problem for found in known if found.problem is not None]
    why = did_you_mean(name, names) or (str(broken[0]) if broken else "No runtime is known.")
    raise SettingsError(
        f"No runtime {name!r} is known on this host.",
        why=why,
        todo=f"`harness runtimes list` shows those that are; {VARIABLE} names directories of runtimes.",
    )
