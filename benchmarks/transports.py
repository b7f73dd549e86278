"""How fast each transport carries bytes off an emulated board, beside a plain reader of the same stream.

    python benchmarks/transports.py [--board mps2_an386] [--json]

The firmware floods the transport through the same hal as the shipped firmware. The plain readers are pylink's own
`rtt_read` and `swo_read` (the latter without decoding), and pyserial's `read`. Bytes are checked. RTT has an absolute
goal, 20 MB/s on a quiet machine; the others are as fast as the emulated peripheral.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.bench.inventory import load_bench
from harness.bench.provider import LeaseRequest
from harness.board.transports import TRANSPORTS
from harness.core.deadline import Deadline
from harness.image.port_files import write_port_files
from harness.probe.segments import symbol_address
from harness.probe.transports import Link, boot

ROOT = Path(__file__).resolve().parents[1]
FIRMWARE = ROOT / "firmware"
SIZES = {"rtt": 32 << 20, "serial": 192 << 10, "cdc": 192 << 10, "swo": 2 << 20}
PATTERN = bytes((i * 7 + i // 256) & 0xFF for i in range(4096))
GOAL_MBPS = 20.0
ROUNDS = 3


def image(board: Any, transport: str, directory: Path) -> Path:
    """The flooding firmware for a board and a transport."""
    out, generated = directory / f"{transport}.elf", directory / f"{transport}-generated"
    generated.mkdir()
    write_port_files(board, generated)
    sources = [ROOT / "benchmarks/flood.c", *(FIRMWARE / "hal").glob("*.c"), *board.port_dir.glob("*.c")]
    includes = [FIRMWARE, FIRMWARE / "hal", board.port_dir, FIRMWARE / "ports/common", generated]
    command = ["arm-none-eabi-gcc", *board.core.cpuflags, "-O2", "-ffunction-sections", "-fdata-sections"]
    command += [f"-DFLOOD_TRANSPORT={TRANSPORTS[transport].firmware}", *(f"-I{path}" for path in includes)]
    command += [*map(str, sorted(sources)), "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections"]
    command += [f"-L{FIRMWARE / 'ports/common'}", "-T", str(generated / "link.ld"), "-o", str(out)]
    subprocess.run(command, check=True)
    return out


def flood(write: Callable[[bytes], int], read: Callable[[], Any], size: int) -> float:
    """Seconds to ask for so many bytes and to have them all; they are checked afterwards."""
    deadline = Deadline(120, "the flood")
    request, parts, have = size.to_bytes(4, "little"), [], 0
    start = time.perf_counter()
    while request:
        request = request[write(request) :]
        deadline.check()
    while have < size:
        part = read()
        if part:
            parts.append(part)
            have += len(part)
        else:
            deadline.check(f"{have} bytes")
    seconds = time.perf_counter() - start
    expected = PATTERN * (size // len(PATTERN))
    if all(isinstance(part, bytes) for part in parts) and b"".join(parts) != expected:
        raise SystemExit("bytes were lost or changed")
    return seconds


def plain_reader(transport: str, opened: Any, probe: Any) -> Callable[[], Any]:
    """What a script without the harness would call. The board, the port and the library stay as they are."""
    if transport == "rtt":
        return lambda: bytes(probe._jl.rtt_read(0, 65536))
    if transport == "swo":
        return lambda: probe._jl.swo_read(0, 65536, remove=True)
    port = opened._port
    return lambda: port.read(65536)


def measure(board_type: str, transport: str, directory: Path) -> dict[str, float]:
    """Best of some rounds, ours and plain by turns."""
    request = LeaseRequest(board_types=(board_type,), serial=None, holder="benchmark")
    with load_bench(None).lease(request, Deadline(60, "a board")) as lease:
        elf = image(lease.board_type, transport, directory)
        probe = lease.open_probe()
        probe.flash(elf, lease.board_type)
        address = symbol_address(elf, "_SEGGER_RTT") if transport in ("rtt", "swo") else None
        link = Link(probe, board_type, address, lease.port(transport), lease.board_type.clock_hz())
        opened = boot(transport, link, Deadline(20, "the boot"))
        size = SIZES[transport]
        # A serial port of the emulator needs up to a second until it notices that it is open.
        flood(opened.write, opened.read, 4096)
        ours, plain = [], []
        other = plain_reader(transport, opened, probe)
        # The plain SWO reader gets packets as they are: five bytes for four.
        plain_size = size if transport != "swo" else size // 4 * 4
        for _ in range(ROUNDS):
            ours.append(flood(opened.write, opened.read, size))
            if transport == "swo":
                plain.append(_raw_swo(opened, other, plain_size))
            else:
                plain.append(flood(opened.write, other, size))
        opened.close()
    best, least = size / min(ours) / 1e6, size / min(plain) / 1e6
    return {"mbps": round(best, 2), "plain_mbps": round(least, 2), "ratio": round(best / least, 2)}


def _raw_swo(opened: Any, read: Callable[[], Any], size: int) -> float:
    start = time.perf_counter()
    opened.write(size.to_bytes(4, "little"))
    have = 0
    while have < size * 5 // 4:
        have += len(read())
    seconds = time.perf_counter() - start
    while read():
        pass
    return seconds


def main() -> int:
    """Measure and print; fails when RTT is below its goal or below the plain reader."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--board", default="mps2_an386")
    parser.add_argument("--transport", action="append", choices=list(TRANSPORTS))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = {t: measure(given.board, t, Path(name)) for t in given.transport or TRANSPORTS}
    if given.json:
        print(json.dumps({"board": given.board, "transports": rows}))
    else:
        for transport, row in rows.items():
            print(
                f"{transport:8} {row['mbps']:8.2f} MB/s, plain {row['plain_mbps']:8.2f} MB/s: {row['ratio']:.2f} times"
            )
    rtt = rows.get("rtt")
    return 0 if rtt is None or (rtt["mbps"] >= GOAL_MBPS and rtt["ratio"] >= 1.0) else 1


if __name__ == "__main__":
    raise SystemExit(main())
