"""From a capture to typed results: aggregate samples, merge passes layer by layer, describe the clean window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.capture.record import Capture, CleanWindow, PassRecord
from harness.capture.wire import BUSY_ROUND_INSTRUCTIONS, BUSY_ROUNDS
from harness.results.aggregate import EMULATOR_PREFIX, Aggregate, aggregate, without_wrapped
from harness.results.context import RunContext, producer_version
from harness.results.crosscheck import spreads
from harness.results.facts import CPU_CLOCKS, CleanFacts, MeasuredResult, ProbeFacts, RunFacts
from harness.results.outputs import OutputsCheck
from harness.results.power import PowerEvidence, typed_result
from harness.results.types import (
    FirmwareMeta,
    LayerResult,
    ModelInfo,
    PlatformInfo,
    PmuResult,
    PresetResult,
    RunMetadata,
    TimingInfo,
    ToolchainInfo,
)
from harness.results.wraps import SMALL_NAMES, Wrap, wrapped_counters

CYCLE_COUNTERS = ("ARM_PMU_CPU_CYCLES", "CPU_CYCLES", "DWT_CYCCNT", "CYCCNT", "cycles")
"""Names under which a pass may state the cycle counter."""
_PLAIN = frozenset({"cycles", "CPU_CYCLES", "CYCCNT"})
MUST_MOVE = frozenset(
    {"ARM_PMU_CPU_CYCLES", "ARM_PMU_INST_RETIRED", "emulator.instructions", "emulator.cycles", "DWT_CYCCNT"}
)
"""Counters that cannot be zero over a whole inference on any core."""
PARTIAL = 8
STILL = "read zero throughout; a core that does not count the event reads so too"
ZERO_REFILL = "aot_raw_zero_refill_included_v1"
"""hpx's name for a window whose inferences include refilling zero inputs."""


@dataclass(frozen=True)
class PassAggregate:
    """One pass with its aggregate; `cycles` is the index of the cycle counter, None where the pass has none."""

    record: PassRecord
    counters: tuple[str, ...]
    cycles: int | None
    aggregate: Aggregate


def column_name(counter: str, counter_unit: str) -> str:
    """The published name of a counter: the cycle counter is named by the unit that counts it."""
    if counter in _PLAIN:
        return "DWT_CYCCNT" if counter_unit == "dwt" else "ARM_PMU_CPU_CYCLES"
    return counter


def aggregate_pass(record: PassRecord, counter_unit: str, method: str) -> PassAggregate:
    """Aggregate one pass over its iterations."""
    counters = tuple(column_name(name, counter_unit) for name in record.counters)
    cycles = next((i for i, name in enumerate(counters) if name in CYCLE_COUNTERS), None)
    result = aggregate(np.asarray(record.samples, dtype=np.uint64), counters, cycles=cycles, method=method)
    result = replace(result, values=without_wrapped(result.values, record.wrapped))
    return PassAggregate(record, counters, cycles, result)


def _layer_rows(item: PassAggregate, context: RunContext) -> tuple[LayerResult, ...]:
    overflow = np.any(item.record.overflow, axis=0) if item.record.overflow.size else np.zeros(0, dtype=bool)
    values = item.aggregate.values
    return tuple(_row(item, values[i], bool(overflow[i]), context, i) for i in range(values.shape[0]))


def _row(item: PassAggregate, values: object, overflow: bool, context: RunContext, index: int) -> LayerResult:
    numbers = [float(value) for value in np.asarray(values)]
    counters = {name: value for name, value in zip(item.counters, numbers, strict=True) if not math.isnan(value)}
    cycles = counters.get(item.counters[item.cycles]) if item.cycles is not None else None
    return LayerResult(_id(context, index), _op(context, index), counters, cycles, overflow)


def _id(context: RunContext, index: int) -> int:
    return context.layers[index].id if index < len(context.layers) else index


def _op(context: RunContext, index: int) -> str:
    return context.layers[index].op if index < len(context.layers) else "UNKNOWN"


def _iterations(item: PassAggregate, context: RunContext) -> tuple[tuple[LayerResult, ...], ...]:
    samples = np.asarray(item.record.samples)
    if item.record.wrapped is not None and item.record.wrapped.any():
        samples = np.where(item.record.wrapped, np.nan, samples.astype(np.float64))
    return tuple(
        tuple(_row(item, samples[n, i], bool(item.record.overflow[n, i]), context, i) for i in range(samples.shape[1]))
        for n in range(samples.shape[0])
    )


def merge_layers(passes: Mapping[str, tuple[LayerResult, ...]]) -> tuple[LayerResult, ...]:
    """One row a layer over all passes. A counter that several passes measured keeps its first reading."""
    rows = list(passes.values())
    if not rows:
        return ()
    merged = []
    for column in zip(*rows, strict=True):
        counters: dict[str, float] = {}
        for row in column:
            for name, value in row.counters.items():
                counters.setdefault(name, value)
        cycles = next((row.cycles for row in column if row.cycles is not None), None)
        overflow = any(row.overflow for row in column)
        merged.append(LayerResult(column[0].id, column[0].op, counters, cycles, overflow))
    return tuple(merged)


