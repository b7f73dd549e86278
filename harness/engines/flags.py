"""Compiler flags that must not be given by whoever does not own the build: they decide what the harness decides."""

from __future__ import annotations

import re

REFUSED_FLAGS = (
    "-fplugin", "-fprofile", "-fdump", "-ffile-prefix", "-fdebug-prefix", "-fmacro-prefix", "-flto", "-fuse",
    "-frandom", "-ftest-coverage", "-fwhole-program", "-fstack-usage", "-fcallgraph", "-fopt-info", "-fsanitize",
    "-frecord", "-save", "-mcpu", "-mfloat-abi", "-mfpu", "-march", "-mthumb", "-marm", "-DHARNESS_",
)  # fmt: skip
"""Beginnings of flags that name files, write further files, or contradict the board's core."""
_OF_SOURCES = re.compile(r"-([fmD][A-Za-z0-9_][A-Za-z0-9_=,.+-]*|std=[a-z0-9+:]+|O[0-3s]|W[a-z][A-Za-z0-9=+-]*)")


def refused(flag: str) -> str:
    """Why sources from outside may not bring this flag; empty when they may."""
    if not _OF_SOURCES.fullmatch(flag) or flag.startswith(("-Wl", "-Wa", "-Wp")):
        return f"{flag!r} is not of the form -D..., -f..., -m..., -std=..., -O... or -W..."
    if flag.startswith(REFUSED_FLAGS):
        return f"{flag} is not allowed: the board type and the harness decide it, or it breaks repeatability"
    return ""
