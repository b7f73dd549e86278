"""What the counter plugin costs: CPU time of an emulated core with it and without it, as ratios of one run.

Scalar int8 convolution with every access going through the cache model, the same `-icount` on both sides, interleaved
runs, the best of each side. All counters, the cache model, branch outcomes and energy are on; they cannot be off.

    python benchmarks/counter_plugin.py [--repeat 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from harness.virtual import counters  # noqa: E402
from tests.counters import rig  # noqa: E402

TARGET = 0.4


def cpu_seconds(board_name: str, elf: Path, with_plugin: bool) -> tuple[float, int]:
    """CPU time of one run, and instructions when the plugin counted them (else 0)."""
    board = rig.board_type(board_name)
    directory = Path(tempfile.mkdtemp(prefix="hc"))
    try:
        plugin = None
        if with_plugin:
            everything = "cacheable=0x20000000-0x203fffff,cacheable=0x30000000-0x300fffff"
            arguments = counters.plugin_args(board, directory / "pages", summary=directory / "summary")
            plugin = f"{counters.plugin_path()},{arguments},{everything}"
        words = rig.command(board, elf, directory, plugin)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rig.execute(board, words, directory)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, rig.read_summary(directory / "summary")["instructions"] if with_plugin else 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    """Print one row a board; exit status 1 when a ratio is below the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    rows = []
    for name in rig.BOARDS:
        board = rig.board_type(name)
        scalar = ["-mcpu=cortex-m55+nomve"] if board.core.mve else []
        with tempfile.TemporaryDirectory() as directory:
            elf = rig.build(board, "convolution", Path(directory), flags=["-DREPEAT=100", *scalar])
            bare, full, instructions = [], [], 0
            for _ in range(settings.repeat):
                bare.append(cpu_seconds(name, elf, False)[0])
                seconds, instructions = cpu_seconds(name, elf, True)
                full.append(seconds)
        row = {
            "board": name,
            "instructions": instructions,
            "bare_mips": round(instructions / min(bare) / 1e6),
            "plugin_mips": round(instructions / min(full) / 1e6),
            "ratio": round(min(bare) / min(full), 3),
            "target": TARGET,
        }
        rows.append(row)
        if not settings.json:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if settings.json:
        print(json.dumps(rows))
    return int(any(row["ratio"] < TARGET for row in rows))


if __name__ == "__main__":
    sys.exit(main())