def clean_facts(clean: CleanWindow, context: RunContext) -> CleanFacts:
    """What the clean window measured. Observed totals are named `emulator.*`."""
    restore = clean.scope == "restore_and_invoke"
    if restore:
        workload = ZERO_REFILL if context.zero_inputs and context.engine == "aot" else "input_restore_included_v1"
    else:
        workload = "invoke_only_v1"
    return CleanFacts(
        count=clean.iterations,
        ticks=clean.ticks,
        clock=clean.clock,
        clock_hz=clean.clock_hz,
        scope=clean.scope,
        lifecycle=clean.lifecycle,
        warmup=clean.warmup,
        workload=workload,
        observed={_emulator_name(name): int(value) for name, value in clean.observed.items()},
        zero_samples=int(np.count_nonzero(np.asarray(clean.samples) == 0)),
        partial_samples=_partial(clean),
        first_invoke_initializer=False if context.engine == "aot" else None,
        settle_ms=clean.settle_ms,
        settle_ticks=clean.settle_ticks,
    )


def probe_facts(window: CleanWindow) -> ProbeFacts:
    """What a window of busy loops measured."""
    samples = np.asarray(window.samples)
    observed = {_emulator_name(name): int(value) for name, value in window.observed.items()}
    return ProbeFacts(
        count=window.iterations,
        ticks=window.ticks,
        clock=window.clock,
        clock_hz=window.clock_hz,
        rounds=BUSY_ROUNDS,
        round_instructions=BUSY_ROUND_INSTRUCTIONS,
        least=int(samples.min()) if samples.size else None,
        most=int(samples.max()) if samples.size else None,
        instructions=observed.get(EMULATOR_PREFIX + "instructions"),
        zero_samples=int(np.count_nonzero(samples == 0)),
        settle_ms=window.settle_ms,
        settle_ticks=window.settle_ticks,
    )


def _partial(clean: CleanWindow) -> int:
    """How many inferences took a time above zero and below an eighth of a warm one."""
    samples = np.asarray(clean.samples)
    if not samples.size:
        return 0
    warm = clean.warm_ticks or float(np.median(samples))
    return int(np.count_nonzero((samples > 0) & (samples < warm / PARTIAL)))


def _emulator_name(name: str) -> str:
    return name if name.startswith(EMULATOR_PREFIX) else EMULATOR_PREFIX + name


def profiled_us(item: PassAggregate, clock_hz: int) -> tuple[int, float]:
    """Inferences of a pass and their total time in microseconds: the sum of all bracketed layers."""
    assert item.cycles is not None
    total = int(np.asarray(item.record.samples)[:, :, item.cycles].sum(dtype=np.uint64))
    return item.record.iterations, total * 1e6 / clock_hz


def measure(
    capture: Capture,
    context: RunContext,
    *,
    outputs: OutputsCheck | None,
    attempts: Sequence[Mapping[str, Any]] = (),
    run_id: str,
    timestamp: str,
    power: PowerEvidence | None = None,
    keep_iterations: bool = True,
) -> MeasuredResult:
    """Turn a capture into a result. `keep_iterations` keeps every single reading in `pmu.presets`."""
    unavailable = dict(capture.unavailable)
    passes = [
        aggregate_pass(_counted(item, context.source, unavailable), context.counter_unit, context.aggregation)
        for item in capture.passes
    ]
    rows = {item.record.name: _layer_rows(item, context) for item in passes}
    wraps = tuple(
        wrap for item in passes for wrap in wrapped_counters(item, [row.id for row in rows[item.record.name]])
    )
    counter_order = dict.fromkeys(name for item in passes for name in item.counters)
    unavailable.update(_nowhere_counted(rows, counter_order, wraps))
    layers = merge_layers(rows)
    presets = {
        item.record.name: PresetResult(
            item.record.name,
            item.counters,
            _iterations(item, context) if keep_iterations else (),
            rows[item.record.name],
        )
        for item in passes
    }
    clean = clean_facts(capture.clean, context) if capture.clean is not None else None
    firmware = _firmware(capture, context, passes, clean)
    facts = RunFacts(
        source=context.source,
        clean=clean,
        self_test=capture.hello.self_test,
        rejected={item.record.name: item.aggregate.rejected for item in passes},
        lost_layers=tuple(sorted({int(i) for item in passes for i in _lost(item)})),
        unavailable=unavailable,
        outputs=outputs,
        expected_model_sha256=context.model_sha256,
        reported_model_sha256=capture.hello.model_sha256,
        events=capture.events,
        power=power,
        failed_attempts=tuple(attempts),
        spreads=spreads(rows),
        wrapped=wraps,
        narrow=tuple(name for name in counter_order if name in SMALL_NAMES),
        probe=probe_facts(capture.probe) if capture.probe is not None else None,
    )
    overflow = any(layer.overflow for layer in layers)
    return MeasuredResult(
        pmu=PmuResult(firmware, presets, layers, overflow, _groups(rows)),
        power=typed_result(power) if power is not None else None,
        power_terminal=power.terminal if power is not None else None,
        metadata=_metadata(capture, context, firmware, run_id, timestamp),
        facts=facts,
    )


