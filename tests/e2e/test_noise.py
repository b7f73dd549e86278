"""A noisy virtual bench, end to end: bundles say so, verify, recompute, and are never compared with quiet ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.image.record import Build
from harness.judge.compare import compare
from harness.judge.metrics import METRICS, repeatability
from harness.results.reader import read_bundle
from harness.results.recompute import check_recomputed
from harness.runner.run import RunOutcome, run
from tests.e2e.conftest import DIGITS


@pytest.mark.parametrize("board", ["mps2_an386"])
def test_noise_is_seeded_stated_and_blocking(
    board: str,
    built: Callable[..., Build],
    measured: Callable[..., RunOutcome],
    tmp_path: Path,
) -> None:
    (tmp_path / "bench.yaml").write_text("version: 1\nnoise: {seed: 7, window_pct: 1, counters_pct: 1}\n")
    bench = load_bench(tmp_path / "bench.yaml")
    one, two = (run(built(DIGITS, board), bench=bench, out=tmp_path / name, expect="none") for name in ("one", "two"))
    quiet = measured(DIGITS, board)
    assert one.clean_cycles == two.clean_cycles != quiet.clean_cycles
    record = read_bundle(one.bundle)
    assert record.manifest is not None and '"seed":7' in record.manifest.comparability["noise"]
    assert repeatability(record, METRICS["clean.cycles"]) == "noisy"
    assert repeatability(read_bundle(quiet.bundle), METRICS["clean.cycles"]) == "exact"
    assert check_recomputed(one.bundle) > 0
    codes = {item.code for item in compare(quiet.bundle, one.bundle).comparability.issues}
    assert "metric.counters_noise_mismatch" in codes
    assert "metric.counters_noise_mismatch" not in {
        item.code for item in compare(two.bundle, one.bundle).comparability.issues
    }
