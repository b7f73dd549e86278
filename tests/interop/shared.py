"""Cases kept beside the repository; they only add to what the tests here make themselves."""

from __future__ import annotations

from pathlib import Path

ORACLES = Path(__file__).parents[2].parent / "shared" / "oracles"


def cases(room: str, pattern: str) -> list[Path]:
    """Files or directories of one room; empty when the folder is not there."""
    return sorted((ORACLES / room).glob(pattern))
