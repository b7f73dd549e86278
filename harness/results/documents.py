"""The JSON documents and the table of a bundle, from a result and its context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.capture.events import SMALL_BITS
from harness.core.frozen import thaw
from harness.results.context import RunContext, producer_version
from harness.results.crosscheck import statement
from harness.results.facts import CleanFacts, MeasuredResult, RunFacts
from harness.results.layers import write_layers
from harness.results.outputs import OutputsCheck
from harness.results.power import PowerEvidence
from harness.results.power import dimensions as power_dimensions
from harness.results.power import section as power_section
from harness.results.reader import METADATA_SCHEMA, METADATA_VERSION, SUMMARY_SCHEMA, SUMMARY_VERSION
from harness.results.types import LayerResult, RunEvaluation, RunMetadata
from harness.results.validity import clock_rate

TOP_LAYERS = 10


def total_cycles(layers: tuple[LayerResult, ...]) -> float | None:
    """Sum of all layers' cycles; None when a layer has none, for a partial sum is no total."""
    cycles = [layer.cycles for layer in layers]
    return math.fsum(c for c in cycles if c is not None) if cycles and None not in cycles else None


def counter_names(layers: tuple[LayerResult, ...]) -> tuple[str, ...]:
    """Every counter of any layer, in the order in which they were measured."""
    return tuple(dict.fromkeys(name for layer in layers for name in layer.counters))


def layer_table(result: MeasuredResult, context: RunContext) -> bytes:
    """`profile_results.csv`."""
    layers = result.pmu.layers
    total = total_cycles(layers)
    rows = []
    for index, layer in enumerate(layers):
        info = context.layers[index] if index < len(context.layers) else None
        macs = info.macs if info is not None else None
        rows.append(
            {
                "id": layer.id,
                "op": layer.op,
                "source_index": info.source_index if info is not None else None,
                **layer.counters,
                "cycles": layer.cycles,
                "cycles_pct": _ratio(layer.cycles, total, 100.0),
                "overflow": layer.overflow,
                "macs": macs,
                "ops": 2 * macs if macs is not None else None,
                "cycles_per_mac": _ratio(layer.cycles, macs),
            }
        )
    return write_layers(rows, counter_names(layers))


def _ratio(part: float | None, whole: float | None, factor: float = 1.0) -> float | None:
    return part / whole * factor if part is not None and whole else None


def _exact(value: float | None) -> float | int | None:
    """An integer where the mean is one, else the mean itself: rounding would make a short time zero."""
    return int(value) if value is not None and value.is_integer() else value


def _present(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def summary_document(result: MeasuredResult, context: RunContext, evaluation: RunEvaluation) -> dict[str, Any]:
    """`summary.json`, schema `hpx.run-summary` version 19."""
    layers = result.pmu.layers
    total = total_cycles(layers)
    ranked = sorted((layer for layer in layers if layer.cycles), key=lambda layer: -(layer.cycles or 0.0))
    meta = result.pmu.meta
    data: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "schema_version": SUMMARY_VERSION,
        "engine": context.engine,
        "layers": len(layers),
        "total_cycles": total,
        "overflow_detected": result.pmu.overflow_detected,
        "source": context.source,
        "top_layers": [
            {"id": layer.id, "op": layer.op, "cycles": layer.cycles, "pct": _ratio(layer.cycles, total, 100.0)}
            for layer in ranked[:TOP_LAYERS]
        ],
        "memory": _present(
            {
                "arena_size": meta.arena_size,
                "allocated_arena": meta.allocated_arena,
                "model_size": context.model_size,
                "input_size": meta.input_size,
                "output_size": meta.output_size,
            }
        ),
        "latency": latency(result),
        "validity": evaluation.validity.value,
        "issues": [issue.to_dict() for issue in evaluation.issues],
    }
    if result.facts.power is not None:
        data["power"] = power_section(result.facts.power)
    if context.sections:
        data["binary"] = thaw(context.sections)
    if context.regions:
        data["memory_regions"] = {"regions": thaw(context.regions)}
    return data


def latency(result: MeasuredResult) -> dict[str, Any]:
    """The summary's latency section: host times, profiled passes, clean window."""
    meta, timing, clean = result.pmu.meta, result.metadata.timing, result.facts.clean
    return _present(
        {
            "capture_duration_s": timing.capture_duration_s if timing is not None else None,
            "boot_phases_s": thaw(timing.phases) if timing is not None else None,
            "device_profiled_infer_count": meta.profiled_infer_count,
            "device_profiled_infer_total_us": meta.profiled_infer_total_us,
            "device_profiled_infer_avg_us": _exact(_ratio(meta.profiled_infer_total_us, meta.profiled_infer_count)),
            "clean_workload": _workload(result.facts),
            "device_clean_infer_count": meta.clean_infer_count,
            "device_clean_infer_total_cycles": meta.clean_infer_total_cycles,
            "device_clean_infer_avg_cycles": _exact(clean.cycles) if clean is not None else None,
            "device_clean_infer_avg_us": _exact(clean.us) if clean is not None else None,
        }
    )


def _workload(facts: RunFacts) -> str | None:
    window = facts.clean or facts.probe
    return window.workload if window is not None else None


