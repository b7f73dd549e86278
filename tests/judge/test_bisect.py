"""Searching for a commit, without a board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.bisect import is_worse, metric_profile, search
from harness.judge.repeats import RepeatedVerdict
from harness.judge.status import OutcomeStatus


@given(st.integers(1, 60), st.data())
def test_the_first_bad_commit_is_found_in_few_steps(count: int, data: st.DataObject) -> None:
    commits = [str(number) for number in range(count)]
    culprit = data.draw(st.integers(0, count - 1))
    outcome = search(commits, lambda commit: int(commit) >= culprit)
    assert outcome.commit == str(culprit)
    assert len(outcome.tested) <= count.bit_length() + 1


@given(st.integers(1, 30), st.sets(st.integers(0, 29)), st.data())
def test_commits_that_cannot_be_judged_leave_suspects_never_a_wrong_answer(
    count: int, blind: set[int], data: st.DataObject
) -> None:
    commits = [str(number) for number in range(count)]
    culprit = data.draw(st.integers(0, count - 1))
    outcome = search(commits, lambda commit: None if int(commit) in blind else int(commit) >= culprit)
    assert str(culprit) in outcome.suspects
    between = {int(commit) for commit in outcome.suspects[:-1]}
    assert between <= blind


def test_the_profile_of_one_metric() -> None:
    profile = metric_profile("layer[3].cycles", "cycles")
    assert profile.harness is not None and list(profile.harness.metrics) == ["layer[3].cycles"]


@pytest.mark.parametrize(
    ("verdicts", "worse"),
    [
        ([], None),
        ([("n", OutcomeStatus.FAIL, 2)], None),
        ([("m", OutcomeStatus.FAIL, 0)], None),
        ([("m", OutcomeStatus.FAIL, 2)], True),
        ([("m", OutcomeStatus.PASS, 2)], False),
        ([("m", OutcomeStatus.IMPROVED, 2)], False),
        ([("m", OutcomeStatus.INCONCLUSIVE, 30)], None),
        ([("m", None, 10)], None),
    ],
)
def test_a_metric_that_was_not_measured_is_neither_good_nor_bad(
    verdicts: list[tuple[str, OutcomeStatus | None, int]], worse: bool | None
) -> None:
    found = [RepeatedVerdict(name, status, "", pairs=pairs) for name, status, pairs in verdicts]
    assert is_worse(found, "m") is worse
