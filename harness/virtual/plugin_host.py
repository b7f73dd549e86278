"""Which version of QEMU's plugin interface the counter plugin is built for on this host.

Version 1 (QEMU 6.0 to 8.x) is what the project runs. For 2 (QEMU 9.0) and 3 to 5 (QEMU 9.1 and later) there is an
adapter written from QEMU's public description, unverified: nobody ran it in such an emulator yet. An emulator without
plugins still runs boards, with the counts that a fixed `-icount` gives and nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.core.deadline import Deadline
from harness.core.hashing import sha256_bytes
from harness.core.proc import clean_env, run_guarded
from harness.core.resources import cache_root
from harness.core.store import ContentStore
from harness.core.strict_json import canonical, load
from harness.virtual.native_build import NATIVE_DIR, build_shared

VERIFIED_INTERFACE = 1
ADAPTED_INTERFACES = (2, 3)
"""What host_v2.c can be built for; the later of them serves newer emulators too, since versions after 3 only add."""
PROBE_SECONDS = 20.0


@dataclass(frozen=True)
class PluginRange:
    """Oldest and newest version of the plugin interface that an emulator takes."""

    oldest: int
    newest: int

    @property
    def interface(self) -> int | None:
        """The version to build the counter plugin for; None when none of ours fits."""
        fitting = [
            version
            for version in (VERIFIED_INTERFACE, *sorted(ADAPTED_INTERFACES, reverse=True))
            if self.oldest <= version <= self.newest
        ]
        return fitting[0] if fitting else None


class _NoAnswerError(Exception):
    """The emulator ended without a word about plugins; nothing to remember."""


def plugin_range(program: Path, deadline: Deadline | None = None) -> PluginRange | None:
    """What an emulator says of its plugin interface; None when it takes no plugins. Asked once an emulator.

    Raises:
        ToolMissingError: this host has no C compiler.
        BuildError: the compiler refused.
        DeadlineError: the emulator does not answer.
    """
    state = program.resolve().stat()
    key = sha256_bytes(canonical({"program": [str(program.resolve()), state.st_size, state.st_mtime_ns]}))

    def make(directory: Path) -> None:
        found = _ask(program, deadline or Deadline(PROBE_SECONDS, "QEMU to state its plugin interface", "this host"))
        data = {"oldest": found.oldest, "newest": found.newest} if found else {}
        (directory / "range.json").write_bytes(canonical(data))

    store = ContentStore(cache_root() / "plugin-range")
    try:
        data = load(store.get_or_make_sealed(key, make) / "range.json")
    except _NoAnswerError:
        return None
    return PluginRange(int(data["oldest"]), int(data["newest"])) if data else None


def _ask(program: Path, deadline: Deadline) -> PluginRange | None:
    declared = VERIFIED_INTERFACE
    for _ in range(2):
        probe = build_shared("libapiprobe.so", NATIVE_DIR / "apiprobe", flags=(f"-DDECLARED_VERSION={declared}",))
        command = [str(program), "-M", "none", "-display", "none", "-plugin", str(probe)]
        text = run_guarded(command, deadline, env=clean_env()).stderr
        if found := re.search(r"plugin interface versions (\d+) to (\d+)", text):
            return PluginRange(int(found[1]), int(found[2]))
        oldest = re.search(r"minimum version of (\d+)", text)
        if oldest is None and "plugin" in text:
            return None
        if oldest is None:
            raise _NoAnswerError
        declared = int(oldest[1])
    return None
