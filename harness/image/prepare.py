"""Compiling ahead: the objects of an engine that are the same for every model go into the cache of this host."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.board.descriptor import load_board_type
from harness.core.deadline import Deadline
from harness.engines.base import GeneratedEngine, get_engine
from harness.image.build import DEADLINE_SECONDS
from harness.image.build_header import FILE_NAME
from harness.image.compile import compile_objects, image_store, object_key
from harness.image.port_files import write_port_files
from harness.image.project import Project, Source, firmware_project
from harness.plan.freeze import engine_settings
from harness.plan.toolchain import find_toolchain

_OF_A_MODEL = (FILE_NAME, "engine_config.h", "model_weights.h")
"""Generated headers; what includes one depends on the model or the plan."""


@dataclass(frozen=True)
class Prepared:
    """What is in the cache for one engine and board type: objects that no model changes, and how many of them."""

    board: str
    toolchain: str
    units: int
    cached: int
    compiled: int = 0

    @property
    def complete(self) -> bool:
        """Whether a first build finds all of them."""
        return self.cached == self.units


def prepare(settings: Mapping[str, Any], *, deadline_seconds: float = DEADLINE_SECONDS) -> Prepared:
    """Compile what is not in the cache yet.

    Args:
        settings: of a plan, as keywords or by name: engine, backend, engine-config, board, toolchain, optimization and
            compile-flags decide the objects.
        deadline_seconds: for compiling.

    Raises:
        SettingsError, ToolMissingError: the engine, board type or compiler is not there, or not for each other.
        BuildError: the compiler refused, or a static library cannot be linked.
    """
    with _opened(settings) as (project, units):
        before = _cached(project, units)
        deadline = Deadline(deadline_seconds, "the compiler", f"the objects for {settings['board']}")
        compile_objects(project, units, image_store(), deadline)
        return _state(settings, project, units, compiled=len(units) - before)


def prepared(settings: Mapping[str, Any]) -> Prepared:
    """What of it is in the cache now; raises like `prepare`, compiles nothing."""
    with _opened(settings) as (project, units):
        return _state(settings, project, units)


@contextmanager
def _opened(given: Mapping[str, Any]) -> Iterator[tuple[Project, tuple[Source, ...]]]:
    settings, options = engine_settings(given)
    board = load_board_type(settings["board"])
    made: GeneratedEngine = get_engine(settings["engine"]).prebuilt(options)
    toolchain = find_toolchain(settings["toolchain"], board.core.cpuflags)
    with tempfile.TemporaryDirectory(prefix="harness-prepare-") as place:
        generated = Path(place)
        for name in _OF_A_MODEL:
            (generated / name).touch()
        write_port_files(board, generated)
        project = firmware_project(settings, board, toolchain, generated, made)
        yield project, tuple(unit for unit in project.units if not _depends_on_model(project, unit))


def _depends_on_model(project: Project, unit: Source) -> bool:
    changing = {f"generated/{name}" for name in _OF_A_MODEL}
    return any(header.name in changing for header in project.closure(unit))


def _cached(project: Project, units: tuple[Source, ...]) -> int:
    store = image_store()
    return sum(store.get(object_key(project, unit)) is not None for unit in units)


def _state(settings: Mapping[str, Any], project: Project, units: tuple[Source, ...], *, compiled: int = 0) -> Prepared:
    toolchain = project.toolchain.facts.version
    return Prepared(str(settings["board"]), toolchain, len(units), _cached(project, units), compiled)
