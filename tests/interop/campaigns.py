"""Long runs: random graphs against the reference, mutated inputs of every binary format.

`python -m tests.interop.campaigns graphs [COUNT]`, or `mutations [COUNT]`.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.core.errors import HarnessError
from harness.interop.captures.blobs import read_info, read_statistics
from harness.interop.captures.debug import read_debug_database
from harness.interop.etdump.dump import read_etdump
from harness.interop.etdump.record import read_etrecord
from harness.interop.etdump.standard import standard_document
from harness.interop.etdump.vgf import read_vgf
from harness.interop.mlia.direct import BUDGET
from harness.interop.mlia.postprocess import postprocess
from tests.interop.dense import dense_document
from tests.interop.graphs import random_document
from tests.interop.peer import Peer
from tests.interop.samples import debug_database, etdump, etrecord, info, mutated, statistics, vgf_payload

LIMIT_MIB = 300
SLOW_S = 5.0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def graphs(count: int = 500, first: int = 0) -> int:
    """Random graphs; the number that differ from the reference where it answers within 10 s."""
    different = late = refused = figures = budget = 0
    with Peer() as peer:
        for seed in range(first, first + count):
            document = random_document(seed) if seed % 2 else dense_document(seed)
            answer = peer.ask(document)
            if answer.get("late"):
                late += 1
                continue
            if "processed" not in answer:
                refused += 1
                continue
            found = postprocess(document)
            figures += sum(len(item.projected) for item in found.projections if item is not None)
            budget += sum(BUDGET in item.withheld.values() for item in found.projections if item is not None)
            if found.document != answer["processed"]:
                different += 1
                _say(f"seed {seed} differs")
    _say(f"{count} graphs: {different} differ, {late} too slow for the reference, {refused} refused by it")
    _say(f"{figures} figures projected, {budget} graphs beyond the search budget")
    return different + refused


def _readers(directory: Path) -> dict[str, tuple[bytes, Any]]:
    memory = statistics({0: [[0, 10, 1], [1, 12, 50]]}, 1, "G1")
    event = ("OPERATOR_CALL", 0, 0, 10, 20)
    payload = vgf_payload(memory, [0])
    record = etrecord(directory / "r", {"forward": {0: 1, 1: [1, 2]}}, [("a", "aten.a", 1), ("b", "aten.b", 2)])
    place = directory / "m"

    def read_record(data: bytes) -> None:
        place.write_bytes(data)
        read_etrecord(place)

    return {
        "etdump": (
            etdump([("Execute", [event, ("x", 0, 1, 30, 40)])] * 3, {0: payload}),
            lambda data: standard_document(read_etdump(data), raw=data),
        ),
        "etrecord": (record.read_bytes(), read_record),
        "vgf": (payload, lambda data: read_vgf(data, "f")),
        "statistics": (memory, lambda data: read_statistics(data, 1, "G1", (0,), "f")),
        "info": (info([0, 1, 2]), lambda data: read_info(data, "f")),
        "debug database": (
            debug_database({30: [0], 31: [1]}, {30: [5], 31: [6]}),
            lambda d: read_debug_database(d, "f"),
        ),
    }


def mutations(count: int = 10_000, seed: int = 1) -> int:
    """Mutated inputs of each binary format; the number that crash, hang or need too much memory."""
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, (data, read) in _readers(Path(directory)).items():
            rng = random.Random(seed)
            taken = refused = 0
            slowest = 0.0
            for _ in range(count):
                start = time.perf_counter()
                try:
                    read(mutated(data, rng))
                    taken += 1
                except HarnessError:
                    refused += 1
                except Exception as error:  # a campaign counts what it finds
                    bad += 1
                    _say(f"{name}: {type(error).__name__}: {error}")
                slowest = max(slowest, time.perf_counter() - start)
            bad += slowest > SLOW_S
            _say(f"{name}: {taken} read, {refused} refused, slowest {slowest * 1000:.0f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(f"peak memory {peak:.0f} MiB")
    return bad + (peak > LIMIT_MIB)


def main(arguments: list[str]) -> int:
    """Run the one that is named, or both; the exit status is 1 when anything was found."""
    runs = {"graphs": graphs, "mutations": mutations}
    chosen = arguments[:1] if arguments else list(runs)
    if chosen[0] not in runs:
        _say(__doc__ or "")
        return 2
    sizes = [int(text) for text in arguments[1:2]]
    found = sum(runs[name](*sizes) for name in chosen)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
