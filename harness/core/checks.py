"""Facts about this host, each with what to do when it is not as it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from harness.core.errors import HarnessError

Level = Literal["ok", "warning", "missing"]


@dataclass(frozen=True)
class Check:
    """One fact. `missing`: runs that need it cannot work; `warning`: something is slower or unavailable."""

    name: str
    level: Level
    found: str
    todo: str = ""

    def to_dict(self) -> dict[str, str]:
        """JSON-ready form."""
        return {"name": self.name, "level": self.level, "found": self.found, "todo": self.todo}


def run_checks(checks: Iterable[tuple[str, Callable[[str], Check]]]) -> tuple[Check, ...]:
    """Run each check under its name; one that raises a `HarnessError` counts as missing."""
    return tuple(_run(name, check) for name, check in checks)


def _run(name: str, check: Callable[[str], Check]) -> Check:
    try:
        return check(name)
    except HarnessError as error:
        return Check(name, "missing", " ".join(part for part in (error.what, error.why) if part), error.todo)
