"""Random operators of every kind against the host references: every byte of every layer, under sanitizers.

Arguments: how many cases of each operator (default 5000), the first seed (default 1000), and operators to try (default
all).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.engines.cases import KINDS
from tests.engines.host import HostCompiler
from tests.engines.test_operators import PER_MODEL, mismatches

CASES = 5000
SEED = 1000


def main(arguments: list[str]) -> int:
    """Run the campaign; returns the exit status."""
    cases = int(arguments[0]) if arguments else CASES
    seed = int(arguments[1]) if len(arguments) > 1 else SEED
    failed = 0
    for kind in arguments[2:] or sorted(KINDS):
        started = time.monotonic()
        wrong: list[str] = []
        with tempfile.TemporaryDirectory(prefix="harness-operators-") as name:
            compiler = HostCompiler(Path(name))
            for number in range(-(-cases // PER_MODEL)):
                count = min(PER_MODEL, cases - number * PER_MODEL)
                wrong += mismatches(kind, seed + number, count, compiler, Path(name))
        failed += bool(wrong)
        seconds = time.monotonic() - started
        print(f"{kind:28} {cases:6} cases {len(wrong):6} layers differ {seconds:8.0f} s", flush=True)
        for text in wrong[:10]:
            print(f"    {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
