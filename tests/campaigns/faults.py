"""Every fault of the catalogue on emulated boards, at many places: each run ends as it must, none wrongly passes.

Each scenario is one run on a board that has a fault. Checked are how it ended, within which time, and what is left as
evidence; a normal run right after must succeed with the figures that the board always gives. Arguments: a part of the
scenarios' names (default: all of them), or `docs` to write docs/fault-campaign.md from a whole campaign.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bench.inventory import Bench, load_bench
from harness.bench.provider import BoardLease, LeaseRequest
from harness.core.deadline import Deadline
from harness.core.errors import HarnessError
from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.results.reader import read_bundle, verify_bundle
from harness.runner.run import RunOutcome, run
from harness.virtual.faults import FAULTS, PASSES, Fault, FaultSpec

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.tflite"
BOARDS = ("mps2_an386", "mps3_an547")
QUICK = {"iterations": 3, "warmup": 1, "window_mode": "fixed"}
PHASES = ("boot", "input", "window", "pass", "inference", "inspect", "end")
SHORT = dict.fromkeys(PHASES, 3.0)
FIRMWARE = {
    "hang": ("capture.deadline",),
    "hang@2": ("capture.deadline",),
    "garbage": ("capture.protocol", "capture.deadline"),
    "hardfault": ("target.hard_fault",),
    "hardfault@2": ("target.hard_fault",),
    "lockup": ("target.lockup",),
    "mute": ("capture.deadline",),
    "dead-counter": ("target.firmware_error",),
}
"""Faults built into the firmware, and how a run must end."""
PLACES: dict[str, tuple[int, ...]] = {
    "byte of the image": (0, 700, 9000),
    "byte read through RTT": (0, 40, 500, 1200),
    "command from the host": (0, 1, 2, 3, 4),
    "frame from the target": (1, 2, 9, 16, 20),
    "modelled cycle after the gate rose": (0, 1000),
    "byte of the bundle": (0, 3000, 60_000),
    "address of the byte": (0xE000_ED01, 0xE000_ED03),
}
"""Where each fault strikes, by what is counted."""
FLAKY = "run.flaky"


@dataclass(frozen=True)
class Scenario:
    """One run that must end in one of `ends` within `limit` seconds."""

    board: str
    fault: str
    ends: tuple[str, ...]
    limit: float
    firmware: str = "none"
    retries: int = 0
    earlier_runs: int = 0

    @property
    def name(self) -> str:
        """As the table shows it."""
        retried = f" retries={self.retries}" if self.retries else ""
        return f"{self.board} {self.fault or 'firmware ' + self.firmware}{retried}"


@dataclass(frozen=True)
class Ended:
    """How a scenario ended, and what was not as it must be."""

    scenario: Scenario
    end: str
    seconds: float
    wrong: tuple[str, ...]


def scenarios() -> tuple[Scenario, ...]:
    """All of them: faults x places x boards, each once with a retry, and faults of the firmware."""
    return tuple(item for board in BOARDS for item in _on_board(board))


def _on_board(board: str) -> Iterator[Scenario]:
    for spec in FAULTS.values():
        if spec.pmu and board != "mps3_an547":
            continue
        for at in PLACES[spec.unit] if spec.unit else (None,):
            yield from _at(board, spec, Fault(spec.name, at))
        if spec.seconds is not None:
            yield Scenario(board, f"{spec.name}@7+5", ("capture.deadline",), spec.limit)
        if spec.runs == "always" and _retryable(spec):
            yield Scenario(board, f"{spec.name}/once", (FLAKY,), 2 * spec.limit, retries=1)
    yield Scenario(board, "every-second-run", (FLAKY,), 30.0, retries=1, earlier_runs=1)
    for firmware, ends in FIRMWARE.items():
        yield Scenario(board, "", ends, 20.0, firmware)


def _at(board: str, spec: FaultSpec, fault: Fault) -> Iterator[Scenario]:
    earlier = 1 if spec.runs == "every-second" or spec.name in ("stale-result", "wrong-image") else 0
    # The first byte belongs to no session: noise before the hello is passed over.
    ends = (PASSES,) if (spec.name, fault.at) == ("rtt-flip", 0) else spec.ends
    text = f"{fault}/every-second" if earlier and spec.runs == "always" else str(fault)
    yield Scenario(board, text, ends, spec.limit, earlier_runs=earlier)


def _retryable(spec: FaultSpec) -> bool:
    families = ("bench.probe_failed", "bench.flash_verify", "capture.", "target.restarted", "target.emulator")
    return all(end.startswith(families) for end in spec.ends)


class Campaign:
    """Builds, the bench, and what a normal run gives on each board."""

    def __init__(self, work: Path, bench: Bench | None = None) -> None:
        self.work = work
        self.bench = bench or load_bench()
        self._builds: dict[tuple[str, str, int], Build] = {}
        self._normal: dict[str, float | None] = {}
        self._count = 0

    def image(self, board: str, firmware: str = "none", warmup: int = 1) -> Build:
        """A build, made once."""
        key = (board, firmware, warmup)
        if key not in self._builds:
            plan = freeze(DIGITS, board=board, **{**QUICK, "warmup": warmup, "test_fault": firmware})
            self._builds[key] = build(plan, self.work / f"build-{len(self._builds)}")
        return self._builds[key]

    def run(self, scenario: Scenario) -> Ended:
        """One scenario, and a normal run after it."""
        out = self._out()
        wrong: list[str] = []
        outcome: RunOutcome | None = None
        error: HarnessError | None = None
        with self._lease(scenario.board) as lease:
            if scenario.fault:
                lease.inject(scenario.fault)
            for _ in range(scenario.earlier_runs):
                # Another image, so that one which never reached the flash is told from one that did.
                run(self.image(scenario.board, warmup=2), lease=lease, out=self._out(), expect="none")
            start = time.monotonic()
            try:
                outcome = run(
                    self.image(scenario.board, scenario.firmware),
                    lease=lease,
                    out=out,
                    expect="none",
                    deadlines=SHORT,
                    retries=scenario.retries,
                )
            except HarnessError as caught:
                error = caught
            seconds = time.monotonic() - start
        ends = (error.code,) if error is not None else _ends_of(outcome)
        if not set(ends) & set(scenario.ends):
            wrong.append(f"ended with {', '.join(ends)} instead of {' or '.join(scenario.ends)}")
        if seconds > scenario.limit:
            wrong.append(f"took {seconds:.1f} s, {scenario.limit:g} s are allowed")
        wrong += _evidence(out, outcome, error)
        wrong += self._normal_run(scenario.board)
        return Ended(scenario, next((end for end in ends if end in scenario.ends), ends[0]), seconds, tuple(wrong))

    def _lease(self, board: str) -> BoardLease:
        return self.bench.lease(LeaseRequest((board,), None, "fault campaign"), Deadline(30.0, f"a {board}"))

    def _out(self) -> Path:
        self._count += 1
        return self.work / "out" / f"{self._count:04}"

    def _normal_run(self, board: str) -> list[str]:
        """A run without faults, whose figures must be those of every such run."""
        try:
            with self._lease(board) as lease:
                outcome = run(self.image(board), lease=lease, out=self._out(), expect="none", retries=0)
        except HarnessError as error:
            return [f"BOARD LOST: {error.code}: {error.what}"]
        usual = self._normal.setdefault(board, outcome.clean_cycles)
        if str(outcome.evaluation.validity) != "valid":
            return [f"BOARD LOST: a normal run is {outcome.evaluation.validity}"]
        return [] if outcome.clean_cycles == usual else [f"figures changed: {outcome.clean_cycles} after {usual}"]


def _ends_of(outcome: RunOutcome | None) -> tuple[str, ...]:
    assert outcome is not None
    return tuple(item.code for item in outcome.evaluation.issues) or (PASSES,)


def _evidence(out: Path, outcome: RunOutcome | None, error: HarnessError | None) -> list[str]:
    """What is missing of the evidence that every end must leave."""
    if error is not None and error.code == "bench.host_failed":
        left = [path.name for path in out.parent.iterdir() if path == out or path.name.startswith(".")]
        return [f"left on a full disk: {', '.join(left)}"] if left else []
    try:
        manifest = verify_bundle(out)
    except HarnessError as broken:
        return [f"no bundle that verifies: {broken.what}"]
    own = manifest.extensions["harness"]
    wrong: list[str] = []
    if error is not None:
        if str(manifest.status) != "failed" or str(manifest.validity) != "invalid":
            wrong.append(f"WRONG PASS: the bundle is {manifest.status} and {manifest.validity}")
        if own["error"]["code"] != error.code or not (error.what and error.todo):
            wrong.append("the bundle does not say why")
        if read_bundle(out).layers:
            wrong.append("WRONG PASS: a failed run has layers")
        if error.code == "target.hard_fault" and not error.context.get("backtrace"):
            wrong.append("a fault without backtrace")
        return wrong
    assert outcome is not None
    for attempt in own["failed_attempts"]:
        record = json.loads((out / f"attempts/{attempt['number']}/error.json").read_text())
        if record["code"] != attempt["code"]:
            wrong.append("the evidence of a failed attempt is that of another one")
    told = outcome.flaky or not outcome.valid or outcome.capture.events
    return wrong if told else ["WRONG PASS: nothing tells of the fault"]


def main(arguments: list[str]) -> int:
    """Returns 0 when every scenario ended as it must."""
    wanted = "" if not arguments or arguments[0] == "docs" else arguments[0]
    chosen = [item for item in scenarios() if wanted in item.name]
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as folder:
        campaign = Campaign(Path(folder))
        ended = [_shown(campaign.run, number, len(chosen), item) for number, item in enumerate(chosen, 1)]
    failures = [item for item in ended if item.wrong]
    print(summary(ended))
    if arguments[:1] == ["docs"] and not failures:
        (ROOT / "docs/fault-campaign.md").write_text(page(ended), encoding="utf-8")
    return 1 if failures else 0


def _shown(execute: Callable[[Scenario], Ended], number: int, count: int, scenario: Scenario) -> Ended:
    ended = execute(scenario)
    verdict = "; ".join(ended.wrong) or "ok"
    print(f"{number:3}/{count} {scenario.name:48} {ended.end:26} {ended.seconds:5.1f} s  {verdict}", flush=True)
    return ended


def summary(ended: Sequence[Ended]) -> str:
    """One line of figures."""
    said = Counter(
        word for item in ended for text in item.wrong for word in ("WRONG PASS", "BOARD LOST") if word in text
    )
    other = sum(bool(item.wrong) for item in ended)
    return (
        f"{len(ended)} scenarios: {len(ended) - other} as they must, {other} not; "
        f"wrong passes: {said['WRONG PASS']}; boards lost: {said['BOARD LOST']}; "
        f"longest {max((item.seconds for item in ended), default=0.0):.1f} s"
    )


def page(ended: Sequence[Ended]) -> str:
    """docs/fault-campaign.md."""
    rows = [
        f"| {item.scenario.board} | `{item.scenario.fault or 'firmware: ' + item.scenario.firmware}` "
        f"| {item.scenario.retries} | {item.scenario.earlier_runs} | {' or '.join(item.scenario.ends)} "
        f"| {item.end} | {item.scenario.limit:g} |"
        for item in ended
    ]
    return "\n".join(
        [
            "# Fault campaign",
            "",
            "<!-- Written by `scripts/campaign faults docs` from a whole campaign. -->",
            "",
            "Every fault of [virtual-faults.md](virtual-faults.md) on emulated boards, at several places, and faults",
            "built into the firmware. A run ends in one of the expected ways within the limit, leaves its evidence,",
            "and a normal run right after it succeeds with the figures that this board always gives.",
            "",
            summary(ended).rsplit(";", 1)[0] + ".",
            "",
            "| board | fault | retries | runs before | may end with | ended with | limit, s |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
