"""What this host can do: one check a fact, each with what to do when it fails."""

from __future__ import annotations

import shutil
from importlib import import_module

from harness.bench.locks import lock_directory
from harness.bench.virtual import emulator_checks
from harness.core.checks import Check, run_checks
from harness.core.deadline import Deadline
from harness.core.proc import clean_env, run_guarded
from harness.core.resources import cache_root

MIN_FREE_BYTES = 500 * 1024 * 1024
TOOL_SECONDS = 20.0


def host_checks() -> tuple[Check, ...]:
    """All checks of this host, none of which changes anything but the cache of compiled helpers."""
    return emulator_checks() + run_checks(
        (
            ("target compiler", _target_compiler),
            ("locks", _locks),
            ("disk space", _disk),
            ("J-Link software", _segger),
        )
    )


def _target_compiler(name: str) -> Check:
    found = shutil.which("arm-none-eabi-gcc")
    if found is None:
        return Check(
            name,
            "missing",
            "arm-none-eabi-gcc is not on PATH",
            "apt-get install -y gcc-arm-none-eabi libnewlib-arm-none-eabi",
        )
    deadline = Deadline(TOOL_SECONDS, "the target compiler to state its version", "this host")
    done = run_guarded([found, "--version"], deadline, env=clean_env())
    return Check(name, "ok", next(iter(done.stdout.splitlines()), f"status {done.status}").strip())


def _locks(name: str) -> Check:
    return Check(name, "ok", str(lock_directory()))


def _disk(name: str) -> Check:
    root = cache_root()
    while not root.exists():
        root = root.parent
    free = shutil.disk_usage(root).free
    text = f"{free // (1024 * 1024)} MiB free at {root}"
    if free < MIN_FREE_BYTES:
        return Check(name, "warning", text, "Free some space: `harness cache purge`.")
    return Check(name, "ok", text)


def _segger(name: str) -> Check:
    library = import_module("pylink.library").Library
    found = next(iter(library.find_library_linux()), None)
    if found is None:
        return Check(name, "ok", "not installed; only needed for boards on real J-Links")
    return Check(name, "ok", f"{found} (not verified with this version)")
