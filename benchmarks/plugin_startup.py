"""What an installed but unused plugin costs: `pytest -q` on one empty test, beside pytest-embedded.

For each plugin the cost is the median difference between runs with the plugin and runs with it blocked (`-p no:NAME`)
in the same virtual environment, interleaved. Prints both costs and their ratio; the goal is a ratio of at most 0.25.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = {
    "harness": (ROOT / ".venv/bin/python", "harness"),
    "pytest-embedded": (ROOT / ".peers/pytest-embedded/bin/python", "pytest_embedded"),
}


def one_run(python: Path, directory: Path, block: str | None) -> float:
    """Seconds of one `pytest -q`, plugins other than the one measured being blocked in both kinds of run."""
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    if block is not None:
        arguments += ["-p", f"no:{block}"]
    start = time.perf_counter()
    subprocess.run([python, *arguments], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(pairs: int = 20) -> None:
    """Run and print the table."""
    costs: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "test_empty.py").write_text("def test_empty():\n    pass\n")
        (directory / "pytest.ini").write_text("[pytest]\n")
        samples: dict[str, list[float]] = {plugin: [] for plugin in ENVIRONMENTS}
        for number in range(pairs + 1):
            for plugin, (python, entry) in ENVIRONMENTS.items():
                difference = one_run(python, directory, None) - one_run(python, directory, entry)
                if number:
                    samples[plugin].append(difference)
        costs = {plugin: statistics.median(values) for plugin, values in samples.items()}
    for plugin, seconds in costs.items():
        print(f"{plugin:16} {seconds * 1000:7.1f} ms")
    print(f"ratio {costs['harness'] / costs['pytest-embedded']:.3f} (goal: at most 0.25)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
