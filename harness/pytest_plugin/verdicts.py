"""A verdict as a test sees it: true, or false with its reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import InconclusiveVerdict, RegressionFailed

if TYPE_CHECKING:
    from harness.judge.compare import CompareOutcome
    from harness.judge.paired import PairedOutcome


@dataclass(frozen=True)
class JudgedPair:
    """What a profile says of one pair of bundles.

    `status` is one of `harness.judge.status.STATUSES`, which says which are true in a boolean context: skip and none
    judged nothing. `on_false` is told the file and line that asked and got a failed or inconclusive verdict.
    """

    outcome: CompareOutcome | PairedOutcome
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
        from harness.judge.status import is_true

        good = is_true(self.status)
        if self.status in ("fail", "inconclusive"):
            asker = sys._getframe(1)
            self.on_false(asker.f_code.co_filename, asker.f_lineno)
        return good

    def check(self) -> JudgedPair:
        """Return self when true.

        Raises:
            RegressionFailed: the verdict failed.
            InconclusiveVerdict: neither pass nor fail is sure.
            AssertionError: nothing was judged.
        """
        if self:
            return self
        kinds: dict[str, type[AssertionError]] = {"fail": RegressionFailed, "inconclusive": InconclusiveVerdict}
        raise kinds.get(self.status, AssertionError)(self.explain())

    def explain(self) -> str:
        """The verdict as text: one line per judged metric, then what changed."""
        return str(self.outcome.explain())

    def __repr__(self) -> str:
        return f"<verdict {self.status}>\n{self.explain()}"
