"""A verdict as a test sees it: true, or false with its reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import RegressionFailed

if TYPE_CHECKING:
    from harness.judge.compare import CompareOutcome


@dataclass(frozen=True)
class JudgedPair:
    """What a profile says of one pair of bundles.

    `status` is pass, warn, fail, skip or none. In a boolean context it is true for pass and warn only: skip and none
    judged nothing. `on_false` is told the file and line that asked and got a failed verdict.
    """

    outcome: CompareOutcome
    baseline: Path
    candidate: Path
    on_false: Callable[[str, int], None]

    @property
    def status(self) -> str:
        """The overall status."""
        return str(self.outcome.status)

    @property
    def changed_layers(self) -> tuple[Any, ...]:
        """Layers whose counters differ between the two bundles."""
        return tuple(self.outcome.changed_layers)

    def __bool__(self) -> bool:
        good = self.status in ("pass", "warn")
        if self.status == "fail":
            asker = sys._getframe(1)
            self.on_false(asker.f_code.co_filename, asker.f_lineno)
        return good

    def check(self) -> JudgedPair:
        """Return self when true.

        Raises:
            RegressionFailed: the verdict failed.
            AssertionError: nothing was judged.
        """
        if self:
            return self
        raise (RegressionFailed if self.status == "fail" else AssertionError)(self.explain())

    def explain(self) -> str:
        """The verdict as text: one line per judged metric, then what changed."""
        return str(self.outcome.explain())

    def __repr__(self) -> str:
        return f"<verdict {self.status}>\n{self.explain()}"
