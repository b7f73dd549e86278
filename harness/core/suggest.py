"""Did-you-mean hints for names that people typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean 'x'?` when a known name is near, else the list of known names."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Known: {', '.join(names)}." if names else ""
