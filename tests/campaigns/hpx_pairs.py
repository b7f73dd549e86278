"""Random pairs judged by us and by hpx: python -m tests.campaigns hpx-pairs [PAIRS [SEED]].

Figures, profiles, facts, states and tables are drawn from what is usual and what is odd. Needs the peer.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.judge.metrics import METRICS
from tests.judge.figure_pairs import POWER
from tests.judge.foreign import LAYERS, Change, Foreign, Pair
from tests.judge.test_hpx_pairs import OWN, ask, compact, our_answer, plain

NAMES = [
    *(name for name, metric in METRICS.items() if metric.hpx),
    "memory_regions.MRAM.used", "memory_regions.MRAM.free", "memory_regions.X.used", "no.such", "clean.us",
]  # fmt: skip
ODD: tuple[Any, ...] = (
    None, 0, 0.0, -0.0, -5, 1, 0.1 + 0.2, 0.3, 10**25, 10**400, 1e308, -1e308, 5e-324, "12", " 7 ", "1_000", "0x10",
    "", "many", "nan", "inf", "١٢", True, False, [], [1], {}, {"a": 1}, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
FACTS = (
    ("config", "profiling", "iterations"), ("config", "profiling", "pmu_counters"), ("config", "engine", "backend"),
    ("config", "engine", "type"), ("config", "model", "arena_size"), ("config", "model", "weights_location"),
    ("config", "target", "transport"), ("platform", "soc"), ("platform", "board"), ("platform", "cpu_clock_name"),
    ("platform", "link_family"), ("toolchain", "compiler"), ("toolchain", "compiler_version"), ("engine", "version"),
    ("firmware", "system_clock_hz"), ("hpx_version",), ("model", "sha256"), ("platform",), ("config",), ("engine",),
)  # fmt: skip
STATED = (
    "model_sha256", "hpx_version", "engine", "board", "soc", "cpu_clock", "toolchain", "compiler_version",
    "engine_version", "architecture_flags", "engine_backend", "transport", "arena_location", "power_scope",
    "power_mode", "power_firmware", "power_monitor", "power_lockstep", "power_clean_window_probe",
    "power_clean_workload", "power_firmware_fingerprint", "link_family", "run_summary_schema_version",
)  # fmt: skip
REQUIRED = (
    "model_path", "model_sha256", "engine", "engine_version", "backend", "board", "soc", "toolchain", "link_family",
    "transport", "cpu_clock", "iterations", "warmup", "pmu_counters", "arena_size", "arena_location",
    "weights_location", "hpx_version", "compiler_version", "system_clock_hz", "run_metadata_schema_version",
    "run_summary_schema_version", "power_mode", "engine_backend", "nonsense",
)  # fmt: skip
CODES = ("pmu.missing", "power.window_observer_mismatch", "profile.clean_window_stalled", "new.code")


def number(rng: random.Random) -> Any:
    """A figure: mostly near ten thousand, at times odd."""
    if rng.random() < 0.12:
        return rng.choice(ODD)
    return rng.choice([10000, 10000.0, 10200, 10200.0, 9800, 10001, 10199.999999999998, rng.uniform(-2e4, 2e4)])


def policy(rng: random.Random, name: str) -> dict[str, Any]:
    """One metric's policy, its unit right nine times in ten."""
    known = METRICS.get(name)
    unit = known.unit if known else "bytes"
    out: dict[str, Any] = {
        "direction": rng.choice(["smaller", "larger", "equal"]),
        "unit": unit if rng.random() < 0.9 else rng.choice(["", "us", "Cycles"]),
    }
    if rng.random() < 0.6:
        out["max_regression_pct"] = rng.choice([0, 2, 2.0, 50, 1e-9, 1e308, 100, 10**30])
    if rng.random() < 0.4:
        out["max_regression_abs"] = rng.choice([0, 200, 0.5, 1e300, 5e-324])
    if rng.random() < 0.3:
        out["missing"] = rng.choice(["fail", "warn", "ignore", None])
    return out


def profile(rng: random.Random) -> dict[str, Any] | None:
    """A profile of a few metrics; now and then none."""
    if rng.random() < 0.05:
        return None
    names = rng.sample(NAMES, rng.randrange(1, 8))
    out: dict[str, Any] = {
        "schema": "hpx.comparison-profile",
        "schema_version": 1,
        "metrics": {name: policy(rng, name) for name in names},
    }
    if rng.random() < 0.4:
        out["missing"] = rng.choice(["fail", "warn", "ignore"])
    if rng.random() < 0.3:
        out["required_dimensions"] = rng.sample(REQUIRED, rng.randrange(0, 4))
    if rng.random() < 0.2:
        out[rng.choice(["name", "owner"])] = rng.choice(["x", "größe", {}, 5])
    return out