def metadata_document(metadata: RunMetadata, context: RunContext) -> dict[str, Any]:
    """`run_metadata.json`, schema `hpx.run-metadata` version 1."""
    firmware = _present(vars(metadata.firmware)) if metadata.firmware is not None else {}
    return {
        "schema": METADATA_SCHEMA,
        "schema_version": METADATA_VERSION,
        "hpx_version": metadata.hpx_version,
        "run_id": metadata.run_id,
        "timestamp": metadata.timestamp,
        "source": context.source,
        "config": thaw(metadata.config_snapshot),
        "platform": thaw(vars(metadata.platform)) if metadata.platform is not None else {},
        "model": dict(vars(metadata.model)) if metadata.model is not None else {},
        "toolchain": dict(vars(metadata.toolchain)) if metadata.toolchain is not None else {},
        "engine": _present(
            {"type": context.engine, "version": context.engine_version or None, "backend": context.backend or None}
        ),
        "firmware": {**thaw(firmware), "system_clock_hz": context.cpu_clock_hz},
        "timing": thaw(vars(metadata.timing)) if metadata.timing is not None else {},
    }


def comparability(
    context: RunContext, *, clean: CleanFacts | None = None, power: PowerEvidence | None = None
) -> dict[str, Any]:
    """Every dimension of the run, as the manifest states it."""
    model = context.counter_model
    config = context.engine_config
    return {
        "model_sha256": context.model_sha256,
        "hpx_version": producer_version(),
        "engine": context.engine,
        "engine_version": context.engine_version or None,
        "engine_backend": context.backend or None,
        "engine_config": ",".join(f"{key}={config[key]}" for key in sorted(config)) or "default",
        "board": context.board,
        "soc": context.board,
        "cpu_clock": context.cpu_clock,
        "system_clock_hz": context.cpu_clock_hz,
        "toolchain": context.settings.get("toolchain"),
        "compiler_version": context.compiler_version,
        "link_family": "gnu",
        "architecture_flags": context.architecture_flags or "none",
        "transport": context.transport,
        "arena_location": context.settings.get("arena-location"),
        "weights_location": context.settings.get("weights-location"),
        "run_summary_schema_version": SUMMARY_VERSION,
        "run_metadata_schema_version": METADATA_VERSION,
        "source": context.source,
        "timing_scope": context.timing_scope,
        "timing_clock": clean.clock if clean is not None else None,
        "timing_statistic": "mean",
        "lifecycle": context.lifecycle,
        "first_invoke_window": clean.first_invoke_window if clean is not None else None,
        "aggregation": context.aggregation,
        "noise": context.bench.get("noise"),
        "timed_inputs": context.timed_inputs or None,
        "counter_model": f"{model.get('name')} {model.get('version')}" if model else None,
        **power_dimensions(power),
        "power_noise": context.bench.get("noise") if power is not None else None,
    }


def harness_extension(result: MeasuredResult, context: RunContext) -> dict[str, Any]:
    """What the published schemas have no place for, under `extensions.harness`."""
    facts = result.facts
    clean = facts.clean
    total = total_cycles(result.pmu.layers)
    data: dict[str, Any] = {
        "source": context.source,
        "repeatability": thaw(context.repeatability),
        "identity": thaw(context.identity),
        "counter_model": thaw(context.counter_model) or None,
        "bench": thaw(context.bench),
        "self_test": thaw(facts.self_test),
        "clock_rate": clock_rate(facts.self_test, context.source),
        "rejected_samples": thaw(facts.rejected),
        "unavailable": thaw(facts.unavailable),
        "unavailable_in_layers": [wrap.to_dict() for wrap in facts.wrapped],
        "counter_bits": dict.fromkeys(facts.narrow, SMALL_BITS),
        "events": list(facts.events),
        "failed_attempts": thaw(facts.failed_attempts),
        "cross_pass": statement(facts.spreads),
        "outputs": _outputs(facts.outputs),
        "aggregation": context.aggregation,
        "profiled_basis": "sum of the bracketed layers of the pass that measures cycles",
    }
    data["run"] = timing_facts(result, context)
    if facts.probe is not None:
        data["window_probe"] = facts.probe.to_dict()
    if clean is not None:
        data["clean_window"] = clean.to_dict()
        data["instrumentation_overhead"] = overhead(total, clean.cycles)
        if clean.observed and clean.count:
            data["emulator"] = {
                name.removeprefix("emulator."): value / clean.count for name, value in clean.observed.items()
            }
    return data


def timing_facts(result: MeasuredResult, context: RunContext) -> dict[str, Any]:
    """How the run's time was taken, under the names that hpx gives these facts; None where the run cannot tell."""
    facts = result.facts
    clean = facts.clean
    window = clean or facts.probe
    return {
        "lifecycle": context.lifecycle,
        "iterations": context.iterations,
        "warmups": context.settings.get("warmup"),
        "timing_scope": context.timing_scope,
        "instance_boundary": "boot",
        "first_invoke_initializer": clean.first_invoke_initializer if clean is not None else None,
        "first_invoke_window": clean.first_invoke_window if clean is not None else None,
        "timing_clock": window.clock if window is not None else None,
        "timing_clock_hz": window.clock_hz or None if window is not None else None,
        "timing_statistic": "mean",
        "clean_window_probe": "busy_loop" if facts.probe is not None else "infer",
        "settle_ticks": window.settle_ticks if window is not None else None,
    }


def _outputs(check: OutputsCheck | None) -> dict[str, Any] | None:
    """The outcome alone; `outputs.json` has every tensor and layer."""
    if check is None:
        return None
    kept = ("match", "reason", "reference", "tolerance", "inferences", "inspected")
    return {key: value for key, value in check.to_dict().items() if key in kept}


def overhead(total: float | None, clean: float | None) -> dict[str, Any]:
    """What the counter reads around each layer cost: the sum of the layers less one clean inference."""
    if total is None or clean is None:
        reason = "no total of layer cycles" if total is None else "the clean window's clock does not count cycles"
        return {"cycles": None, "pct": None, "unavailable": reason}
    return {"cycles": total - clean, "pct": (total - clean) / clean * 100 if clean else None}
