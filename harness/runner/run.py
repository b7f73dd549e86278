"""One run: a build and a board become a published bundle, whether it succeeds or fails."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import HardFaultError, HarnessError, UsageError
from harness.core.signals import TERMINATED, unwound_by_sigterm
from harness.results.outputs import OutputsCheck
from harness.runner.board import flash_board, lease_board, silent
from harness.runner.deadlines import Deadlines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.bench.inventory import Bench
    from harness.bench.provider import BoardLease
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.results.bundle import BundleContent
    from harness.results.facts import MeasuredResult
    from harness.results.types import RunEvaluation
    from harness.runner.reference import Reference

DEFAULT_OUT = "hil-results"


@dataclass(frozen=True)
class RunOutcome:
    """A run that was captured and published.

    `capture` holds everything the target said; `result`, `evaluation` and `outputs` are what the bundle states.
    """

    bundle: Path
    build: Build
    capture: Capture
    result: MeasuredResult
    evaluation: RunEvaluation
    outputs: OutputsCheck
    serial: int
    source: str
    seconds: float

    def __repr__(self) -> str:
        return f"<run on {self.build.plan.board} {self.serial} ({self.source}): {self.bundle}>"

    @property
    def clean_cycles(self) -> float | None:
        """Mean CPU cycles per inference in the clean window; None when its clock counts something else."""
        clean = self.result.facts.clean
        return clean.cycles if clean is not None else None

    @property
    def log(self) -> str:
        """Text that the firmware sent."""
        return self.capture.log

    @property
    def valid(self) -> bool:
        """Whether the measurements count."""
        return str(self.evaluation.validity) != "invalid"

    def output_array(self, index: int = 0) -> NDArray[np.generic]:
        """One model output of every inference: shape (inferences, *output shape) in the tensor's element type."""
        import numpy as np

        tensor = self.build.engine.output_tensors[index]
        data = b"".join(inference.outputs[index] for inference in self.capture.inferences)
        array = np.frombuffer(data, np.dtype(tensor.dtype).newbyteorder("<"))
        return array.reshape((len(self.capture.inferences), *tensor.shape))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready summary, as `harness run --json` prints it. Figures that were not measured are None."""
        from harness.results.documents import total_cycles

        return {
            "succeeded": True,
            "bundle": str(self.bundle),
            "board": self.build.plan.board,
            "serial": self.serial,
            "source": self.source,
            "validity": str(self.evaluation.validity),
            "issues": [{"code": i.code, "severity": i.severity, "message": i.message} for i in self.evaluation.issues],
            "outputs": self.outputs.to_dict(),
            "clean_cycles_per_inference": self.clean_cycles,
            "total_cycles": total_cycles(self.result.layers),
            "seconds": round(self.seconds, 3),
        }


def run(
    build: Build | Path | str,
    *,
    board: str | None = None,
    serial: int | None = None,
    bench: Bench | Path | None = None,
    lease: BoardLease | None = None,
    out: Path | str | None = None,
    inputs: Any = (),
    inspect: int = 1,
    expect: str = "reference",
    reference_files: Sequence[Path | str] = (),
    tolerance: float = 0.0,
    deadlines: Deadlines | dict[str, float] | None = None,
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
        inputs: inputs to run for their outputs; see `harness.runner.inputs.input_cases`. Without any, the build's own.
        inspect: how many of the inputs to run again with every layer's output sent to the host.
        expect: `reference` compares outputs with the host reference, `none` compares nothing,
            `files` compares with `reference_files`.
        reference_files: a file (raw bytes or .npy) for each model output of the one inference that is run.
        tolerance: largest allowed absolute error of a model output, in stored units.
        deadlines: seconds by phase.
        log: called with a line for each phase.

    Raises:
        WrongBoardError: the board is of another type.
        BenchError, TargetError, CaptureError: the run failed; `context["bundle"]` names the bundle that says how.
        HostReferenceError, ToolMissingError, DeadlineError: the host reference could not be had, so no output was
            compared; `context["bundle"]` names the bundle with the measurements.
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
    if expect not in ("reference", "none", "files"):
        raise UsageError(f"expect={expect!r} is unknown.", todo="Use 'reference', 'files' or 'none'.")
    if (expect == "files") != bool(reference_files):
        raise UsageError("Reference files and expect='files' go together.", todo="Give both, or neither.")
    if inspect < 0:
        raise UsageError(f"inspect={inspect!r} is not a number of inputs.", todo="Use 0 or more.")
    if not 0.0 <= tolerance < math.inf:
        raise UsageError(f"tolerance={tolerance!r} is not a finite number from 0.", todo="Give it in stored units.")
    if out is not None and (Path(out).exists() or Path(out).is_symlink()):
        raise UsageError(
            f"There is something at {out} already.",
            why="A bundle is never overwritten.",
            todo="Name another directory.",
        )
    return _Run(build, Path(out) if out is not None else None, limits, log, started).execute(
        bench, lease, serial, inputs, inspect, expect, tolerance, tuple(reference_files)
    )


@dataclass(frozen=True)
class _Run:
    """The facts that every step of one run needs."""

    build: Build
    out: Path | None
    deadlines: Deadlines
    log: Callable[[str], None]
    started: float

    def execute(
        self,
        bench: Bench | Path | None,
        lease: BoardLease | None,
        serial: int | None,
        inputs: Any,
        inspect: int,
        expect: str,
        tolerance: float,
        files: tuple[Path | str, ...] = (),
    ) -> RunOutcome:
        from harness.runner.measure import wanted_inferences

        inferences = wanted_inferences(self.build, inputs)
        inspected = inferences[:inspect]
        reference: Future[Reference] | None = None
        if expect == "reference":
            wanted = (*inferences, self.build.input_bytes())
            reference = _in_background(lambda: self._reference(wanted, inspected))
        elif files:
            reference, inspected = self._from_files(files, len(inferences)), inspected[:0]
        with self._board(bench, lease, serial) as held:
            capture = self._capture(held, inferences, inspected)
        return self._conclude(held, capture, reference, tolerance)

    def _from_files(self, files: tuple[Path | str, ...], inferences: int) -> Future[Reference]:
        from harness.runner.reference import reference_from_files

        done: Future[Reference] = Future()
        done.set_result(reference_from_files(files, self.build.engine.output_tensors, inferences))
        return done

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

    def _capture(self, held: BoardLease, inferences: Any, inspected: Any) -> Capture:
        from harness.runner.measure import capture_request, measure

        raw = bytearray()
        try:
            ready = flash_board(held, self.build, self.deadlines, self.log)
            request = capture_request(self.build, inferences, inspected)
            return measure(ready, request, self.deadlines, self.log, tap=raw.extend)
        except HarnessError as error:
            if isinstance(error, HardFaultError):
                self._explain_fault(error)
            self._publish_failure(held, error, bytes(raw))
            raise

    def _reference(self, inferences: Any, inspected: Any) -> Reference:
        from harness.runner.reference import host_reference

        rounding = str(self.build.plan.settings["engine-config"].get("rounding", "tflm"))
        return host_reference(
            self.build.model_path,
            self.build.plan.model.sha256,
            inferences=inferences,
            inspected=inspected,
            rounding=rounding,
            deadline_seconds=self.deadlines["reference"],
        )

    def _conclude(
        self,
        held: BoardLease,
        capture: Capture,
        reference: Future[Reference] | None,
        tolerance: float,
    ) -> RunOutcome:
        from harness.results.assemble import assemble
        from harness.results.bundle import publish

        failure: HarnessError | None = None
        try:
            outputs = self._compare(capture, reference, tolerance)
        except HarnessError as error:
            failure = error
            outputs = OutputsCheck.not_compared(error.what)
        assembled = assemble(
            capture,
            self.build,
            self.build.plan,
            held.board_type,
            outputs_check=outputs,
            bench=bench_facts(held),
            zero_inputs=not any(map(any, self.build.input_bytes())),
        )
        content = self._standardized(assembled.content)
        bundle = publish(self._out(content.run_id), content)
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
            serial=held.info.serial,
            source=held.board_type.source,
            seconds=time.monotonic() - self.started,
        )

    def _compare(self, capture: Capture, reference: Future[Reference] | None, tolerance: float) -> OutputsCheck:
        if reference is None:
            return OutputsCheck.not_compared("the caller asked for no reference")
        from harness.runner.outputs import check_outputs

        expected = reference.result()
        self.log(f"reference: {expected.info}")
        return check_outputs(
            self.build.engine.output_tensors,
            [layer.op for layer in self.build.engine.layers],
            observed=[inference.outputs for inference in capture.inferences],
            expected=expected.outputs[: len(capture.inferences)],
            inspected=[[layer.outputs for layer in case.layers] for case in capture.inspections],
            expected_layers=expected.layers,
            reference=expected.info,
            tolerance=tolerance,
            # What a streaming model's windows leave behind depends on how many inferences fitted into them.
            windows=None if self.build.engine.keeps_state else _output_checksums(capture),
            expected_windows=expected.outputs[-1] if len(expected.outputs) > len(capture.inferences) else None,
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

    def _publish_failure(self, held: BoardLease, error: HarnessError, raw: bytes) -> None:
        from harness.results.assemble import assemble_failed
        from harness.results.bundle import publish
        from harness.results.context import context_from_records

        content = assemble_failed(
            error,
            context=context_from_records(self.build, self.build.plan, held.board_type, bench=bench_facts(held)),
            log=str(error.context.get("log", "")),
            raw=raw,
            events=tuple(error.context.get("events", ())),
        )
        content = self._standardized(content)
        try:
            error.context["bundle"] = str(publish(self._out(content.run_id), content))
        except OSError as fault:
            error.context["bundle_error"] = f"no bundle could be written: {fault.strerror or fault}"

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


def _output_checksums(capture: Capture) -> dict[str, int]:
    clean = {"clean window": capture.clean.outputs_crc32} if capture.clean is not None else {}
    return clean | {f"pass {item.name}": item.outputs_crc32 for item in capture.passes}


def _in_background(work: Callable[[], Reference]) -> Future[Reference]:
    """Run the reference while the board runs. A daemon thread: an interrupted run does not wait for its answer."""
    answer: Future[Reference] = Future()

    def target() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=target, name="reference", daemon=True).start()
    return answer


def bench_facts(held: BoardLease) -> dict[str, Any]:
    """What a bundle says of the lease."""
    info = held.info
    facts = {"serial": info.serial, "provider": info.provider, "probe": info.probe, "transport": info.transport}
    return facts if held.noise is None else {**facts, "noise": held.noise.text}