def _set(record: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        inner = record.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        record = inner
    record[path[-1]] = value


def change(seed: int) -> Change:
    """One side's figures and facts."""

    def apply(bundle: Foreign) -> None:
        rng = random.Random(seed)
        summary = bundle.summary
        for path in (
            ("total_cycles",), ("latency", "device_profiled_infer_avg_us"), ("binary", "text"), ("binary", "reserved"),
            ("memory", "arena_size"), ("memory", "allocated_arena"), ("latency", "device_profiled_infer_total_us"),
        ):  # fmt: skip
            if rng.random() < 0.4:
                _set(summary, path, number(rng))
        if rng.random() < 0.03:
            summary[rng.choice(["latency", "binary", "memory", "layers", "engine"])] = rng.choice(ODD)
        if rng.random() < 0.4:
            summary["power"] = {**POWER, "integrity": rng.choice(["valid", "invalid", "diagnostic", None])}
            for key in ("energy_j", "avg_current_a", "peak_current_a", "capture_duration_s", "clean_workload",
                        "measurement_scope", "mode", "power_firmware", "firmware_code_fingerprint", "sync",
                        "on_device_summary", "inferences_per_joule"):  # fmt: skip
                if rng.random() < 0.2:
                    odd = rng.choice(["a", "b", 1, None, {"lockstep": True}, {"lockstep": False}])
                    summary["power"][key] = number(rng) if rng.random() < 0.5 else odd
        if rng.random() < 0.3:
            rows = [
                {"region": rng.choice(["MRAM", "X", "ITCM", 5, None]), "used": number(rng), "free": number(rng)}
                for _ in range(rng.randrange(3))
            ]
            summary["memory_regions"] = {"regions": rows} if rng.random() < 0.95 else rng.choice(ODD)
        for path in rng.sample(FACTS, rng.choice([0, 0, 1, 2])):
            _set(bundle.metadata, path, rng.choice(["other", "other", "", None, 5, {"cpu": "x"}, True]))
        for key in rng.sample(STATED, rng.choice([0, 0, 1, 3])):
            bundle.manifest["comparability"][key] = rng.choice(["a", "b", "", None, 5, True, False, ["x"]])
        if rng.random() < 0.1:
            codes = [(code, rng.choice(["error", "warning"])) for code in rng.sample(CODES, rng.randrange(3))]
            bundle.issues(rng.choice(["valid", "degraded", "invalid"]), *codes)
        if rng.random() < 0.15:
            rows = rng.choice([LAYERS[:2], LAYERS, (*LAYERS, LAYERS[1]), (LAYERS[0], LAYERS[2], LAYERS[1]), LAYERS[:1]])
            bundle.table = "\n".join(rows) + "\n"
        if rng.random() < 0.03:
            summary["schema_version"] = rng.choice([18, 20, "19", None, True, 19.0])

    return apply


FLAGS = ["dimension.architecture_flags_differs", "informative"]


def flags_stated(case: Path) -> bool:
    """Whether both sides state their flags. Where one does not, hpx calls any difference in metadata one of flags."""
    stated = [json.loads((case / side / "result_manifest.json").read_text()) for side in ("baseline", "candidate")]
    return all(manifest["comparability"].get("architecture_flags") is not None for manifest in stated)


def our(case: Path, usual: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Our answer without the rows of metrics that only we have."""
    answer = plain(our_answer(case))
    answer = compact(answer, usual()) if "metrics" in answer else answer
    answer["metrics"] = {key: row for key, row in answer.get("metrics", {}).items() if key not in OWN}
    return answer


def main(arguments: list[str]) -> int:
    """Returns 0 when no pair is answered differently."""
    count = int(arguments[0]) if arguments else 2000
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    differing = 0
    verdicts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="hil-hpx-") as name:
        for start in range(0, count, 250):
            root = Path(name) / str(start)
            Pair().write(root / "plain")
            for index in range(start, min(start + 250, count)):
                rng = random.Random(f"{seed}:{index}")
                same = rng.randrange(2**32)
                other = same if rng.random() < 0.1 else rng.randrange(2**32)
                Pair(change(same), change(other), profile(rng)).write(root / f"{index:06}")
            answers = ask(root)["cases"]
            usual = plain(our_answer(root / "plain"))["metrics"]
            for case, theirs in answers.items():
                theirs = {**theirs, "metrics": theirs.get("metrics", {})}
                if "codes" in theirs and not flags_stated(root / case):
                    theirs["codes"] = [item for item in theirs["codes"] if item != FLAGS]
                ours = our(root / case, lambda usual=usual: usual)
                status = theirs.get("error") or (theirs.get("verdict") or {}).get("status", "none")
                verdicts[status] = verdicts.get(status, 0) + 1
                if ours != theirs:
                    differing += 1
                    keys = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
                    print(f"pair {case} differs in {keys}", flush=True)
                    for key in keys:
                        print(f"  {key}: hpx {json.dumps(theirs.get(key))[:600]}")
                        print(f"  {' ' * len(key)}  we {json.dumps(ours.get(key))[:600]}")
    print(f"hpx pairs, seed {seed}: {count} pairs, {differing} answered differently; hpx: {verdicts}")
    return 1 if differing else 0
