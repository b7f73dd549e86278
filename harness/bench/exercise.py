"""The whole call sequence of a run on one probe, for a user to report on: which calls work, which do not, how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.bench.provider import BoardLease
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError
from harness.probe.jlink import JLinkProbe
from harness.probe.segments import symbol_address

SCRATCH_BYTES = 64
STEP_SECONDS = 10.0


@dataclass(frozen=True)
class Step:
    """One call: whether it worked, what it said, how many milliseconds it took."""

    name: str
    ok: bool
    found: str
    milliseconds: float

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form."""
        return {"name": self.name, "ok": self.ok, "found": self.found, "milliseconds": round(self.milliseconds, 1)}


def exercise(lease: BoardLease, image: Path | None = None) -> tuple[Step, ...]:
    """Run the sequence on a leased board, stopping at the first call that fails.

    RAM is restored; flash is not touched unless an ELF image is given, which is then written, booted and listened to.
    """
    steps: list[Step] = []
    probe: list[JLinkProbe] = []
    ram = next(region for region in lease.board_type.memory if region.kind == "ram")

    def opened() -> str:
        probe.append(lease.open_probe())
        facts = probe[0].describe()
        return f"{facts.product}, firmware {facts.firmware}, library {facts.dll_version}"

    def identity() -> str:
        words = probe[0].identify(lease.board_type).words
        return ", ".join(f"{name} {value:#010x}" for name, value in words.items())

    def memory() -> str:
        before = probe[0].read_memory(ram.origin, SCRATCH_BYTES)
        pattern = bytes((7 * i + 3) & 0xFF for i in range(SCRATCH_BYTES))
        probe[0].write_memory(ram.origin, pattern)
        found = probe[0].read_memory(ram.origin, SCRATCH_BYTES)
        probe[0].write_memory(ram.origin, before)
        if found != pattern:
            raise HarnessError("RAM reads back other bytes than were written.", why=found.hex())
        return f"{SCRATCH_BYTES} bytes of RAM written, read back, restored"

    def reset() -> str:
        probe[0].reset()
        return f"halted: {probe[0].halted()}, pc {probe[0].registers()['pc']:#010x}"

    def faults() -> str:
        report = probe[0].fault_registers()
        return ", ".join(f"{name} {value:#010x}" for name, value in report.fault.items())

    def halt() -> str:
        probe[0].halt(Deadline(STEP_SECONDS, "the core to halt", f"board {lease.serial}"))
        return "halted"

    def flash() -> str:
        assert image is not None
        return f"{probe[0].flash(image, lease.board_type)} bytes written and read back"

    def listen() -> str:
        assert image is not None
        address = symbol_address(image, "_SEGGER_RTT")
        deadline = Deadline(STEP_SECONDS, "the first bytes over RTT", f"board {lease.serial}")
        transport = probe[0].boot_rtt(address, deadline)
        heard = b""
        while not heard and not deadline.expired:
            heard = transport.read()
            time.sleep(0 if heard else 0.005)
        transport.close()
        return f"control block at {address:#010x}, {len(heard)} bytes came first"

    image_calls = (("flash and verify", flash), ("boot and RTT", listen)) if image is not None else ()
    calls: tuple[tuple[str, Callable[[], str]], ...] = (
        ("open and connect", opened),
        ("read identity", identity),
        ("write and read RAM", memory),
        ("reset", reset),
        ("fault registers", faults),
        *image_calls,
        ("halt", halt),
    )
    for name, call in calls:
        start = time.monotonic()
        try:
            found, ok = call(), True
        except HarnessError as error:
            found, ok = " ".join(part for part in (error.what, error.why) if part), False
        steps.append(Step(name, ok, found, 1000 * (time.monotonic() - start)))
        if not ok:
            break
    return tuple(steps)
