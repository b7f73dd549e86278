"""Two firmware trees against each other on an emulated board: quiet, noisy, from a git ref, in pytest."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.core.errors import BuildError, UsageError
from harness.judge.paired import NotRepeatableError, PairedOutcome, judge_pairs
from harness.judge.profile import ComparisonProfile
from harness.judge.report import junit_properties, paired_markdown
from harness.judge.trees import compare_trees
from harness.results.reader import read_bundle
from tests.e2e.conftest import DIGITS, QUICK, ROOT

SETTINGS = {**QUICK, "board": "mps2_an386"}
POOL = 3
"""The layer that the slower firmware slows down: MAX_POOL_2D, 6 % of the total."""
GATE = """\
schema: hpx.comparison-profile
schema_version: 1
name: gate
metrics:
  total_cycles: {direction: smaller, unit: cycles}
harness:
  statistics: {margin_pct: 3}
  metrics:
    "layer[*].cycles": {direction: smaller, unit: cycles}
"""
NOISE = """\
version: 1
noise:
  {seed: 7, window_pct: 1, counters_pct: 1, outliers: {share: 0.05, sd: 10}, drift: {sd: 3, boots: 60}}
"""


def slower(tree: Path, rounds: int) -> Path:
    """A copy of the firmware whose max pooling wastes some time."""
    shutil.copytree(ROOT / "firmware", tree / "firmware")
    source = tree / "firmware/kernels/nn_pool.c"
    text = source.read_text()
    call = "    pool(p, x, false, y);\n"
    assert call in text
    waste = f"    for (volatile uint32_t i = 0; i < {rounds}u; i++) {{\n    }}\n"
    source.write_text(text.replace(call, waste + call))
    return tree


@pytest.fixture
def gate(tmp_path: Path) -> ComparisonProfile:
    (tmp_path / "gate.yml").write_text(GATE)
    return ComparisonProfile.load(tmp_path / "gate.yml")


@pytest.fixture
def judged(tmp_path: Path, gate: ComparisonProfile) -> Callable[..., PairedOutcome]:
    def judge(base: str, head: str, bench: str = "version: 1\n", seed: int = 5) -> PairedOutcome:
        (tmp_path / "bench.yaml").write_text(bench)
        return compare_trees(
            base, head, gate, model=DIGITS, settings=SETTINGS, bench=load_bench(tmp_path / "bench.yaml"),
            out=tmp_path / f"runs-{seed}", repository=ROOT, seed=seed,
        )  # fmt: skip

    return judge


def test_a_quiet_board_needs_two_pairs_and_names_the_layer(
    judged: Callable[..., PairedOutcome], tmp_path: Path, gate: ComparisonProfile
) -> None:
    slow = slower(tmp_path / "slow", 200)
    outcome = judged(str(ROOT), str(slow))
    assert (outcome.status, outcome.pairs, bool(outcome), outcome.exit_code) == ("fail", 2, False, 1)
    assert [layer.index for layer in outcome.changed_layers] == [POOL]
    failed = {item.metric for item in outcome.verdicts if item.status == "fail"}
    assert failed == {"total_cycles", f"layer[{POOL}].cycles"}
    better = judged(str(slow), str(ROOT), seed=6)
    assert better.status == "improved" and bool(better)
    text = paired_markdown(outcome)
    assert "**failed**" in text and "MAX_POOL_2D" in text and "emulated" in text and "seed 5" in text
    assert ("hil.changed_layers", str(POOL)) in junit_properties(outcome)
    mixed = [tuple(read_bundle(path) for path in pair) for pair in zip(*outcome.bundles, strict=True)]
    with pytest.raises(NotRepeatableError, match="must repeat exactly"):
        judge_pairs(mixed, gate)  # type: ignore[arg-type]


def test_a_noisy_board_takes_ten_pairs_or_more(judged: Callable[..., PairedOutcome], tmp_path: Path) -> None:
    outcome = judged(str(ROOT), str(slower(tmp_path / "slow", 1200)), NOISE)
    assert outcome.status == "fail" and outcome.pairs in (10, 20, 30)
    assert POOL in {layer.index for layer in outcome.changed_layers}
    (found,) = [item for item in outcome.verdicts if item.metric == f"layer[{POOL}].cycles"]
    assert found.status == "fail" and not found.exact
    assert found.interval is not None and found.interval[0] > 0
    assert found.p_fail is not None and found.p_fail < 0.001
    assert json.dumps(outcome.to_dict(), allow_nan=False)


def test_refs_and_what_is_wrong_with_a_tree(judged: Callable[..., PairedOutcome], tmp_path: Path) -> None:
    repository = slower(tmp_path / "repository", 0)
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    from harness.runner.trees import firmware_of, tree_of

    with tree_of("HEAD", repository) as tree:
        assert firmware_of(tree).is_dir() and tree != repository
    assert not tree.exists()
    worktrees = subprocess.run([*git, "worktree", "list"], check=True, capture_output=True, text=True).stdout
    assert len(worktrees.splitlines()) == 1
    with pytest.raises(UsageError, match="git rev-parse"):
        judged("no-such-ref", str(ROOT))
    other = tmp_path / "other"
    bare = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(other)]
    other.mkdir()
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "nothing"]):
        subprocess.run([*bare, *arguments], check=True)
    with pytest.raises(UsageError, match=r"^HEAD of .*other holds no firmware"), tree_of("HEAD", other):
        pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no firmware"):
        judged(str(tmp_path / "empty"), str(ROOT))
    (repository / "firmware/kernels/nn_pool.c").write_text("#error broken\n")
    with pytest.raises(BuildError, match="repository"):
        judged(str(repository), str(ROOT))


def test_the_plugin_judges_against_a_base(pytester: pytest.Pytester, tmp_path: Path) -> None:
    slow = slower(tmp_path / "slow", 200)
    pytester.path.joinpath("gate.yml").write_text(GATE)
    pytester.makepyfile(
        f"""
        import pytest
        @pytest.mark.hil(model={str(DIGITS)!r}, boards=["mps2_an386"], iterations=2, warmup=1, window_mode="fixed")
        def test_gate(run, verdict):
            assert verdict(profile="gate.yml")
        """
    )
    options = ("--hil-out=out", "--hil-json=hil.json", "--junitxml=junit.xml", "--hil-seed=3", "-p", "no:cacheprovider")
    pytester.runpytest(*options, f"--hil-base={slow}").assert_outcomes(passed=1)
    record = json.loads((pytester.path / "hil.json").read_text())["tests"][0]
    assert record["verdicts"][0]["status"] == "improved" and "MAX_POOL_2D" in record["verdicts"][0]["markdown"]
    suite = ElementTree.parse(pytester.path / "junit.xml")
    properties = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert properties["hil.verdict"] == "improved" and properties["hil.changed_layers"] == str(POOL)
    assert properties["hil.metric.total_cycles"].startswith("improved")


def test_bisect_finds_the_commit(tmp_path: Path) -> None:
    from harness.judge.bisect import bisect, metric_profile

    repository = slower(tmp_path / "repository", 1)
    kernel = repository / "firmware/kernels/nn_pool.c"
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    hashes = []
    for number, rounds in enumerate((1, 1, 1, 300, 300)):
        text = kernel.read_text()
        text = text.replace("i < 1u;", f"i < {rounds}u;")
        kernel.write_text("#error broken\n" + text if number == 1 else text.replace("#error broken\n", ""))
        (repository / "notes").write_text(str(number))
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", str(number)], check=True)
        hashes.append(
            subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        )
    profile = metric_profile("total_cycles", "cycles")
    outcome = bisect(
        hashes[0], "HEAD", profile, "total_cycles", repository=repository, model=DIGITS,
        settings=SETTINGS, bench=load_bench(None), out=tmp_path / "runs",
    )  # fmt: skip
    assert outcome.commit == hashes[3]
    with pytest.raises(UsageError, match="not worse"):
        bisect(
            hashes[3], hashes[4], profile, "total_cycles", repository=repository,
            model=DIGITS, settings=SETTINGS, bench=load_bench(None), out=tmp_path / "again",
        )  # fmt: skip


ENERGY = """\
schema: hpx.comparison-profile
schema_version: 1
name: energy
metrics:
  power.energy_per_inference_j: {{direction: smaller, unit: J, max_regression_pct: {allowed}, missing: fail}}
