"""Answers of hpx 0.4.1 on pairs of bundles: ours are the same but for the exceptions listed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EvidenceError, HarnessError, NotComparableError, ProfileError
from harness.judge.compare import compare
from harness.judge.profile import ComparisonProfile
from harness.results.manifest import load_result_manifest
from harness.results.reader import read_bundle

_ROOT = Path(__file__).parents[2]
_CASES = _ROOT.parent / "shared" / "oracles" / "hpx" / "cases"
CASES = sorted(path for path in _CASES.iterdir() if path.is_dir()) if _CASES.is_dir() else []

SPURIOUS_CODES = {"dimension.architecture_flags_differs"}
"""hpx compares whole metadata documents when neither side states flags; we compare flags only."""


def answer(case: Path) -> dict[str, Any]:
    """What hpx answered."""
    return json.loads((case / "verdict.json").read_text())


def profile_of(case: Path) -> Path | None:
    """The case's profile, if it has one."""
    path = case / "profile.json"
    return path if path.exists() else None


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_lenient_comparison_agrees_with_hpx(case: Path) -> None:
    expected = answer(case)
    if "profile_error" in expected:
        with pytest.raises(ProfileError) as caught:
            ComparisonProfile.load(profile_of(case))  # type: ignore[arg-type]
        assert str(profile_of(case)) in caught.value.what
        return
    if "load_error" in expected:
        with pytest.raises(EvidenceError):
            compare(case / "baseline", case / "candidate", profile_of(case), strict=False)
        return
    if "compare_error" in expected:
        with pytest.raises(NotComparableError) as refused:
            compare(case / "baseline", case / "candidate", profile_of(case), strict=False)
        issues = refused.value.context["comparability"]["issues"]
        assert _codes(issues) == _codes(expected["comparability"]["issues"])
        return
    outcome = compare(case / "baseline", case / "candidate", profile_of(case), strict=False)
    ours = outcome.to_dict()
    stated = expected["comparability"]
    assert _codes(ours["comparability"]["issues"]) == _codes(stated["issues"])
    for flag in ("run", "power", "memory"):
        key = f"{flag}_metrics_comparable"
        assert ours["comparability"][key] == stated[key]
    assert ours["comparability"]["layers_comparable"] == stated["layers_comparable"]
    assert len(outcome.layers) == expected["layer_rows"]
    by_name = {row["name"]: row for row in ours["metrics"]}
    for name, row in expected["metrics"].items():
        for key in ("baseline", "candidate", "delta", "delta_pct", "unit"):
            wanted = row[key]
            got = by_name[name][key]
            assert got == wanted or (got is None and str(wanted).lower() in ("nan", "inf")), (name, key)
    assert ours["verdict"] == expected["verdict"]


def _codes(issues: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(item["code"], item["severity"]) for item in issues if item["code"] not in SPURIOUS_CODES]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_strict_reader_refuses_what_hpx_refuses_strictly(case: Path, side: str) -> None:
    expected = answer(case).get(f"{side}_strict", {}).get("code")
    try:
        read_bundle(case / side)
    except EvidenceError as error:
        assert error.code == expected
        assert error.exit_code == 5
        assert error.context["artifact"]
    else:
        assert expected is None


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_manifest_verification_agrees_with_hpx(case: Path, side: str) -> None:
    expected = answer(case).get(f"{side}_manifest")
    try:
        load_result_manifest(case / side / "result_manifest.json", verify=True)
    except HarnessError:
        assert expected != "verified"
    else:
        assert expected == "verified"


STRICTER = {"41_inner_dotdot_inside": "invalid_path", "47_nan_metric": "invalid_number"}
"""Pairs that hpx compares though its own strict reader refuses a side; we refuse them."""


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_strict_comparison_differs_only_where_documented(case: Path) -> None:
    expected = answer(case)
    broken = any(expected.get(f"{side}_strict", {}).get("code") for side in ("baseline", "candidate"))
    try:
        outcome = compare(case / "baseline", case / "candidate", profile_of(case))
    except EvidenceError as error:
        assert broken
        if case.name in STRICTER:
            assert error.code == STRICTER[case.name]
        else:
            assert "load_error" in expected or "verdict" in expected
    except (NotComparableError, ProfileError):
        assert "compare_error" in expected or "profile_error" in expected
    else:
        assert not broken
        assert (outcome.verdict.to_dict() if outcome.verdict else None) == expected["verdict"]
