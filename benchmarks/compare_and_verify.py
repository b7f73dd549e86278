"""Comparing two bundles beside hpx, and verifying bundles beside plain `hashlib.sha256`, in one run.

    python benchmarks/compare_and_verify.py [--repeat 7] [--json]

Goals: comparing takes at most a quarter of hpx's wall time; verifying a bundle of 100 MB reaches at least 0.8 of the
speed of reading its files and hashing them; a bundle of 1 MB is verified in under 20 ms.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.results.reader import verify_bundle  # noqa: E402
from tests.results.builders import make_bundle, make_capture  # noqa: E402

PROFILE = {
    "schema": "hpx.comparison-profile",
    "schema_version": 1,
    "metrics": {"total_cycles": {"direction": "smaller", "unit": "cycles", "max_regression_pct": 50}},
}


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run(*command: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def hash_plainly(bundle: Path) -> None:
    """What verifying cannot do without."""
    for path in bundle.iterdir():
        hashlib.sha256(path.read_bytes()).hexdigest()


def measure(directory: Path, repeat: int) -> dict[str, float]:
    """Medians over interleaved repetitions."""
    base = make_bundle(directory / "base")
    cand = make_bundle(directory / "cand", make_capture((5000, 3600, 2500, 2000, 500)))
    large = make_bundle(directory / "large", extra_files={"waveform.bin": os.urandom(100_000_000)})
    small = make_bundle(directory / "small", extra_files={"waveform.bin": os.urandom(1_000_000)})
    profile = directory / "profile.json"
    profile.write_text(json.dumps(PROFILE))
    commands = {
        "harness": ROOT / ".venv" / "bin" / "harness",
        "hpx": ROOT / ".peers" / "hpx" / "bin" / "hpx",
    }
    actions: dict[str, Callable[[], object]] = {
        f"{name} compare": lambda program=program: run(program, "compare", base, cand, "--profile", profile)  # type: ignore[misc]
        for name, program in commands.items()
    }
    actions |= {
        "verify 100 MB": lambda: verify_bundle(large),
        "hash 100 MB": lambda: hash_plainly(large),
        "verify 1 MB": lambda: verify_bundle(small),
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeat):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Print the medians and ratios; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        medians = measure(Path(directory), settings.repeat)
    goals = {
        "compare / hpx": (medians["harness compare"] / medians["hpx compare"], "<=", 0.25),
        "hashing / verifying 100 MB": (medians["hash 100 MB"] / medians["verify 100 MB"], ">=", 0.8),
        "verify 1 MB in ms": (medians["verify 1 MB"] * 1e3, "<=", 20.0),
    }
    met = {name: value <= goal if how == "<=" else value >= goal for name, (value, how, goal) in goals.items()}
    if settings.json:
        print(json.dumps({"seconds": medians, "goals": {name: [*goals[name], met[name]] for name in goals}}))
    else:
        for name, value in medians.items():
            print(f"{name:<28}{value * 1e3:10.1f} ms")
        for name, (value, how, goal) in goals.items():
            print(f"{name:<28}{value:10.3f}    goal {how} {goal:g}: {'met' if met[name] else 'MISSED'}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
