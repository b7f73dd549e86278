"""How long projecting 20,000 entities takes, beside canonical JSON of the same document as a yardstick.

The goal is 2 s of processor time for forests and two-parent graphs with up to 2,000 children a parent.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.core.strict_json import canonical
from harness.interop.mlia.project import project
from tests.interop.test_mlia_projection import forest, two_parents


def seconds(work: Any, *arguments: Any) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    cases = [
        (f"forest, {most} children, {share:.0%} measured", forest(20_000, most, share, 3))
        for most in (5, 2000)
        for share in (0.1, 0.5, 1)
    ]
    cases += [
        (f"two parents, {each} each, measured {kind}", two_parents(20_000, each, kind))
        for each in (2, 2000)
        for kind in ("source_operator", "chain")
    ]
    for name, result in cases:
        print(
            f"{name:48} {seconds(project, result):6.2f} s, JSON {seconds(canonical, result):6.2f} s (goal: at most 2 s)"
        )


if __name__ == "__main__":
    main()
