"""From what a run left behind to what is published: a typed result, its evaluation, and the content of a bundle."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from harness.capture.record import Capture
from harness.capture.wire import INSTRUCTION_CLOCK
from harness.core.errors import HarnessError
from harness.core.frozen import thaw
from harness.core.strict_json import pretty
from harness.results.bundle import BundleContent, BundleFile
from harness.results.context import RunContext, context_from_records, producer_version
from harness.results.core_files import JSON, core_files, metadata_file, summary_file
from harness.results.documents import comparability, harness_extension, metadata_document
from harness.results.facts import MeasuredResult
from harness.results.issues import issue
from harness.results.manifest import RunStatus
from harness.results.measured import measure
from harness.results.outputs import OutputsCheck
from harness.results.power import REPORT_NAME, WAVEFORM_NAME, PowerEvidence
from harness.results.power import document as power_document
from harness.results.reader import SUMMARY_SCHEMA, SUMMARY_VERSION
from harness.results.samples import SAMPLES_NAME, write_samples
from harness.results.types import RunEvaluation, RunMetadata
from harness.results.validity import evaluate_run, validity_of


@dataclass(frozen=True)
class Assembled:
    """A run made ready to publish."""

    result: MeasuredResult
    evaluation: RunEvaluation
    content: BundleContent


def new_run_id(now: datetime | None = None) -> str:
    """A sortable identifier that no other run has."""
    return f"{(now or datetime.now(UTC)):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def assemble(
    capture: Capture,
    build: Any,
    plan: Any,
    board_type: Any,
    *,
    outputs_check: OutputsCheck | None = None,
    power: PowerEvidence | None = None,
    bench: Mapping[str, Any] | None = None,
    zero_inputs: bool = True,
    timed_inputs: str = "",
    extra_files: Mapping[str, bytes] | None = None,
    attempts: Sequence[Mapping[str, Any]] = (),
    run_id: str = "",
    timestamp: str = "",
) -> Assembled:
    """Assemble a complete run from its records.

    Args:
        capture: what the target said.
        build: `harness.image.record.Build`.
        plan: `harness.plan.record.Plan`.
        board_type: `harness.board.descriptor.BoardType`.
        outputs_check: the comparison with the host reference; None when none was made.
        power: what a power run left; None when none was asked for.
        bench: serial, probe and transport facts of the lease, for the record.
        zero_inputs: whether the measured inferences ran on zero bytes.
        timed_inputs: SHA-256 of the bytes they ran on; empty when it is not known.
        extra_files: further artifacts by path in the bundle.
        attempts: attempts that failed before, as the bundle lists them.
        run_id: made up when empty.
        timestamp: ISO 8601; now when empty.
    """
    context = context_from_records(build, plan, board_type, bench=bench, zero_inputs=zero_inputs)
    context = replace(context, timed_inputs=timed_inputs)
    if capture.hello.window_clock == INSTRUCTION_CLOCK:
        context = replace(context, counter_model=_icount_model(board_type.emulator))
    return assemble_context(
        capture,
        context,
        outputs_check=outputs_check,
        power=power,
        extra_files=extra_files,
        attempts=attempts,
        run_id=run_id,
        timestamp=timestamp,
        plan=plan,
    )


def _icount_model(emulator: Any) -> dict[str, Any]:
    return {
        "name": "icount",
        "version": f"shift={emulator.icount_shift}",
        "basis": "Instructions counted by the emulator's time alone; it kept no counters, so nothing is modelled.",
    }


def assemble_context(
    capture: Capture,
    context: RunContext,
    *,
    outputs_check: OutputsCheck | None = None,
    power: PowerEvidence | None = None,
    extra_files: Mapping[str, bytes] | None = None,
    attempts: Sequence[Mapping[str, Any]] = (),
    run_id: str = "",
    timestamp: str = "",
    plan: Any = None,
    keep_iterations: bool = True,
) -> Assembled:
    """Assemble a complete run from a capture and the facts around it."""
    now = datetime.now(UTC)
    run_id = run_id or new_run_id(now)
    timestamp = timestamp or now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    result = measure(
        capture,
        context,
        outputs=outputs_check,
        power=power,
        attempts=attempts,
        run_id=run_id,
        timestamp=timestamp,
        keep_iterations=keep_iterations,
    )
    evaluation = evaluate_run(result, plan=plan)
    files = [
        *core_files(result, context, evaluation),
        *_records(context),
        BundleFile("raw_frames.bin", capture.raw, name="harness.raw-frames"),
        BundleFile(SAMPLES_NAME, write_samples(capture), name="harness.samples"),
        BundleFile(
            "target.log",
            capture.log.encode("utf-8", "backslashreplace"),
            "text/plain",
            "diagnostic",
            "harness.target-log",
        ),
        *_extra(extra_files),
    ]
    if power is not None:
        files += _power_files(power)
    if outputs_check is not None:
        files.append(_json("outputs.json", outputs_check.to_dict(), "harness.outputs"))
    content = BundleContent(
        run_id=run_id,
        timestamp=timestamp,
        hpx_version=producer_version(),
        status=RunStatus.COMPLETE,
        evaluation=evaluation,
        files=tuple(files),
        provenance=_provenance(context),
        comparability=comparability(context, clean=result.facts.clean, power=power),
        extensions={"harness": harness_extension(result, context)},
    )
    return Assembled(result, evaluation, content)


def _power_files(power: PowerEvidence) -> list[BundleFile]:
    files = [_json(REPORT_NAME, power_document(power), "harness.power")]
    if power.waveform is not None:
        files.append(BundleFile(WAVEFORM_NAME, name="harness.waveform", source=power.waveform))
    return files


def assemble_failed(
    error: HarnessError,
    *,
    context: RunContext | None = None,
    log: str = "",
    raw: bytes = b"",
    phases: Mapping[str, float] | None = None,
    events: tuple[str, ...] = (),
    extra_files: Mapping[str, bytes] | None = None,
    attempts: Sequence[Mapping[str, Any]] = (),
    run_id: str = "",
    timestamp: str = "",
) -> BundleContent:
    """A bundle of a run that failed: no measurements, but why, what the target said, and what was to be run.

    Args:
        error: what ended the run; its code, class and text go into the issue.
        context: facts of the run, as far as they were known.
        log: text that the target sent before it failed.
        raw: bytes as they came from the target.
        phases: seconds by phase, the one that failed included.
        events: stalls and reopenings with their times.
        extra_files: further artifacts by path in the bundle.
        attempts: attempts that failed before, as the bundle lists them.
        run_id: made up when empty.
        timestamp: ISO 8601; now when empty.
    """
    now = datetime.now(UTC)
    run_id = run_id or new_run_id(now)
    timestamp = timestamp or now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    code = "capture.failed" if error.fault_class in ("capture", "target") else "run.failed"
    told = json.loads(json.dumps(error.to_dict(), default=str))
    issues = (issue(code, error.what, error=told),)
    evaluation = RunEvaluation(validity_of(issues), issues)
    files: list[BundleFile] = []
    if context is not None:
        files = [*_failed_documents(context, evaluation, run_id, timestamp), *_records(context)]
    files.append(
        BundleFile(
            "target.log", log.encode("utf-8", "backslashreplace"), "text/plain", "diagnostic", "harness.target-log"
        )
    )
    if raw:
        files.append(BundleFile("raw_frames.bin", raw, name="harness.raw-frames"))
    files += _extra(extra_files)
    own: dict[str, Any] = {
        "source": context.source if context is not None else None,
        "error": told,
        "phases": dict(phases or {}),
        "events": list(events),
        "failed_attempts": [dict(attempt) for attempt in attempts],
        "bench": thaw(context.bench) if context is not None else {},
        "identity": thaw(context.identity) if context is not None else {},
    }
    return BundleContent(
        run_id=run_id,
        timestamp=timestamp,
        hpx_version=producer_version(),
        status=RunStatus.FAILED,
        evaluation=evaluation,
        files=tuple(files),
        provenance=_provenance(context) if context is not None else {},
        comparability=comparability(context) if context is not None else {},
        extensions={"harness": own},
    )


def _failed_documents(context: RunContext, evaluation: RunEvaluation, run_id: str, timestamp: str) -> list[BundleFile]:
    metadata = RunMetadata(producer_version(), run_id, timestamp, context.config())
    document = metadata_document(metadata, context)
    document["platform"] = {"board": context.board, "soc": context.board, "cpu_clock_name": context.cpu_clock}
    document["model"] = {
        "name": context.model_name,
        "size_bytes": context.model_size,
        "sha256": context.model_sha256,
    }
    summary = {
        "schema": SUMMARY_SCHEMA,
        "schema_version": SUMMARY_VERSION,
        "engine": context.engine,
        "layers": 0,
        "total_cycles": None,
        "overflow_detected": False,
        "top_layers": [],
        "validity": evaluation.validity.value,
        "issues": [item.to_dict() for item in evaluation.issues],
    }
    return [
        summary_file(summary),
        metadata_file(document),
    ]


def _json(path: str, data: Mapping[str, Any], name: str) -> BundleFile:
    return BundleFile(path, pretty(thaw(data)).encode("utf-8"), JSON, name=name)


def _records(context: RunContext) -> list[BundleFile]:
    records = (("plan.json", context.plan_record), ("build.json", context.build_record))
    return [_json(path, record, f"harness.{path[:-5]}") for path, record in records if record]


def _provenance(context: RunContext) -> dict[str, Any]:
    return {
        "model": {"name": context.model_name, "sha256": context.model_sha256, "size_bytes": context.model_size},
        "toolchain": {"compiler": context.compiler, "compiler_version": context.compiler_version},
        "identity": thaw(context.identity),
    }


def _extra(files: Mapping[str, bytes] | None) -> list[BundleFile]:
    return [
        BundleFile(path, data, JSON) if path.endswith(".json") else BundleFile(path, data)
        for path, data in (files or {}).items()
    ]