def _counted(record: PassRecord, source: str, unavailable: dict[str, str]) -> PassRecord:
    """A pass without the event counters of silicon that never moved; `unavailable` is told of each.

    Only an emulator refuses an event that it does not count. On silicon such an event may be taken and read zero, and
    what may not have been counted is not zero.
    """
    if source != "silicon" or not record.samples.size:
        return record
    moved = [bool(record.samples[:, :, i].any()) for i in range(len(record.counters))]
    kept = [i for i, name in enumerate(record.counters) if moved[i] or name in MUST_MOVE or name in CYCLE_COUNTERS]
    unavailable.update((name, STILL) for i, name in enumerate(record.counters) if i not in kept)
    wrapped = None if record.wrapped is None else record.wrapped[:, :, kept]
    counters = tuple(record.counters[i] for i in kept)
    return replace(record, counters=counters, samples=record.samples[:, :, kept], wrapped=wrapped)


def _nowhere_counted(
    rows: Mapping[str, tuple[LayerResult, ...]], counters: Mapping[str, None], wraps: Sequence[Wrap]
) -> dict[str, str]:
    """Counters that wrapped in every layer, with the reason."""
    counted = {name for layers in rows.values() for layer in layers for name in layer.counters}
    reasons = {wrap.counter: wrap.reason for wrap in wraps}
    return {name: reasons[name] for name in counters if name not in counted and name in reasons}


def _lost(item: PassAggregate) -> list[int]:
    values = item.aggregate.values
    return [i for i in range(values.shape[0]) if values.shape[1] and np.isnan(values[i]).all()]


def _groups(rows: Mapping[str, tuple[LayerResult, ...]]) -> dict[str, tuple[LayerResult, ...]]:
    """Passes named `<group>_<n>` merged per group, as hpx groups compute units."""
    grouped: dict[str, dict[str, tuple[LayerResult, ...]]] = {}
    for name, layers in rows.items():
        head, _, tail = name.rpartition("_")
        grouped.setdefault(head if head and tail.isdigit() else name, {})[name] = layers
    return {group: merge_layers(members) for group, members in grouped.items()}


def _firmware(
    capture: Capture, context: RunContext, passes: list[PassAggregate], clean: CleanFacts | None
) -> FirmwareMeta:
    hello = capture.hello
    with_cycles = [item for item in passes if item.cycles is not None]
    count = total_us = None
    if with_cycles:
        count, total_us = profiled_us(with_cycles[0], hello.cpu_clock_hz)
    return FirmwareMeta(
        model_size=context.model_size,
        arena_size=context.arena_bytes,
        allocated_arena=hello.arena_bytes,
        input_size=sum(hello.input_bytes),
        output_size=sum(hello.output_bytes),
        num_inputs=len(hello.input_bytes),
        num_outputs=len(hello.output_bytes),
        num_presets=len(passes),
        system_clock_hz=hello.cpu_clock_hz,
        profiled_infer_count=count,
        profiled_infer_total_us=None if total_us is None else round(total_us),
        profiled_infer_avg_us=None if total_us is None or not count else round(total_us / count),
        clean_infer_count=clean.count if clean is not None else None,
        clean_infer_total_cycles=clean.ticks if clean is not None and clean.counts_cycles else None,
        clean_infer_avg_cycles=None if clean is None or clean.cycles is None else round(clean.cycles),
        clean_infer_avg_us=None if clean is None or clean.us is None else round(clean.us),
        presets=tuple(item.record.name for item in passes),
    )


def _metadata(
    capture: Capture, context: RunContext, firmware: FirmwareMeta, run_id: str, timestamp: str
) -> RunMetadata:
    backends = (context.counter_unit,) if context.counter_unit != "none" else ()
    return RunMetadata(
        hpx_version=producer_version(),
        run_id=run_id,
        timestamp=timestamp,
        config_snapshot=context.config(),
        platform=PlatformInfo(
            board=context.board,
            soc=context.board,
            core=context.core,
            pmu_tier=context.counter_unit,
            has_mve=context.has_mve,
            profiling_backends=backends,
            cpu_clock_name=context.cpu_clock,
            cpu_clock_mhz=context.cpu_clock_hz // 1_000_000,
            link_family="gnu",
        ),
        model=ModelInfo(context.model_name, context.model_size, context.model_sha256),
        toolchain=ToolchainInfo(context.compiler, context.compiler_version),
        firmware=firmware,
        timing=TimingInfo(
            capture_duration_s=round(sum(capture.phase_seconds.values()), 6),
            phases={name: round(seconds, 6) for name, seconds in capture.phase_seconds.items()},
        ),
    )


__all__ = ["CPU_CLOCKS", "CYCLE_COUNTERS", "PassAggregate", "aggregate_pass", "measure", "merge_layers"]
