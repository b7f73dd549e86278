"""The merge gate end to end on a noisy emulated board, and many more merges from the samples of those boots.

python -m tests.campaigns merge-gate [MERGES [SEED [TRIALS]]]

Half of the merges make one layer (max pooling, 6 % of the total) 3 % slower; the other half change nothing that runs,
but the image differs. Noise: 1 % a layer and run, 5 % outliers of ten sd, a drift of three sd a session.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from harness.bench.inventory import load_bench
from harness.judge.own_profile import OwnPolicy, Statistics
from harness.judge.profile import ComparisonProfile
from harness.judge.repeats import Series, settle
from harness.judge.trees import compare_trees
from harness.results.reader import read_bundle

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.tflite"
SETTINGS = {"board": "mps2_an386", "iterations": 3, "warmup": 1, "window_mode": "fixed"}
LAYER = 3
GATE = """\
schema: hpx.comparison-profile
schema_version: 1
name: gate
metrics:
  total_cycles: {direction: smaller, unit: cycles}
harness:
  metrics:
    "layer[*].cycles": {direction: smaller, unit: cycles, margin_pct: 3}
"""
NOISE = """\
version: 1
noise:
  {{seed: {seed}, window_pct: 1, counters_pct: 1, outliers: {{share: 0.05, sd: 10}}, drift: {{sd: 3, boots: 60}}}}
"""
CALL = "    pool(p, x, false, y);\n"


def tree(path: Path, waste: int, number: int) -> Path:
    """The firmware with max pooling slower by some rounds of a loop, and an image like no other."""
    shutil.copytree(ROOT / "firmware", path / "firmware")
    source = path / "firmware/kernels/nn_pool.c"
    text = source.read_text()
    assert CALL in text
    mark = f'\nconst unsigned char nn_mark[] __attribute__((used)) = "merge {number}";\n'
    loop = f"    for (volatile uint32_t i = 0; i < {waste}u; i++) {{\n    }}\n" if waste else ""
    source.write_text(text.replace(CALL, loop + CALL) + mark)
    return path


def calibrated(folder: Path, gate: ComparisonProfile) -> tuple[int, float]:
    """(rounds of the loop that make the layer 3 % slower, by how much they do), measured on a quiet board."""
    (folder / "quiet.yaml").write_text("version: 1\n")
    bench = load_bench(folder / "quiet.yaml")
    base = tree(folder / "cal-base", 0, 0)
    rounds, found = 100, 0.0
    for step in range(3):
        head = tree(folder / f"cal-{step}", rounds, 0)
        outcome = compare_trees(
            str(base), str(head), gate, model=DIGITS, settings=SETTINGS, bench=bench, out=folder / f"cal-out-{step}",
            seed=1, expect="none",
        )  # fmt: skip
        layer = outcome.layers[LAYER]
        found = layer.shift / layer.baseline
        if abs(found - 0.03) < 0.0005:
            break
        rounds = max(1, round(rounds * 0.03 / found))
    return rounds, found


def end_to_end(count: int, seed: int, folder: Path) -> tuple[list[str], list[np.ndarray]]:
    """Run merges; returns what went wrong, and the layers' cycles of each no-change session."""
    (folder / "gate.yml").write_text(GATE)
    gate = ComparisonProfile.load(folder / "gate.yml")
    rounds, found = calibrated(folder, gate)
    print(f"{rounds} rounds make layer {LAYER} {found:.2%} slower", flush=True)
    wrong: list[str] = []
    samples: list[np.ndarray] = []
    for number in range(count):
        slower = number % 2 == 0
        work = folder / f"merge-{number}"
        base, head = tree(work / "base", 0, 2 * number), tree(work / "head", rounds if slower else 0, 2 * number + 1)
        (work / "bench.yaml").write_text(NOISE.format(seed=seed * 1000 + number))
        start = time.monotonic()
        outcome = compare_trees(
            str(base), str(head), gate, model=DIGITS, settings=SETTINGS, bench=load_bench(work / "bench.yaml"),
            out=work / "runs", seed=seed * 1000 + number, expect="none",
        )  # fmt: skip
        failed = sorted(item.metric for item in outcome.verdicts if item.status == "fail")
        named = f"layer[{LAYER}].cycles" in failed
        good = named if slower else outcome.status in ("pass", "improved")
        text = (
            f"merge {number}: {'3 % slower' if slower else 'no change'}, {outcome.status} after {outcome.pairs} pairs"
        )
        print(f"{text}, {failed}, {time.monotonic() - start:.0f} s: {'ok' if good else 'WRONG'}", flush=True)
        if not good:
            wrong.append(text)
        runs = [read_bundle(path) for pair in outcome.bundles for path in pair]
        images = {str(run.harness["identity"]["image_sha256"]) for run in runs}
        if len(images) != 2:
            wrong.append(f"merge {number}: {len(images)} images")
        cycles = np.array([[float(row["cycles"]) for row in run.layers] for run in runs])
        if slower:
            cycles[1::2, LAYER] /= 1 + found
        samples.append(cycles)
        shutil.rmtree(work)
    return wrong, samples


def resampled(samples: list[np.ndarray], trials: int, seed: int) -> tuple[int, int]:
    """(slower merges caught and named, no-change merges failed) of so many, from the scatter of recorded boots.

    The scatter about each layer's median is drawn anew, and the drift laid over it.
    """
    rng = np.random.default_rng(seed)
    relative = np.concatenate([part / np.median(part, axis=0) for part in samples])
    policy = OwnPolicy.from_dict({"direction": "smaller", "unit": "cycles", "margin_pct": 3})
    rules = Statistics()
    layers = relative.shape[1]
    caught = alarms = 0
    for slower in (True, False):
        for _ in range(trials):
            budget = rules.plan.budget
            picks = rng.integers(0, len(relative), (2 * budget, layers))
            drift = 0.03 * np.arange(2 * budget)[:, None] / (2 * budget)
            values = (np.take_along_axis(relative, picks, axis=0) + drift).reshape(budget, 2, layers)
            first = rng.random(budget)[:, None] < 0.5
            base, head = np.where(first, values[:, 1], values[:, 0]), np.where(first, values[:, 0], values[:, 1])
            head[:, LAYER] *= 1.03 if slower else 1.0
            items = [
                Series(str(i), "cycles", policy, False, tuple(base[:, i].tolist()), tuple(head[:, i].tolist()))
                for i in range(layers)
            ]
            found = settle(items, rules)
            caught += slower and found[LAYER].status == "fail"
            alarms += not slower and any(item.status == "fail" for item in found)
    return caught, alarms


def main(arguments: list[str]) -> int:
    """Returns 0 when every merge was judged right and at least 95 of 100 slower ones are caught."""
    count = int(arguments[0]) if arguments else 30
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    trials = int(arguments[2]) if len(arguments) > 2 else 200
    with tempfile.TemporaryDirectory(prefix="hil-gate-") as name:
        wrong, samples = end_to_end(count, seed, Path(name))
    print(f"end to end, seed {seed}: {count} merges, {len(wrong)} judged wrong {wrong}")
    caught, alarms = resampled(samples, trials, seed)
    print(
        f"from recorded boots: {caught} of {trials} slower merges caught and named, {alarms} of {trials} false alarms"
    )
    return 0 if len(wrong) <= count // 20 and caught >= 0.95 * trials and alarms <= trials // 500 else 1
