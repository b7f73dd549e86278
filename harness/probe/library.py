"""Loading the J-Link library so that several sessions in one process do not share its state.

The library keeps one session in static data, so each session needs a copy of its own. A loaded copy is never unloaded
(ctypes offers no safe way), therefore copies are kept and used again: a process needs as many as it has sessions open
at once, however many runs it makes.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from harness.core.errors import ProbeError, ToolMissingError


@dataclass(frozen=True)
class JLinkLibrary:
    """Which library a probe loads.

    Attributes:
        path: the library file; None lets pylink look for SEGGER's.
        isolated: load a private in-memory copy; only for a library that needs no files beside it, such as ours.
    """

    path: Path | None = None
    isolated: bool = False


@dataclass
class LibraryPool:
    """Loaded copies that no session uses at present."""

    _free: dict[JLinkLibrary, list[Any]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, choice: JLinkLibrary) -> Any:
        """A `pylink.library.Library` for one session.

        Raises:
            ToolMissingError: there is no J-Link library.
            ProbeError: the file cannot be loaded.
        """
        with self._lock:
            free = self._free.get(choice)
            if free:
                return free.pop()
        return _load(choice)

    def give_back(self, choice: JLinkLibrary, library: Any) -> None:
        """Hand back a copy whose session was closed."""
        with self._lock:
            self._free.setdefault(choice, []).append(library)

    def clear(self) -> None:
        """Forget all copies that are not in use."""
        with self._lock:
            self._free.clear()


@cache
def shared_pool() -> LibraryPool:
    """The pool of this process: loaded libraries are a property of the process, not of whoever asked for them."""
    pool = LibraryPool()
    # pylink removes the temporary file of a copy when that is collected, which at interpreter shutdown is too late.
    atexit.register(pool.clear)
    return pool


def pylink() -> Any:
    """The pylink package, imported late; it has no types."""
    return import_module("pylink")


def _load(choice: JLinkLibrary) -> Any:
    loader = pylink().library.Library
    try:
        if choice.path is None:
            library = loader()
        elif choice.isolated:
            library = _load_copy(choice.path)
        else:
            library = loader(dllpath=str(choice.path))
    except OSError as error:
        raise ProbeError(
            f"The J-Link library {choice.path or ''} cannot be loaded.".replace("  ", " "),
            why=str(error),
            todo="Check `library` in bench.yaml; it must be a 64-bit libjlinkarm.so for this machine.",
        ) from None
    if library.dll() is None:
        raise ToolMissingError(
            "SEGGER's J-Link library is not installed.",
            why="pylink found no libjlinkarm in the places it searches.",
            todo="Install the J-Link software from segger.com, or state `library:` of the board in bench.yaml.",
        )
    return library


def _load_copy(path: Path) -> Any:
    """A copy in memory, so that a killed process leaves no temporary file; on disk where that is not permitted."""
    loader = pylink().library.Library
    with suppress(OSError):
        fd = os.memfd_create(path.name)
        try:
            with path.open("rb") as source:
                os.sendfile(fd, source.fileno(), 0, os.fstat(source.fileno()).st_size)
            # The descriptor stays open as long as the copy: its number is the name under which it is loaded.
            return loader(dllpath=f"/proc/self/fd/{fd}", use_tmpcpy=False)
        except BaseException:
            os.close(fd)
            raise
    return loader(dllpath=str(path), use_tmpcpy=True)
