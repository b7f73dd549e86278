"""All engines of this host as one list: the package's own, and the external ones it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness.core.errors import HarnessError, SettingsError
from harness.core.suggest import did_you_mean
from harness.engines.aot import cmsis_nn_sources
from harness.engines.aot.engine import ENGINE_VERSION, KERNELS_VERSION
from harness.engines.external.known import DIRECTORY, Found, known_runtimes
from harness.engines.external.manifest import Runtime, load_runtime

State = Literal["ready", "missing", "broken"]
WITH_CMSIS_NN = "aot+cmsis-nn"


@dataclass(frozen=True)
class RuntimeInfo:
    """One engine.

    Args:
        name: as `harness runtimes` takes it.
        version: of the engine; empty when it is not known.
        sha256: digest of its sources from outside the package; empty for the package's own, which a plan's baseline
            covers.
        origin: who named it.
        state: `ready`, `missing` (not installed) or `broken`.
        settings: those of a plan that choose it.
        problem: what is the matter.
        facts: what else its owner says of it.
    """

    name: str
    version: str
    sha256: str
    origin: str
    state: State
    settings: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "name": self.name,
            "version": self.version,
            "sha256": self.sha256,
            "origin": self.origin,
            "state": self.state,
            "settings": self.settings,
            "problem": self.problem,
            **self.facts,
        }


def known(search: Sequence[Path] = ()) -> tuple[RuntimeInfo, ...]:
    """Every engine, the package's own first; one that cannot be used says why.

    Args:
        search: further directories: of a runtime, or of several.
    """
    return (_aot(), _with_cmsis_nn(), *map(_of, known_runtimes(search)))


def one(which: str, search: Sequence[Path] = ()) -> RuntimeInfo:
    """The engine of a name or a directory.

    Raises:
        SettingsError: there is none, or there are several of that name.
        HarnessError: it cannot be used.
    """
    if Path(which).is_dir():
        return _external(load_runtime(which), "the command line")
    everything = known(search)
    fitting = {(info.sha256, info.problem): info for info in everything if info.name == which}
    if len(fitting) > 1:
        raise SettingsError(
            f"{len(fitting)} different runtimes are called {which!r}.",
            why="; ".join(f"{info.facts.get(DIRECTORY, '')}: {info.version}" for info in fitting.values()),
            todo="Name the directory.",
        )
    if not fitting:
        raise SettingsError(
            f"No engine {which!r} is known on this host.", why=did_you_mean(which, [info.name for info in everything])
        )
    info = next(iter(fitting.values()))
    if info.state != "ready":
        raise SettingsError(f"{which} cannot be used.", why=info.problem, todo="Mend it, then try again.")
    return info


def _aot() -> RuntimeInfo:
    return RuntimeInfo("aot", ENGINE_VERSION, "", "the package", "ready", {"engine": "aot"})


def _with_cmsis_nn() -> RuntimeInfo:
    settings = {"engine": "aot", "backend": cmsis_nn_sources.NAME}
    try:
        tree = cmsis_nn_sources.find_tree(None)
    except HarnessError as error:
        return RuntimeInfo(WITH_CMSIS_NN, ENGINE_VERSION, "", "the package", "missing", settings, str(error))
    version = f"{ENGINE_VERSION} + {tree.version}"
    facts = {DIRECTORY: str(tree.path), "kernels": KERNELS_VERSION}
    return RuntimeInfo(WITH_CMSIS_NN, version, tree.sha256, "the package", "ready", settings, facts=facts)


def _of(found: Found) -> RuntimeInfo:
    if found.runtime is not None:
        return _external(found.runtime, found.origin)
    name = Path(found.directory).name
    return RuntimeInfo(name, "", "", found.origin, "broken", {}, str(found.problem), {DIRECTORY: found.directory})


def _external(runtime: Runtime, origin: str) -> RuntimeInfo:
    file = runtime.file
    facts: dict[str, Any] = {
        DIRECTORY: str(runtime.root),
        "sources": [path.relative_to(runtime.root).as_posix() for path in runtime.sources],
        "libraries": [library.path for library in file.libraries],
        "flags": file.flags,
        "cores": file.cores or ["any"],
        "toolchains": file.toolchains or ["any"],
        "model": file.model,
        "arena_bytes": file.arena_bytes,
        "operators": file.operators or ["any"],
    }
    settings = {"engine": "external", "engine-config": {DIRECTORY: str(runtime.root)}}
    return RuntimeInfo(runtime.name, runtime.version, runtime.sha256, origin, "ready", settings, facts=facts)
