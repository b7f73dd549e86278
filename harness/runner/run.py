"""One run: a build and a board become a published bundle, whether it succeeds or fails."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import strict_json
from harness.core.errors import HardFaultError, HarnessError, HostError, UsageError
from harness.core.signals import TERMINATED, unwound_by_sigterm
from harness.results.outputs import OutputsCheck
from harness.runner.attempts import RETRIES, Attempts, FailedAttempt, checked_retries, evidence
from harness.runner.board import flash_board, lease_board, silent
from harness.runner.deadlines import Deadlines
from harness.runner.expectation import Expectation
from harness.runner.measure import capture_request, measure, own_inputs, wanted_inferences
from harness.runner.outcome import RunOutcome

if TYPE_CHECKING:
    from concurrent.futures import Future

    from harness.bench.inventory import Bench
    from harness.bench.provider import BoardLease
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.plan.record import Plan
    from harness.results.bundle import BundleContent
    from harness.runner.inputs import Given
    from harness.runner.power import PowerOutcome
    from harness.runner.reference import Reference

DEFAULT_OUT = "hil-results"
INPUTS_SCHEMA = "harness.inputs"


def refuse_existing(out: Path | str | None) -> None:
    """Raise `UsageError` when something lies where a bundle is to be."""
    if out is not None and (Path(out).exists() or Path(out).is_symlink()):
        raise UsageError(
            f"There is something at {out} already.",
            why="A bundle is never overwritten.",
            todo="Name another directory.",
        )


def check_tensors(
    build: Build, *, inputs: Any = (), expect: str = "reference", expected: Any = None, tolerance: float = 0.0, **_: Any
) -> None:
    """Raise as `run` does when inputs or expected outputs do not fit the model; nothing is run."""
    from harness.runner.reference import given_reference

    Expectation(expect, expected, tolerance)
    given = wanted_inferences(build, inputs)
    if expected is not None:
        given_reference(expected, build.engine.output_tensors, len(given.cases))


def run(
    build: Build | Path | str,
    *,
    board: str | None = None,
    serial: int | None = None,
    bench: Bench | Path | None = None,
    lease: BoardLease | None = None,
    out: Path | str | None = None,
    inputs: Any = (),
    timed: str = "build",
    inspect: int = 1,
    expect: str = "reference",
    expected: Any = None,
    tolerance: float = 0.0,
    power: str | None = None,
    deadlines: Deadlines | dict[str, float] | None = None,
    retries: int = RETRIES,
    log: Callable[[str], None] = silent,
) -> RunOutcome:
    """Flash a build, capture one boot, compare outputs with the host reference, publish a bundle.

    Args:
        build: a build, its directory, or its `build.json`.
        board: the board type; must be the build's. A check, for callers who want to be sure.
        serial: which board; may be left out when only one matches or an emulated one can be started.
        bench: the bench, or its description file; by default `bench.yaml`, else emulated boards on demand.
        lease: a board held already; it stays held.
        out: directory of the bundle; by default a new one below `hil-results`.
        inputs: inputs to run for their outputs: arrays, bytes, files or `RandomInputs`; see
            `harness.runner.inputs.tensor_cases`. Without any, the build's own.
        timed: what windows and passes run on: `build`, its own inputs, or `inputs`, the first of those given.
        inspect: how many of the inputs to run again with every layer's output sent to the host.
        expect: `reference` compares outputs with the host reference of the plan's rounding profile, `litert-default`
            with LiteRT as it comes, within a tolerance, `none` compares nothing.
        expected: outputs to compare with in place of a reference, given as `inputs` are, for as many inferences.
        tolerance: largest allowed absolute error of a model output, in stored units.
        power: power monitor that measures energy: `none`, `any` or its name; by default the plan's.
        deadlines: seconds by phase.
        retries: how often to try again after a failure of bench, link or wire; see `harness.runner.attempts`.
        log: called with a line for each phase.

    Raises:
        WrongBoardError: the board is of another type.
        BenchError, TargetError, CaptureError: the run failed; `context["bundle"]` names the bundle that says how.
        MonitorError, PowerCaptureError: energy was asked for and not measured; the bundle has all the rest.
        HostReferenceError, ToolMissingError, DeadlineError: the host reference could not be had, so no output was
            compared; `context["bundle"]` names the bundle with the measurements.
        HostError: the bundle could not be written; there is none.
        UsageError: `out` exists, or an argument is not allowed; nothing was touched.
    """
    from harness.image.record import Build, load_build

    started = time.monotonic()
    build = build if isinstance(build, Build) else load_build(build)
    limits = deadlines if isinstance(deadlines, Deadlines) else Deadlines.of(deadlines or {})
    if board is not None and board != build.plan.board:
        from harness.core.errors import WrongBoardError

        raise WrongBoardError(
            f"The build is for {build.plan.board}, not for {board}.",
            why="A board must be of the type that the image names.",
            todo=f"Build for {board}, or run on {build.plan.board}; which one of them, `--serial` says.",
        )
    if timed not in ("build", "inputs"):
        raise UsageError(f"timed={timed!r} is unknown.", todo="Use 'build' or 'inputs'.")
    expectation = Expectation(expect, expected, tolerance)
    if inspect < 0:
        raise UsageError(f"inspect={inspect!r} is not a number of inputs.", todo="Use 0 or more.")
    refuse_existing(out)
    given = wanted_inferences(build, inputs)
    own = own_inputs(build)
    work = _Run(
        build=build,
        out=Path(out) if out is not None else None,
        deadlines=limits,
        log=log,
        started=started,
        inferences=given,
        timed=own if timed == "build" else replace(given, cases=given.cases[:1], sources=given.sources[:1]),
        inspect=inspect,
        expectation=expectation,
        power=power,
        retries=checked_retries(retries),
    )
    return work.execute(bench, lease, serial)


@dataclass(frozen=True)
class _Measured:
    """What a board gave: one boot, the power part where energy was asked for, and the attempts that failed before."""

    capture: Capture
    power: PowerOutcome | None
    failed: tuple[FailedAttempt, ...]


@dataclass(frozen=True)
class _Run:
    """The facts that every step of one run needs."""

    build: Build
    out: Path | None
    deadlines: Deadlines
    log: Callable[[str], None]
    started: float
    inferences: Given
    timed: Given
    inspect: int
    expectation: Expectation
    power: str | None
    retries: int

    def execute(self, bench: Bench | Path | None, lease: BoardLease | None, serial: int | None) -> RunOutcome:
        reference = self.expectation.begin(
            self.build, self.inferences, self.timed, self.inspect, self.deadlines["reference"]
        )
        with tempfile.TemporaryDirectory(prefix="hil-run-") as scratch:
            with self._board(bench, lease, serial) as held:
                measured = self._measured(held, Path(scratch))
            return self._conclude(held, measured, reference)

    def _measured(self, held: BoardLease, scratch: Path) -> _Measured:
        """What one boot says and, where energy is asked for, what became of that; tried again where that may help."""
        attempts = Attempts(held, self.retries, self.log)
        try:
            capture, power = attempts.run(lambda: self._once(held, scratch, attempts))
        except HarnessError as error:
            if isinstance(error, HardFaultError):
                self._explain_fault(error)
            self._publish_failure(held, error, attempts)
            raise
        return _Measured(capture, power, tuple(attempts.failed))

    def _once(self, held: BoardLease, scratch: Path, attempts: Attempts) -> tuple[Capture, PowerOutcome | None]:
        from harness.runner.power_plan import PowerSpec

        spec = PowerSpec.of(self.build.plan, self.power)
        if spec is None:
            return self._capture(held, attempts), None
        from harness.runner.power import power_session

        # A monitor that feeds the board comes and goes with the attempt: recovering the board in between ends it.
        directory = scratch / f"attempt-{len(attempts.failed) + 1}"
        directory.mkdir()
        with power_session(spec, held, directory, self.deadlines, self.log) as session:
            capture = self._capture(held, attempts)
            return capture, session.measure(self.build, capture, self.timed.cases[0])

    @contextmanager
    def _board(self, bench: Bench | Path | None, lease: BoardLease | None, serial: int | None) -> Iterator[BoardLease]:
        if lease is not None:
            yield lease
            return
        from harness.bench.inventory import Bench, load_bench

        reachable = bench if isinstance(bench, Bench) else load_bench(bench)
        with (
            unwound_by_sigterm(lambda: SystemExit(TERMINATED)),
            lease_board(reachable, self.build, serial=serial, holder="harness run", deadlines=self.deadlines) as own,
        ):
            self.log(f"{own.info.board_type} {own.info.serial} leased from {own.info.provider}")
            yield own

    def _capture(self, held: BoardLease, attempts: Attempts) -> Capture:
        ready = flash_board(held, self.build, self.deadlines, self.log)
        cases = self.inferences.cases
        inspected = cases[: self.expectation.inspected(self.inspect)]
        request = capture_request(self.build, cases, inspected, self.timed.cases[0])
        return measure(ready, request, self.deadlines, self.log, tap=attempts.raw.extend)

    def _conclude(self, held: BoardLease, measured: _Measured, reference: Future[Reference] | None) -> RunOutcome:
        from harness.results.assemble import assemble
        from harness.results.bundle import publish

        capture, power, failed = measured.capture, measured.power, measured.failed
        energy = power.evidence if power is not None else None
        failure = power.error if power is not None else None
        try:
            outputs = self.expectation.compare(self.build, capture, reference, self.log)
        except HarnessError as error:
            failure = failure or error
            outputs = OutputsCheck.not_compared(error.what)
        assembled = assemble(
            capture,
            self.build,
            self.build.plan,
            held.board_type,
            outputs_check=outputs,
            power=energy,
            bench=bench_facts(held, self.build.plan),
            zero_inputs=not any(map(any, self.timed.cases[0])),
            timed_inputs=self.timed.digest(),
            extra_files={**self._inputs_record(), **evidence(failed)},
            attempts=[attempt.to_dict() for attempt in failed],
        )
        content = self._standardized(self._described(assembled.content))
        try:
            bundle = publish(self._out(content.run_id), content, room=held.disk_room)
        except OSError as fault:
            raise HostError.of(fault) from fault
        self.log(f"published {bundle}")
        if failure is not None:
            # What was asked for was not checked; the measurements are kept in the bundle all the same.
            failure.context["bundle"] = str(bundle)
            raise failure
        return RunOutcome(
            bundle=bundle,
            build=self.build,
            capture=capture,
            result=replace(assembled.result, report_paths=tuple(sorted(bundle.iterdir()))),
            evaluation=assembled.evaluation,
            outputs=outputs,
            inputs=_inputs_summary(self.timed, self.inferences),
            serial=held.info.serial,
            source=held.board_type.source,
            seconds=time.monotonic() - self.started,
            power=energy,
            failed_attempts=failed,
        )

    def _explain_fault(self, error: HardFaultError) -> None:
        from harness.image.backtrace import backtrace

        fault = error.context.get("fault", {})
        registers = error.context.get("registers") or fault.get("stacked") or fault.get("registers") or {}
        if "pc" not in registers:
            return
        frames = backtrace(
            self.build.elf_facts, registers["pc"], registers.get("lr", 0), error.context.get("stack", ())
        )
        error.context["backtrace"] = list(frames)
        error.why = f"In {' < '.join(frames)}. {error.why}"

    def _publish_failure(self, held: BoardLease, error: HarnessError, attempts: Attempts) -> None:
        from harness.results.assemble import assemble_failed
        from harness.results.bundle import publish
        from harness.results.context import context_from_records

        content = assemble_failed(
            error,
            context=context_from_records(
                self.build, self.build.plan, held.board_type, bench=bench_facts(held, self.build.plan)
            ),
            log=str(error.context.get("log", "")),
            raw=bytes(attempts.raw),
            events=tuple(error.context.get("events", ())),
            extra_files={**self._inputs_record(), **evidence(attempts.failed)},
            attempts=[attempt.to_dict() for attempt in attempts.failed],
        )
        content = self._standardized(content)
        try:
            error.context["bundle"] = str(publish(self._out(content.run_id), content, room=held.disk_room))
        except OSError as fault:
            error.context["bundle_error"] = f"no bundle could be written: {fault.strerror or fault}"

    def _inputs_record(self) -> dict[str, bytes]:
        record = {"schema": INPUTS_SCHEMA, "schema_version": 1, **_inputs_summary(self.timed, self.inferences)}
        return {"inputs.json": strict_json.pretty(record).encode()}

    def _described(self, content: BundleContent) -> BundleContent:
        from harness.model.load import load_model
        from harness.results.operators import facts_of, operators_file

        facts = facts_of(load_model(self.build.model_path), self.build.engine.layers)
        return replace(content, files=(*content.files, operators_file(facts)))

    def _standardized(self, content: BundleContent) -> BundleContent:
        from harness.interop.attach import with_standardized

        try:
            return with_standardized(content)
        except HarnessError as error:
            # A copy for other tools must not cost the measurements.
            self.log(f"no standardized.json: {error.what} {error.why}")
            return content

    def _out(self, run_id: str) -> Path:
        return self.out if self.out is not None else Path(DEFAULT_OUT).absolute() / f"{run_id}-{self.build.plan.board}"


def _inputs_summary(timed: Given, inferences: Given) -> dict[str, Any]:
    return {"timed": timed.to_dict(), "outputs": inferences.to_dict()}


def bench_facts(held: BoardLease, plan: Plan) -> dict[str, Any]:
    """What a bundle says of the lease."""
    info, transport = held.info, plan.settings["transport"]
    facts = {"serial": info.serial, "provider": info.provider, "probe": info.probe, "transport": transport}
    return facts if held.noise is None else {**facts, "noise": held.noise.text}


__all__ = ["DEFAULT_OUT", "RunOutcome", "bench_facts", "run"]
