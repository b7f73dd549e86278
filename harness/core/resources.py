"""Where the firmware, boards, profiles and cost models lie: in the wheel, or beside the package in a checkout."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from harness.core.errors import HarnessError, HostError


@cache
def data_dir(name: Literal["firmware", "boards", "profiles", "costs"]) -> Path:
    """Directory of packaged data. The package is never zipped: the C compiler reads these files in place.

    `HARNESS_FIRMWARE_DIR` names another firmware directory, for building two of them in one environment.
    """
    override = os.environ.get("HARNESS_FIRMWARE_DIR") if name == "firmware" else None
    if override:
        return Path(override).absolute()
    package = Path(str(files("harness")))
    for candidate in (package / "_data" / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise HarnessError(
        f"The packaged directory {name!r} is missing.",
        why=f"Looked beside {package}.",
        todo="Install the package again; the wheel carries it.",
    )


def cache_root() -> Path:
    """Where compiled images and native helpers are kept: `HARNESS_CACHE_DIR`, else the user's cache directory.

    Raises:
        HostError: the user has no home directory, as in a container that runs under a bare user id.
    """
    override = os.environ.get("HARNESS_CACHE_DIR")
    if override:
        return Path(override).absolute()
    from platformdirs import user_cache_path

    try:
        return user_cache_path("harness", appauthor=False)
    except RuntimeError as error:
        raise HostError(
            "There is no place for the cache.",
            why=f"{str(error)[:1].upper()}{str(error)[1:]}.",
            todo="Set HARNESS_CACHE_DIR, or HOME.",
        ) from None


def runtime_root() -> Path:
    """A short per-user directory for sockets and locks: `HARNESS_RUNTIME_DIR`, else one in the temporary directory.

    Unix socket paths end at 108 bytes, so long temporary directories do not do.
    """
    override = os.environ.get("HARNESS_RUNTIME_DIR")
    root = Path(override).absolute() if override else Path(tempfile.gettempdir()) / f"hil-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.stat().st_uid != os.getuid():
        raise HarnessError(
            f"Runtime directory {root} belongs to another user.",
            why="Sockets and locks of a bench must be private.",
            todo="Set HARNESS_RUNTIME_DIR to a directory of your own.",
        )
    return root
