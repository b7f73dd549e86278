"""List campaigns, or run one."""

from __future__ import annotations

import sys
from importlib import import_module

CAMPAIGNS: dict[str, tuple[str, str]] = {
    "kill": ("tests.campaigns.kill", "kill -9 of pytest, QEMU and the compiler at random moments"),
    "faults": ("tests.campaigns.faults", "every fault of the virtual bench, everywhere it can strike"),
    "determinism": ("tests.campaigns.determinism", "identical raw samples whatever the host does"),
    "power": ("tests.campaigns.power", "energy and its uncertainty, faulty streams, long captures"),
    "histories": ("tests.campaigns.histories", "flat histories; the index of runs, fast and without loss"),
    "merges": ("tests.campaigns.merges", "20,000 simulated merges of 40 correlated metrics"),
    "merge-gate": ("tests.campaigns.merge_gate", "30 merges end to end on a noisy emulated board"),
    "hpx-pairs": ("tests.campaigns.hpx_pairs", "random pairs and profiles judged by us and by hpx"),
    "statistics": ("tests.campaigns.statistics", "false alarms and misses of the sequential procedure by noise"),
    "cost-model": ("tests.campaigns.cost_model", "fit costs/emulated.json again, and see how far predictions are off"),
    "interop": ("tests.campaigns.interop", "random graphs against MLIA; mutated inputs of every format"),
    "layers": ("tests.campaigns.layers", "every layer of every model file, both boards, both kernel sets"),
    "mutants": ("tests.campaigns.mutants", "mutated model files: refused or compiled, within limits, under sanitizers"),
    "operators": ("tests.campaigns.operators", "random operators against the host references, 5,000 of each"),
    "frames": ("tests.campaigns.frames", "10 million random and mutated frames through the C and the Python codec"),
    "soak": (
        "tests.campaigns.soak",
        "1,000 runs on two boards in parallel: valid, identical, nothing grows",
    ),
    "wheel": ("tests.campaigns.wheel", "the wheel in an empty environment, read-only, away from the clone"),
}
"""Name -> (module with `main(arguments) -> exit status`, one line)."""


def main(arguments: list[str]) -> int:
    """Run the campaign that the first argument names."""
    if not arguments or arguments[0] not in CAMPAIGNS:
        for name, (_, text) in CAMPAIGNS.items():
            print(f"{name:14} {text}")
        return 0 if not arguments else 2
    return int(import_module(CAMPAIGNS[arguments[0]][0]).main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