harness:
  statistics: {{looks: [10], fail_shares: [1.0], pass_shares: [1.0], margin_pct: {margin}}}
  metrics:
    power.charge_per_inference_c: {{direction: smaller, unit: C, max_regression_pct: {allowed}, missing: fail}}
"""


def test_energy_that_scatters_is_judged_over_pairs(tmp_path: Path) -> None:
    def allowed(percent: float, margin: float = 3.0) -> ComparisonProfile:
        path = tmp_path / f"{percent}.yml"
        path.write_text(ENERGY.format(allowed=percent, margin=margin))
        return ComparisonProfile.load(path)

    (tmp_path / "bench.yaml").write_text("version: 1\nnoise: {seed: 7, energy_pct: 1}\n")
    outcome = compare_trees(
        str(ROOT), str(slower(tmp_path / "slow", 6000)), allowed(2.0), model=DIGITS,
        settings={**SETTINGS, "power": "any", "power-target-ms": 1, "power-windows": 1, "per-layer": False},
        bench=load_bench(tmp_path / "bench.yaml"), out=tmp_path / "runs", repository=ROOT, seed=5,
    )  # fmt: skip
    found = outcome.verdicts[0]
    assert (outcome.status, outcome.pairs, found.exact) == ("fail", 10, False)
    assert found.interval is not None and found.baseline is not None
    low, high = (100 * bound / found.baseline for bound in found.interval)
    assert 4 < low < high < 12
    pairs = [(read_bundle(base), read_bundle(head)) for base, head in outcome.bundles]
    assert len({base.summary["power"]["energy_per_inference_j"] for base, _ in pairs}) == len(pairs)
    back = [(head, base) for base, head in pairs]
    told = {
        name: judge_pairs(measured, limit).status
        for name, measured, limit in (
            ("room", pairs, allowed(40.0)),
            # As much worse as is allowed, with a margin narrower than the interval.
            ("edge", pairs, allowed(round((low + high) / 2, 2), 0.2)),
            ("back", back, allowed(2.0)),
        )
    }
    assert told == {"room": "pass", "edge": "inconclusive", "back": "improved"}
