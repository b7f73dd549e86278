"""Our answers on our own pairs against hpx 0.4.1: its answers are kept in the repository and asked again from the peer.

To renew them after adding a pair: `python -m tests.judge.test_hpx_pairs` with the peer installed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EvidenceError, HarnessError, NotComparableError, ProfileError
from harness.judge.comparability import assess_comparability
from harness.judge.compare import CompareOutcome, compare
from harness.judge.metrics import METRICS
from harness.judge.profile import ComparisonProfile
from harness.results.manifest import load_result_manifest
from harness.results.reader import read_bundle
from tests.judge.pairs import FOREIGN, OURS, write_all

HERE = Path(__file__).parent
ANSWERS = HERE / "hpx_answers.json"
OWN = {name for name, metric in METRICS.items() if not metric.hpx}
PEER = HERE.parents[1] / ".peers" / "hpx" / "bin"
KEPT: dict[str, Any] = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {"cases": {}, "views": {}}


def ask(root: Path) -> dict[str, Any]:
    """hpx's answers for the pairs below a directory."""
    done = subprocess.run(
        [str(PEER / "python"), str(HERE / "ask_hpx.py"), str(root)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: dict[str, Any] = json.loads(done.stdout)
    cases = answers["cases"]
    answers["cases"] = {name: compact(case, cases["plain"]["metrics"]) for name, case in cases.items()}
    return answers


def compact(answer: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """An answer with only those metric rows that differ from the usual ones, and what is missing of them."""
    rows = answer.get("metrics")
    if rows is None:
        return answer
    changed = {name: row for name, row in rows.items() if usual.get(name) != row}
    return {**answer, "metrics": changed, "without": sorted(usual.keys() - rows.keys())}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pairs")
    write_all(root)
    return root


def load_profile(case: Path) -> ComparisonProfile | None:
    return ComparisonProfile.load(case / "profile.json") if (case / "profile.json").exists() else None


def plain(value: Any) -> Any:
    """As the answers have it: non-finite numbers as their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def our_answer(case: Path) -> dict[str, Any]:
    """What `ask_hpx.answer` asks of hpx, asked of us in the lenient way."""
    base, cand = case / "baseline", case / "candidate"
    out: dict[str, Any] = {"strict": [], "verified": []}
    for side in (base, cand):
        try:
            read_bundle(side)
            out["strict"].append(None)
        except EvidenceError as error:
            out["strict"].append(error.code)
        try:
            load_result_manifest(side / "result_manifest.json", verify=True)
            out["verified"].append(True)
        except HarnessError:
            out["verified"].append(False)
    try:
        profile = load_profile(case)
    except ProfileError:
        return {**out, "error": "profile"}
    try:
        artifacts = read_bundle(base, strict=False), read_bundle(cand, strict=False)
    except EvidenceError:
        return {**out, "error": "load"}
    out["codes"] = [[item.code, item.severity.value] for item in assess_comparability(*artifacts).issues]
    try:
        outcome = compare(*artifacts, profile)
    except NotComparableError:
        return {**out, "error": "not_comparable"}
    return {**out, **_compared(outcome)}


def _compared(outcome: CompareOutcome) -> dict[str, Any]:
    return {
        "metrics": {
            row.name: [row.baseline, row.candidate, row.delta, row.delta_pct, row.unit] for row in outcome.metrics
        },
        "layers": [[row.baseline_cycles, row.candidate_cycles, sorted(row.counters)] for row in outcome.layers],
        "verdict": outcome.verdict.to_dict() if outcome.verdict is not None else None,
    }


@pytest.mark.parametrize("name", [*FOREIGN, *OURS])
def test_we_answer_as_hpx_does(pairs: Path, name: str) -> None:
    expected = KEPT["cases"][name]
    ours = plain(our_answer(pairs / name))
    if "metrics" in ours:
        usual = plain(_compared(compare(pairs / "plain" / "baseline", pairs / "plain" / "candidate")))["metrics"]
        ours = compact(ours, usual)
        assert set(ours["metrics"]) - set(expected["metrics"]) <= OWN
        ours["metrics"] = {key: row for key, row in ours["metrics"].items() if key in expected["metrics"]}
    assert ours == expected


def test_every_pair_has_an_answer_and_no_answer_is_stale() -> None:
    assert set(KEPT["cases"]) == {*FOREIGN, *OURS}


def test_the_pairs_reach_every_kind_of_answer() -> None:
    answers = KEPT["cases"].values()
    assert {answer.get("error") for answer in answers} == {None, "profile", "load", "not_comparable"}
    verdicts = {answer["verdict"]["status"] for answer in answers if answer.get("verdict")}
    assert verdicts == {"pass", "warn", "fail", "skip"}
    severities = {severity for answer in answers for _, severity in answer.get("codes", [])}
    assert severities == {"blocking", "layer_blocking", "metric_blocking", "informative"}


def test_hpx_still_answers_so(pairs: Path) -> None:
    assert ask(pairs) == KEPT


def test_strict_comparison_refuses_more() -> None:
    """Pairs that hpx compares though its own strict reader refuses a side: we refuse them with exit 5."""
    stricter = {
        name
        for name, answer in KEPT["cases"].items()
        if any(answer["strict"]) and answer.get("error") not in ("load", "profile", "not_comparable")
    }
    assert stricter >= {"value_nan", "value_infinity"}


@pytest.mark.parametrize("name", ["value_nan", "value_infinity", "value_minus_infinity_in_baseline"])
def test_non_finite_numbers_in_a_bundle_are_broken_evidence(pairs: Path, name: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        compare(pairs / name / "baseline", pairs / name / "candidate", load_profile(pairs / name))
    assert caught.value.code == "invalid_number"
    assert caught.value.context["artifact"] == "summary.json"


def hpx(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PEER / "hpx"), *args], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_hpx_sees_our_values(pairs: Path, side: str) -> None:
    run = read_bundle(pairs / "ours_restore_zero" / side)
    view = KEPT["views"][f"ours_restore_zero/{side}"]
    assert view["validity"] == "valid"
    seen = {name: value for name, (value, _) in view["observations"].items()}
    assert seen["latency.profiled_invoke.v1"] == run.summary["latency"]["device_profiled_infer_avg_us"] / 1000
    assert seen["latency.restore_invoke.v1"] == run.summary["latency"]["device_clean_infer_avg_us"] / 1000
    assert seen["memory.arena_capacity.v1"] == run.summary["memory"]["arena_size"]
    assert seen["memory.arena_allocated.v1"] == run.summary["memory"]["allocated_arena"]
    assert seen["memory.linked_data.v1"] == run.summary["binary"]["data"]
    assert seen["memory.linked_bss.v1"] == run.summary["binary"]["bss"]


def test_a_window_that_does_not_restore_is_not_shown_as_one(pairs: Path) -> None:
    view = KEPT["views"]["ours_same/baseline"]["observations"]
    assert view["latency.restore_invoke.v1"] == [None, "clean_workload_scope_not_recorded"]


def test_hpx_command_line_verifies_compares_and_refuses(pairs: Path, tmp_path: Path) -> None:
    same, slower, invalid = (pairs / name for name in ("ours_same", "ours_slower_layer", "ours_invalid"))
    inspected = json.loads(hpx("results", "inspect", str(same / "baseline")).stdout)
    assert inspected["status"] == "verified"
    profile = str(slower / "profile.json")
    done = hpx("compare", *_sides(slower), "--profile", profile, "--output-dir", str(tmp_path))
    assert done.returncode == 1
    theirs = json.loads((tmp_path / "compare_summary.json").read_text())
    ours = compare(*_sides(slower), profile)
    assert theirs["verdict"] == (ours.verdict.to_dict() if ours.verdict else None)
    totals = next(row for row in theirs["metrics"] if row["name"] == "total_cycles")
    assert (totals["baseline"], totals["candidate"]) == (13000.0, 13600.0)
    listed = (tmp_path / "layer_diff.csv").read_text().splitlines()[1:]
    assert [line.split(",")[3] for line in listed] == [layer.op for layer in ours.layers]
    refused = hpx("compare", *_sides(invalid), "--profile", profile)
    assert refused.returncode == 1
    assert "not comparable" in refused.stdout + refused.stderr


def _sides(case: Path) -> tuple[str, str]:
    return str(case / "baseline"), str(case / "candidate")


def _lines(entries: dict[str, Any]) -> list[str]:
    return [f"{json.dumps(name)}: {json.dumps(entry, sort_keys=True)}" for name, entry in sorted(entries.items())]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        write_all(Path(scratch))
        answers = ask(Path(scratch))
        lines = [json.dumps(kind) + ": {\n" + ",\n".join(_lines(answers[kind])) + "\n}" for kind in ("cases", "views")]
        ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        sys.stdout.write(f"wrote {ANSWERS.name}\n")
