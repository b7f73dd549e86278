"""Real hpx reads real bundles of ours: inspects them, lists our layers, and judges the pair as we do."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.judge.compare import compare
from harness.runner.run import RunOutcome
from tests.e2e.conftest import DIGITS, ROOT

HPX = ROOT / ".peers/hpx/bin/hpx"
Measured = Callable[..., RunOutcome]


def hpx(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HPX, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.json"
    body: dict[str, Any] = {
        "schema": "hpx.comparison-profile",
        "schema_version": 1,
        "metrics": {"total_cycles": {"direction": "smaller", "unit": "cycles", "max_regression_pct": 1}},
        "harness": {"metrics": {"clean.cycles": {"direction": "smaller", "unit": "cycles", "max_regression_pct": 1}}},
    }
    path.write_text(json.dumps(body))
    return path


@pytest.mark.parametrize("board", ["mps2_an386", "mps3_an547"])
def test_inspect_verifies_and_has_our_values(measured: Measured, board: str) -> None:
    outcome = measured(DIGITS, board)
    done = hpx("results", "inspect", outcome.bundle)
    view = json.loads(done.stdout)
    assert done.returncode == 0 and view["status"] == "verified" and view["issues"] == []
    assert '"native_validity": "valid"' in json.dumps(view)
    values = {item["metric"]: item for item in view["result"]["observations"]}
    profiled = values["latency.profiled_invoke.v1"]
    microseconds = outcome.result.metadata.firmware.profiled_infer_avg_us
    assert profiled["value"] == pytest.approx(microseconds / 1000, rel=1e-3)
    assert values["memory.arena_allocated.v1"]["value"] == outcome.build.engine.arena_bytes
    clean = values["latency.restore_invoke.v1"]
    assert clean["value"] is None and clean["unavailable_reason"]


def test_compare_lists_our_layers_and_gives_our_status(measured: Measured, profile: Path, tmp_path: Path) -> None:
    slow = measured(DIGITS, "mps2_an386", engine_config={"kernels": "naive"})
    fast, again = measured(DIGITS, "mps2_an386"), measured(DIGITS, "mps2_an386")
    for number, (base, candidate, status) in enumerate([(fast, again, 0), (fast, slow, 1)]):
        out = tmp_path / f"hpx-{number}"
        done = hpx("compare", base.bundle, candidate.bundle, "--profile", profile, "--output-dir", out)
        ours = compare(base.bundle, candidate.bundle, profile)
        summary = json.loads((out / "compare_summary.json").read_text())
        assert done.returncode == status
        assert summary["verdict"]["status"] == ours.verdict.status.value  # type: ignore[union-attr]
        rows = list(csv.DictReader((out / "layer_diff.csv").open()))
        assert [row["candidate_op"] for row in rows] == [layer.op for layer in candidate.build.engine.layers]
        assert [float(row["candidate_cycles"]) for row in rows] == [layer.cycles for layer in candidate.result.layers]
        totals = {item["name"]: item for item in summary["metrics"]} if isinstance(summary["metrics"], list) else {}
        if totals:
            assert totals["total_cycles"]["candidate"] == candidate.result.total_cycles


def test_a_failed_run_is_refused(measured: Measured, profile: Path, tmp_path: Path) -> None:
    from harness.core.errors import HarnessError

    good = measured(DIGITS, "mps2_an386")
    with pytest.raises(HarnessError) as caught:
        measured(DIGITS, "mps2_an386", test_fault="dead-counter")
    bad = caught.value.context["bundle"]
    done = hpx("compare", good.bundle, bad, "--profile", profile, "--output-dir", tmp_path / "out")
    assert done.returncode != 0
