"""The power part of a run: a monitor is opened, the power image boots, windows are recorded, evidence is made.

The order matters. A monitor that feeds the board comes first and goes last. The power image is told through RAM what to
do; from then on nothing passes over the probe until the last window has ended, and then its terminal record is read.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.capture.terminal import PowerPlan, Terminal, TerminalError
from harness.core.deadline import Deadline
from harness.core.errors import DeadlineError, HarnessError, HostError, TargetError, UsageError
from harness.core.hashing import semantic_hash
from harness.image.build import POWER_DIRECTORY
from harness.power.errors import MonitorError, PowerCaptureError
from harness.power.monitor import ALIASES, Monitor, MonitorSettings, get_driver
from harness.power.recording import Recording
from harness.power.report import PowerReport, analyse
from harness.power.waveform import Waveform
from harness.results.measured import ZERO_REFILL, aggregate_pass
from harness.results.power import PowerEvidence
from harness.runner.mailbox import POLL_SECONDS, Mailbox
from harness.runner.power_plan import PowerSpec, gate_plan, plan_windows, planned_seconds, terminal_issues

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease, MonitorPlace, Wires
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.runner.deadlines import Deadlines

IDLE_S = 0.05
"""Recorded before the power image starts, so that the floor is seen."""
SUPPLY_SETTLE_S = 0.2
UNGATED_PART, UNGATED_S = 1.1, 0.5
OFF_S = 0.5
"""How long a power cycle leaves a board without supply."""


@dataclass(frozen=True)
class PowerOutcome:
    """What came of the power part: evidence, and the error of what could not be measured."""

    evidence: PowerEvidence
    error: HarnessError | None = None


@dataclass(frozen=True)
class PowerSession:
    """An open monitor before a leased board, for one run."""

    spec: PowerSpec
    lease: BoardLease
    place: MonitorPlace
    monitor: Monitor
    mode: str
    directory: Path
    deadlines: Deadlines
    log: Callable[[str], None]

    def measure(self, build: Build, capture: Capture, inputs: tuple[bytes, ...]) -> PowerOutcome:
        """Measure the energy of a build that was just profiled; raises nothing that monitor, board or disk cause."""
        nothing = PowerEvidence(
            report=None,
            plan=PowerPlan(()),
            terminal=None,
            waveform=None,
            monitor=self.place.driver,
            mode=self.mode,
            scope=self.spec.scope,
            workload=_workload(build, inputs),
            fingerprint="",
            supply=self.place.basis,
        )
        try:
            return _measure(self, build, capture, inputs, nothing)
        except HarnessError as error:
            return PowerOutcome(nothing, error)
        except OSError as fault:
            # A full disk, most likely; what was profiled before is not to be lost with it.
            return PowerOutcome(nothing, HostError.of(fault))


@contextmanager
def power_session(
    spec: PowerSpec, lease: BoardLease, directory: Path, deadlines: Deadlines, log: Callable[[str], None]
) -> Iterator[PowerSession]:
    """Open the monitor that is wired to a leased board and feed the board from it.

    `directory` takes the waveform.

    Raises:
        MonitorError: there is none, or it cannot be opened. A bench fault: no number depends on it.
    """
    place = _place(spec, lease, deadlines)
    driver = get_driver(place.driver)
    mode = spec.mode or (place.mode if driver.capabilities.source_mode else "ampere")
    settings = MonitorSettings(
        mode="source" if mode == "source" else "ampere",
        volts=spec.volts if spec.volts is not None else place.volts,
        gate_line=place.gate_line,
        source=lease.board_type.source,
        keep_supply=place.keep_supply,
        accuracy={"relative": place.relative_error, "basis": place.basis or "not calibrated"},
    )
    limit = Deadline(deadlines["lease"], f"the {place.driver} to answer", place.address)
    with driver.open(place.address, settings, limit) as monitor:
        if mode == "source":
            monitor.supply(True)
            if lease.board_type.source == "silicon":
                time.sleep(SUPPLY_SETTLE_S)
            lease.attach_power_cycle(lambda: cycle(monitor))
        log(f"{place.driver} at {place.address}: {mode} mode")
        try:
            yield PowerSession(spec, lease, place, monitor, mode, directory, deadlines, log)
        finally:
            lease.attach_power_cycle(None)


def _place(spec: PowerSpec, lease: BoardLease, deadlines: Deadlines) -> MonitorPlace:
    name = f"{lease.info.board_type} {lease.info.serial}"
    place = lease.power_monitor(Deadline(deadlines["lease"], "the power monitor", name))
    if place is None:
        raise MonitorError(
            f"No power monitor is wired to {name}.",
            why=f"The run asks for power: {spec.monitor}.",
            todo="Name the monitor in bench.yaml under `power`, or run with `--power none`.",
        )
    if spec.monitor != "any" and ALIASES.get(spec.monitor, spec.monitor) != ALIASES.get(place.driver, place.driver):
        raise MonitorError(
            f"The power monitor of {name} is a {place.driver}, not a {spec.monitor}.",
            why="A run measures with the monitor it asks for.",
            todo=f"Ask for {place.driver}, or for any.",
        )
    return place


# -- images ------------------------------------------------------------------------------------------------------------


@contextmanager
def power_image(build: Build, deadlines: Deadlines) -> Iterator[Build]:
    """The power image of a build: the one beside it, else one that is built now from the same plan and model."""
    from harness.image.build import build as build_image
    from harness.image.record import RECORD_NAME, load_build

    beside = build.directory / POWER_DIRECTORY
    if (beside / RECORD_NAME).is_file():
        made = load_build(beside)
        if made.plan.intent_hash != build.plan.intent_hash or made.variant != "power":
            raise UsageError(f"{beside} is not the power image of {build.directory}.", todo="Build the plan again.")
        yield made
        return
    with tempfile.TemporaryDirectory(prefix="hil-power-image-") as parent:
        yield build_image(
            build.plan,
            Path(parent) / "build",
            model=build.model_path,
            variant="power",
            deadline_seconds=deadlines["build"],
        )


def window_fingerprint(image: Build) -> str:
    """What runs in a window around the engine: the application's and the hal's sources, and how they are compiled."""
    sources = image.basis["sources"]
    around = {name: sources[name] for name in sorted(sources) if name.startswith(("firmware/power/", "firmware/hal/"))}
    return semantic_hash("power-window", {"sources": around, "cflags": list(image.basis["cflags"])})


# -- one measurement ---------------------------------------------------------------------------------------------------


def calibration(build: Build, capture: Capture, counter_unit: str) -> tuple[float, tuple[float | None, ...]]:
    """Seconds of one inference and of each layer, from what was profiled.

    Raises:
        PowerCaptureError: the capture has no clean window to plan with.
    """
    clean = capture.clean
    if clean is None or not clean.iterations or not clean.ticks:
        raise PowerCaptureError(
            "The power windows cannot be planned.",
            why="The run measured no clean window, so nothing says how long an inference takes.",
            todo="Measure a clean window, or run without power.",
        )
    inference_s = clean.ticks / clean.clock_hz / clean.iterations
    layers: list[float | None] = [None] * len(build.engine.layers)
    for record in capture.passes:
        item = aggregate_pass(record, counter_unit, "median")
        if item.cycles is None:
            continue
        values = item.aggregate.values[:, item.cycles]
        layers = [float(v) / build.plan.cpu_clock_hz if np.isfinite(v) and v > 0 else None for v in values]
        break
    return inference_s, tuple(layers)


def _measure(
    session: PowerSession, build: Build, capture: Capture, inputs: tuple[bytes, ...], nothing: PowerEvidence
) -> PowerOutcome:
    spec, lease = session.spec, session.lease
    if build.lifecycle == "single":
        raise UsageError(
            "Energy cannot be measured with lifecycle single.",
            why="A window holds many inferences, and this build allows one a boot.",
            todo="Build with lifecycle carry, or run with `--power none`.",
        )
    emulated = lease.board_type.source == "emulated"
    inference_s, layers_s = calibration(build, capture, lease.board_type.core.counter_unit)
    plan = plan_windows(spec, inference_s, layers_s, emulated=emulated)
    with power_image(build, session.deadlines) as image:
        evidence = replace(
            nothing,
            plan=plan,
            fingerprint=window_fingerprint(image),
            image={"build_id": image.build_id, "sha256": image.sha256, "variant": image.variant},
        )
        seconds = planned_seconds(plan, inference_s, layers_s)
        session.log(f"power: {len(plan.windows)} windows, {plan.requested} inferences, about {seconds:.1f} s")
        return _record(session, image, inputs, evidence, seconds)


def _workload(build: Build, inputs: tuple[bytes, ...]) -> str:
    zero = not any(map(any, inputs))
    return ZERO_REFILL if zero and build.plan.engine == "aot" else "input_restore_included_v1"


def _record(
    session: PowerSession, image: Build, inputs: tuple[bytes, ...], evidence: PowerEvidence, seconds: float
) -> PowerOutcome:
    plan, where = evidence.plan, f"{session.place.driver} {session.place.address}"
    limit = Deadline(session.deadlines["power"] + 1.5 * seconds, "the last power window to end", where)
    failure: HarnessError | None = None
    terminal: Terminal | None = None
    why = ""
    mailbox = Mailbox(session.lease, image, session.deadlines)
    mailbox.flash(session.log)
    wires = session.lease.wires()
    with Recording(session.monitor, session.directory / "waveform.hwf") as recording:
        try:
            recording.wait_samples(int(IDLE_S * session.monitor.header().rate_hz), limit)
            plan = mailbox.start(plan, inputs, wires is not None and evidence.scope == "clean-window")
            session.log(f"power: the windows run{', in lock-step' if plan.lockstep else ''}")
            if wires is not None and plan.lockstep:
                lead(wires, recording, len(plan.windows), limit)
            if evidence.scope == "whole-capture":
                # Nothing tells the end of a window: the planned time, and a little more, has to do.
                spare = int((UNGATED_PART * seconds + UNGATED_S) * session.monitor.header().rate_hz)
                recording.wait_samples(recording.samples + spare, limit)
            else:
                recording.wait_windows(len(plan.windows), limit)
            recording.catch_up()
        except DeadlineError:
            # What is missing, the analysis says: it sees more than that a wait was in vain.
            pass
        except HarnessError as error:
            failure = error
        waveform = recording.finish()
    try:
        terminal = mailbox.terminal()
    except HarnessError as error:
        why = f"{error.what} {error.why}"
        failure = failure or (None if isinstance(error, TerminalError) else error)
    made = replace(
        evidence,
        plan=plan,
        lockstep=plan.lockstep,
        report=_analysed(session, waveform, plan, terminal, why),
        waveform=waveform.path,
        terminal=terminal,
    )
    if failure is None and terminal is not None and terminal.why_failed:
        failure = TargetError(
            "The power image failed.",
            why=f"It says: {terminal.why_failed}.",
            todo="Run the plan without power; if that works too, report this.",
        )
    return PowerOutcome(made, failure)


def _analysed(
    session: PowerSession, waveform: Waveform, plan: PowerPlan, terminal: Terminal | None, why: str
) -> PowerReport:
    emulated, whole = session.lease.board_type.source == "emulated", session.spec.scope == "whole-capture"
    ranges = session.monitor.capabilities.ranges
    return analyse(
        waveform,
        gate_plan(plan, terminal, emulated=emulated, whole=whole),
        ranges[-1] if ranges else None,
        known=terminal_issues(plan, terminal, why),
        whole=whole,
    )


def lead(wires: Wires, recording: Recording, windows: int, deadline: Deadline) -> None:
    """Let each window begin when the monitor records and the firmware is ready; go falls when the gate was seen."""
    for number in range(1, windows + 1):
        while not wires.ready():
            deadline.check(f"{number - 1} windows begun; the firmware is not ready for the next")
            time.sleep(POLL_SECONDS)
        wires.go(True, deadline)
        try:
            recording.wait_rises(number, deadline)
        finally:
            wires.go(False, deadline)


def cycle(monitor: Monitor) -> None:
    """Take the supply from a board for a while and give it back."""
    monitor.supply(False)
    try:
        time.sleep(OFF_S)
    finally:
        monitor.supply(True)
        time.sleep(SUPPLY_SETTLE_S)


__all__ = ["Mailbox", "PowerOutcome", "PowerSession", "calibration", "cycle", "power_image", "power_session"]
