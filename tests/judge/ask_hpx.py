"""Runs inside the venv of hpx: answers for every pair below a directory, as one JSON document on standard output.

A pair is a directory with `baseline/`, `candidate/` and, mostly, `profile.json`. Messages are left out: only what a
machine acts on is compared.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from helia_profiler import ComparisonProfile  # type: ignore[import-not-found]
from helia_profiler.errors import ReportError  # type: ignore[import-not-found]
from helia_profiler.evaluation.compare import (  # type: ignore[import-not-found]
    _verdict_to_dict,
    assess_comparability,
    compare_runs,
    load_run_artifacts,
)
from helia_profiler.records import ResultReadError, inspect_result, load_result  # type: ignore[import-not-found]
from helia_profiler.results import load_result_manifest  # type: ignore[import-not-found]


def finite(value: Any) -> Any:
    """Non-finite numbers as their names: the answers are strict JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def strict_code(path: Path) -> str | None:
    """How the strict reader refuses a bundle; None when it does not."""
    return inspect_result(path).code


def verified(path: Path) -> bool:
    """Whether the manifest reader verifies a bundle."""
    try:
        load_result_manifest(path / "result_manifest.json", verify=True)
    except ReportError:
        return False
    return True


def answer(case: Path) -> dict[str, Any]:
    """Everything asked of one pair."""
    base, cand = case / "baseline", case / "candidate"
    out: dict[str, Any] = {
        "strict": [strict_code(base), strict_code(cand)],
        "verified": [verified(base), verified(cand)],
    }
    profile = None
    if (case / "profile.json").exists():
        try:
            profile = ComparisonProfile.load(case / "profile.json")
        except Exception:  # hpx lets some malformed profiles end in a TypeError or AttributeError
            out["error"] = "profile"
            return out
    try:
        artifacts = load_run_artifacts(base), load_run_artifacts(cand)
    except ReportError:
        out["error"] = "load"
        return out
    assessment = assess_comparability(*artifacts)
    out["codes"] = [[issue.code, issue.severity.value] for issue in assessment.issues]
    try:
        result = compare_runs(base, cand, profile=profile)
    except ReportError:
        out["error"] = "not_comparable"
        return out
    out["metrics"] = {
        row.name: [row.baseline, row.candidate, row.delta, row.delta_pct, row.unit] for row in result.metrics
    }
    out["layers"] = [[row.baseline_cycles, row.candidate_cycles, sorted(row.counters)] for row in result.layer_rows]
    out["verdict"] = _verdict_to_dict(result.verdict)
    return out


def native(path: Path) -> dict[str, Any]:
    """The portable view of one bundle, as `hpx results inspect` shows it."""
    from helia_profiler._result_view import observations  # type: ignore[import-not-found]

    try:
        view = observations(load_result(path))
    except ResultReadError as error:
        return {"code": error.code}
    return {
        "validity": view["extensions"]["helia-profiler"]["native_validity"],
        "observations": {item["id"]: [item["value"], item["unavailable_reason"]] for item in view["observations"]},
    }


def main() -> None:
    """Answer for the pairs and bundles below the directory given."""
    root = Path(sys.argv[1])
    cases = {path.name: answer(path) for path in sorted(root.iterdir()) if (path / "baseline").is_dir()}
    views = {
        f"{path.name}/{side}": native(path / side)
        for path in sorted(root.iterdir())
        for side in ("baseline", "candidate")
        if path.name.startswith("ours_")
    }
    json.dump(finite({"cases": cases, "views": views}), sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
