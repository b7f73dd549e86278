"""Decoding speed of PPK2 bytes against ppk2-api, in the same run, on the same stream.

    python benchmarks/ppk2_decode.py [--samples 2000000] [--change-every 1000] [--json]

Both turn bytes into display currents (spike filter on). ppk2-api runs in its own environment, `.peers/ppk2`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".peers" / "ppk2" / "bin" / "python"
READ = 1 << 18

_PEER_CODE = """
import json, os, sys, time
from ppk2_api.ppk2_api import PPK2_API
master, slave = os.openpty()
device = PPK2_API(os.ttyname(slave))
device.current_vdd = 3300
data = sys.stdin.buffer.read()
count = 0
start = time.perf_counter()
for at in range(0, len(data), 4096):
    samples, _ = device.get_samples(data[at : at + 4096])
    count += len(samples)
print(json.dumps({"seconds": time.perf_counter() - start, "samples": count}))
"""


def stream(samples: int, change_every: int) -> bytes:
    """Words with random codes and ranges that change after so many samples on average."""
    rng = np.random.default_rng(1)
    changes = np.cumsum(rng.random(samples) < 1 / change_every)
    ranges = rng.integers(0, 5, changes[-1] + 1)[changes]
    counter = np.arange(samples) % 64
    words = rng.integers(0, 1 << 14, samples) | (ranges << 14) | (counter << 18)
    return words.astype("<u4").tobytes()


def ours(data: bytes) -> float:
    """Seconds of our decoder: alignment, counter, exact and display currents."""
    from harness.power.ppk2_decode import Decoder, StreamParser
    from harness.power.ppk2_wire import Calibration

    parser, decoder = StreamParser(), Decoder(Calibration(), 3.3)
    count = 0
    start = time.perf_counter()
    for at in range(0, len(data), READ):
        count += len(decoder.decode(parser.feed(data[at : at + READ]))[1])
    count += len(decoder.decode(parser.finish())[1])
    seconds = time.perf_counter() - start
    if count != len(data) // 4 or parser.events:
        raise SystemExit("our decoder lost samples")
    return seconds


def peer(data: bytes) -> float:
    """Seconds of ppk2-api."""
    done = subprocess.run([str(PEER), "-c", _PEER_CODE], input=data, capture_output=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


def main() -> int:
    """Measure, print, and fail below the ratio that is promised."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--change-every", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data = stream(given.samples, given.change_every)
    ours(data[: 4 * 100_000])
    mine = min(ours(data) for _ in range(3))
    # The peer needs seconds a million samples: a part of the stream shows its speed.
    part = data[: 4 * min(given.samples, 400_000)]
    theirs = min(peer(part) for _ in range(2)) * len(data) / len(part)
    result = {
        "samples": given.samples,
        "ours_msps": round(given.samples / mine / 1e6, 2),
        "ppk2_api_msps": round(given.samples / theirs / 1e6, 3),
        "ratio": round(theirs / mine, 1),
    }
    if given.json:
        print(json.dumps(result))
    else:
        print(f"ours {result['ours_msps']} million samples a second, ppk2-api {result['ppk2_api_msps']}: "
              f"{result['ratio']} times (promised: 50)")  # fmt: skip
    return 0 if result["ratio"] >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
