"""An estimate as a bundle: the records that a measured run has, with the source `predicted`."""

from __future__ import annotations

from datetime import UTC, datetime

from harness.predict.estimate import Estimate, OperatorEstimate
from harness.results.assemble import new_run_id
from harness.results.bundle import BundleContent
from harness.results.context import LayerInfo, RunContext, producer_version
from harness.results.core_files import core_files
from harness.results.documents import comparability
from harness.results.facts import MeasuredResult, RunFacts
from harness.results.issues import issue
from harness.results.manifest import RunStatus
from harness.results.operators import operators_file
from harness.results.types import (
    FirmwareMeta,
    LayerResult,
    ModelInfo,
    PlatformInfo,
    PmuResult,
    RunEvaluation,
    RunMetadata,
    ToolchainInfo,
)
from harness.results.validity import validity_of

SOURCE = "predicted"
LOW, HIGH = "predicted.low_cycles", "predicted.high_cycles"
"""Columns of the layer table: the ends of each layer's interval. They do not add up."""


def predicted_content(found: Estimate, fit_hash: str, *, run_id: str = "", timestamp: str = "") -> BundleContent:
    """The content of the bundle; `fit_hash` is the identity of the cost model that answered.

    Total and layers without a prediction are absent, and `extensions.harness.estimate` has the reasons.
    """
    now = datetime.now(UTC)
    run_id = run_id or new_run_id(now)
    timestamp = timestamp or now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    context = _context(found, fit_hash)
    result = _result(found, context, run_id, timestamp)
    issues = () if found.total.cycles is not None else (issue("counter.cycles_missing_in_layer", found.total.reason),)
    evaluation = RunEvaluation(validity_of(issues), issues)
    files = (*core_files(result, context, evaluation), operators_file(found.facts))
    return BundleContent(
        run_id=run_id,
        timestamp=timestamp,
        hpx_version=producer_version(),
        status=RunStatus.COMPLETE,
        evaluation=evaluation,
        files=files,
        provenance={
            "model": {"name": found.model_name, "sha256": found.model_sha256, "size_bytes": found.model_size},
            "cost_model": fit_hash,
        },
        comparability=comparability(context),
        extensions={
            "harness": {
                "source": SOURCE,
                "repeatability": dict(context.repeatability),
                "counter_model": dict(context.counter_model),
                "estimate": found.to_dict(),
            }
        },
    )


def _context(found: Estimate, fit_hash: str) -> RunContext:
    asked = found.conditions
    config = (
        {}
        if asked["engine_config"] == "default"
        else dict(part.split("=", 1) for part in asked["engine_config"].split(","))
    )
    macs = {facts.index: facts.macs for facts in found.facts}
    return RunContext(
        board=found.board,
        core=found.core,
        source=SOURCE,
        counter_unit="none",
        has_mve=False,
        cpu_clock=asked["cpu_clock"],
        cpu_clock_hz=found.clock_hz,
        engine=asked["engine"],
        engine_version=asked["engine_version"],
        backend=asked["engine_backend"],
        model_name=found.model_name,
        model_sha256=found.model_sha256,
        model_size=found.model_size,
        compiler=asked["toolchain"],
        compiler_version=asked["compiler_version"],
        settings={
            "toolchain": asked["toolchain"],
            "arena-location": asked["arena_location"],
            "weights-location": asked["weights_location"],
            "transport": "none",
            "optimization": asked["optimization"],
        },
        lifecycle="none",
        timing_scope="none",
        layers=tuple(LayerInfo(n, item.op, item.index, macs[item.index]) for n, item in enumerate(found.operators)),
        engine_config=config,
        arena_bytes=found.arena_bytes,
        weights_bytes=found.weights_bytes,
        repeatability=dict.fromkeys(("counters", "window", "size"), "exact"),
        counter_model={"name": "cost-model", "version": fit_hash, "basis": _basis(found)},
    )


def _basis(found: Estimate) -> str:
    fit = found.fit
    return (
        f"Predicted from shapes, not measured. Coefficients were fitted to {fit.layers} layers of {len(fit.models)} "
        f"models measured on {fit.conditions['source']} {fit.conditions['board']}."
    )


def _layer(number: int, item: OperatorEstimate) -> LayerResult:
    ends = {LOW: item.predicted.low, HIGH: item.predicted.high}
    known = {name: value for name, value in ends.items() if value is not None}
    return LayerResult(number, item.op, known, item.predicted.cycles)


def _result(found: Estimate, context: RunContext, run_id: str, timestamp: str) -> MeasuredResult:
    return MeasuredResult(
        pmu=PmuResult(
            meta=FirmwareMeta(arena_size=found.arena_bytes, allocated_arena=found.arena_bytes),
            layers=tuple(_layer(number, item) for number, item in enumerate(found.operators)),
        ),
        metadata=RunMetadata(
            hpx_version=producer_version(),
            run_id=run_id,
            timestamp=timestamp,
            config_snapshot=context.config(),
            platform=PlatformInfo(
                board=found.board,
                soc=found.board,
                core=found.core,
                cpu_clock_name=context.cpu_clock,
                cpu_clock_mhz=found.clock_hz // 1_000_000,
            ),
            model=ModelInfo(found.model_name, found.model_size, found.model_sha256),
            toolchain=ToolchainInfo(context.compiler, context.compiler_version),
        ),
        facts=RunFacts(source=SOURCE),
    )
