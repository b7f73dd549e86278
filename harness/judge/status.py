"""Every status a judgement can end with: what it is in a test, and what the command line ends with. The one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class VerdictStatus(StrEnum):
    """Outcome of a profile, or of one metric in it."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class OutcomeStatus(StrEnum):
    """What a judgement says: of a pair of bundles, of one metric over repeated runs, or of these as a whole."""

    PASS = "pass"
    IMPROVED = "improved"
    WARN = "warn"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIP = "skip"
    NONE = "none"
    ERROR = "error"


@dataclass(frozen=True)
class StatusRule:
    """One status. `rank` orders them from the one that decides a whole down; None never joins others.

    The `exit_code` of `error` is that of its error. `test_class` is the class in the summary of a pytest session.
    """

    true: bool
    exit_code: int | None
    rank: int | None
    test_class: str
    when: str


STATUSES: Mapping[str, StatusRule] = MappingProxyType(
    {
        "fail": StatusRule(
            False, 1, 0, "regression", "worse than allowed, absent, not a number, or a required fact differs"
        ),
        "inconclusive": StatusRule(False, 7, 1, "inconclusive", "the runs are spent and neither fail nor pass is sure"),
        "warn": StatusRule(True, 0, 2, "passed", "as pass, but over a warn bound, or an absent metric only warns"),
        "improved": StatusRule(True, 0, 3, "passed", "as pass, and repeats show that it got better"),
        "pass": StatusRule(True, 0, 4, "passed", "a metric was judged, and none is worse than allowed"),
        "skip": StatusRule(False, 0, 5, "failed", "every metric was absent and ignored: nothing was judged"),
        "none": StatusRule(False, 0, None, "failed", "no profile was given: nothing was judged"),
        "error": StatusRule(
            False, None, None, "infrastructure", "profile unusable (2), not comparable (4) or broken evidence (5)"
        ),
    }
)


def is_true(status: str) -> bool:
    """Whether a status is true in a test."""
    return STATUSES[status].true


def deciding(statuses: Iterable[str]) -> OutcomeStatus:
    """The status that decides a whole: the first by rank that occurs; skip when there is none.

    A whole of pass and improved is `improved`.
    """
    ranked = [(STATUSES[status].rank, status) for status in {str(item) for item in statuses}]
    return OutcomeStatus(min(((rank, name) for rank, name in ranked if rank is not None), default=(0, "skip"))[1])


def worst(statuses: Iterable[VerdictStatus]) -> VerdictStatus:
    """Any fail is fail, else any warn is warn, else any pass is pass; nothing but skips is skip."""
    return VerdictStatus(deciding(statuses).value)
