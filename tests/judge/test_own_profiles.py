"""The `harness` field of profiles: warn bounds, boards, composition, statistics, faults by file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ProfileError
from harness.judge.own_profile import MERGE_PLAN, OwnPolicy
from harness.judge.profile import ComparisonProfile
from harness.judge.status import STATUSES, OutcomeStatus, VerdictStatus, deciding, is_true, worst
from harness.judge.verdict import MetricDiff, MissingMetricPolicy, judge_metric

HEAD = """\
schema: hpx.comparison-profile
schema_version: 1
metrics:
  total_cycles: {direction: smaller, unit: cycles}
"""
CLEAN = "  metrics:\n    clean.us: {direction: smaller, unit: us}\n"
BEGUN = "  metrics:\n    clean.us: {direction: smaller, unit: us, "


def load(tmp_path: Path, harness: str, name: str = "p.yml") -> ComparisonProfile:
    (tmp_path / name).write_text(HEAD + "harness:\n" + harness)
    return ComparisonProfile.load(tmp_path / name)


def test_boards_override_single_fields(tmp_path: Path) -> None:
    profile = load(
        tmp_path,
        BEGUN + "max_regression_pct: 1}\n"
        "  boards:\n    slow: {clean.us: {max_regression_pct: 4}, clean.cycles: {direction: equal, unit: cycles}}\n",
    )
    assert profile.harness is not None
    assert profile.harness.for_board("other")["clean.us"].max_regression_pct == 1
    assert profile.harness.for_board(None).keys() == {"clean.us"}
    slow = profile.harness.for_board("slow")
    assert (slow["clean.us"].max_regression_pct, slow["clean.us"].unit) == (4, "us")
    assert slow["clean.cycles"].direction == "equal"


def test_profiles_build_on_others_base_before_heir(tmp_path: Path) -> None:
    load(
        tmp_path,
        "  missing: warn\n" + BEGUN + "max_regression_pct: 9}\n",
        "a.yml",
    )
    cycles = "    clean.cycles: {direction: equal, unit: cycles}\n"
    load(
        tmp_path,
        "  extends: a.yml\n  metrics:\n    clean.us: {max_regression_abs: 5}\n" + cycles,
        "b.yml",
    )
    heir = load(tmp_path, "  extends: [b.yml, latency]\n  statistics: {margin_pct: 2}\n")
    part = heir.harness
    assert part is not None and part.missing == "warn" and part.statistics.margin_pct == 2
    assert part.metrics["clean.us"].max_regression_abs == 5
    assert part.metrics["clean.us"].max_regression_pct == 1, "latency comes later and decides"
    assert {"clean.cycles", "layer[*].cycles"} <= part.metrics.keys()
    assert list(heir.metrics) == ["total_cycles"], "the part that hpx judges is never inherited"


@pytest.mark.parametrize(
    ("harness", "line", "key", "says"),
    [
        ("  extends: none.yml\n", 6, "harness.extends", "no profile"),
        ("  extends: p.yml\n", 6, "harness.extends", "itself"),
        ("  extends: 5\n", 6, "harness.extends", "list of names"),
        (BEGUN + "warn_regression_pct: -1}\n", 7,
         "harness.metrics.clean.us.warn_regression_pct", "zero or more"),
        (BEGUN + "\n      max_regression_pct: 1, warn_regression_pct: 2}\n", 8,
         "harness.metrics.clean.us.warn_regression_pct", "over max"),
        (BEGUN + "margin_pct: 0}\n", 7, "harness.metrics.clean.us.margin_pct", "larger"),
        ("  boards:\n    x: 5\n" + CLEAN, 7, "harness.boards.x", "map"),
        ("  boards:\n    x:\n      clean.us: {unit: ms}\n" + CLEAN, 8,
         "harness.boards.x.clean.us.unit", "measured"),
        ("  boards:\n    x:\n      clean.mus: {unit: us}\n" + CLEAN, 8,
         "harness.boards.x.clean.mus", "no metric"),
        ("  statistics: {looks: [10, 5]}\n" + CLEAN, 6, "harness.statistics", "rising"),
        ("  statistics: {looks: [0.5]}\n" + CLEAN, 6, "harness.statistics.looks", "whole"),
        ("  statistics: {fail_level: 2}\n" + CLEAN, 6, "harness.statistics", "level"),
        ("  statistics: {levels: 2}\n" + CLEAN, 6, "harness.statistics.levels", "unknown"),
        ("  statistics: 5\n" + CLEAN, 6, "harness.statistics", "object"),
    ],
)  # fmt: skip
def test_faults_name_file_line_and_key(tmp_path: Path, harness: str, line: int, key: str, says: str) -> None:
    with pytest.raises(ProfileError, match=says) as caught:
        load(tmp_path, harness)
    assert (caught.value.context["line"], caught.value.context["key"]) == (line, key)
    assert f"p.yml:{line}:" in caught.value.what


def test_a_fault_in_a_base_names_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text(HEAD + "harness:\n  colour: red\n")
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, "  extends: base.yml\n")
    assert "base.yml:6:" in caught.value.what


def test_statistics_have_defaults_and_overrides(tmp_path: Path) -> None:
    metrics = "  metrics:\n    clean.us: {direction: smaller, unit: us}\n"
    plain = load(tmp_path, metrics).harness
    assert plain is not None and plain.statistics.plan == MERGE_PLAN
    given = load(tmp_path, "  statistics: {looks: [6, 12], fail_level: 0.02}\n" + metrics).harness
    assert given is not None
    assert given.statistics.plan.looks == (6, 12) and given.statistics.plan.fail_level == 0.02
    assert sum(given.statistics.plan.fail_shares) == pytest.approx(1)


@given(st.floats(0, 300), st.floats(-1000, 1000).filter(bool))
def test_warn_lies_between_pass_and_fail(worse: float, baseline: float) -> None:
    policy = OwnPolicy.from_dict(
        {"direction": "smaller", "unit": "us", "max_regression_abs": 200, "warn_regression_abs": 100}
    )
    row = MetricDiff("clean.us", baseline, baseline + worse, unit="us")
    status = judge_metric("clean.us", row, policy, MissingMetricPolicy.FAIL).status
    seen = max(0.0, (baseline + worse) - baseline)
    assert status == ("fail" if seen > 200 else "warn" if seen > 100 else "pass")


def test_one_table_maps_every_status() -> None:
    assert set(STATUSES) == {str(item) for item in OutcomeStatus} >= {str(item) for item in VerdictStatus}
    assert {name for name, rule in STATUSES.items() if rule.true} == {"pass", "improved", "warn"}
    codes = {name: rule.exit_code for name, rule in STATUSES.items()}
    assert codes["fail"] == 1 and codes["inconclusive"] == 7 and codes["error"] is None
    assert all(codes[name] == 0 for name in ("pass", "improved", "warn", "skip", "none"))
    assert not is_true("inconclusive")


@given(st.lists(st.sampled_from(["fail", "inconclusive", "warn", "improved", "pass", "skip"]), max_size=6))
def test_the_whole_is_its_worst_part(statuses: list[str]) -> None:
    order = ["fail", "inconclusive", "warn", "improved", "pass", "skip"]
    assert deciding(statuses) == min(statuses, key=order.index, default="skip")


@given(st.lists(st.sampled_from(list(VerdictStatus)), max_size=6))
def test_worst_agrees_with_hpx(statuses: list[VerdictStatus]) -> None:
    order = [VerdictStatus.FAIL, VerdictStatus.WARN, VerdictStatus.PASS]
    assert worst(statuses) == next((item for item in order if item in statuses), VerdictStatus.SKIP)


def test_dump_and_load_keep_the_harness_field(tmp_path: Path) -> None:
    text = "  statistics: {margin_pct: 2}\n  metrics:\n    clean.us: {direction: smaller, unit: us, margin_abs: 3}\n"
    profile = load(tmp_path, text)
    (tmp_path / "again.yml").write_text(yaml.safe_dump(profile.to_dict()))
    assert ComparisonProfile.load(tmp_path / "again.yml").sha256 == profile.sha256
