"""What a merge is told: Markdown and JUnit properties of a comparison of two bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli._main import run_cli
from harness.judge.compare import compare, try_compare
from harness.judge.profile import ComparisonProfile
from harness.judge.report import compare_markdown, junit_properties
from tests.results.builders import make_bundle, make_capture, make_context

PROFILE = """\
schema: hpx.comparison-profile
schema_version: 1
metrics:
  total_cycles: {direction: smaller, unit: cycles}
  power.energy_j: {direction: smaller, unit: J, missing: warn}
harness:
  metrics:
    clean.us: {direction: smaller, unit: us, max_regression_pct: 50}
"""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path, Path]:
    (tmp_path / "p.yml").write_text(PROFILE)
    base = make_bundle(tmp_path / "base")
    slower = make_bundle(tmp_path / "slower", make_capture((5000, 3600, 2500, 2000, 500)))
    return base, slower, tmp_path / "p.yml"


def test_markdown_says_what_changed_and_what_was_not_compared(pair: tuple[Path, Path, Path], tmp_path: Path) -> None:
    base, slower, profile = pair
    text = compare_markdown(compare(base, slower, ComparisonProfile.load(profile)))
    assert "(emulated): **failed**" in text
    assert "| total_cycles | 13,000 | 13,600 | +4.62 % |" in text
    assert "| 1 | " in text and "+20.00 %" in text
    assert "- power.energy_j: Metric is unavailable." in text
    other = make_bundle(tmp_path / "other", context=make_context(counter_model={"name": "cost-table", "version": "9"}))
    blocked = compare_markdown(compare(base, other))
    assert "Not compared:" in blocked and "metric.counters_counter_model_mismatch" in blocked
    refused = try_compare(base, make_bundle(tmp_path / "s", context=make_context(source="silicon")))
    assert "not judged" in compare_markdown(refused) and "compare.not_comparable" in compare_markdown(refused)


def test_properties_name_the_verdict_the_metrics_and_the_layers(pair: tuple[Path, Path, Path]) -> None:
    base, slower, profile = pair
    found = dict(junit_properties(compare(base, slower, ComparisonProfile.load(profile))))
    assert found["hil.verdict"] == "fail"
    assert found["hil.metric.total_cycles"] == "fail 13,600 +4.62 %"
    assert found["hil.changed_layers"] == "1"


@pytest.mark.parametrize("more", [[], ["--json"], ["--metrics"]])
def test_the_command_line_writes_a_comment(pair: tuple[Path, Path, Path], tmp_path: Path, more: list[str]) -> None:
    base, slower, profile = pair
    comment = tmp_path / "comment.md"
    arguments = ["compare", str(base), str(slower), "--profile", str(profile), "--markdown", str(comment), *more]
    assert run_cli(arguments) == 1
    assert comment.read_text().startswith("### Performance")


def test_a_noisy_metric_of_one_pair_is_said_to_be_unproved(tmp_path: Path) -> None:
    noisy = {"counters": "noisy", "window": "exact", "size": "exact"}
    (tmp_path / "p.yml").write_text(PROFILE)
    base, slower = (
        make_bundle(tmp_path / name, make_capture(cycles), context=make_context(repeatability=noisy))
        for name, cycles in (("a", (5000, 3000, 2500, 2000, 500)), ("b", (5000, 3600, 2500, 2000, 500)))
    )
    profile = ComparisonProfile.load(tmp_path / "p.yml")
    outcome = compare(base, slower, profile)
    said = outcome.to_dict()["noisy"]
    assert outcome.status == "fail", "bounds hold all the same"
    assert said["metrics"] == ["total_cycles"] and said["detectable"] is None and "scatter" in said["reason"]
    assert "noisy: total_cycles" in outcome.explain() and "Noisy: total_cycles." in compare_markdown(outcome)
    exact = compare(make_bundle(tmp_path / "c"), make_bundle(tmp_path / "d"), profile)
    assert exact.to_dict()["noisy"] is None and "noisy:" not in exact.explain()
