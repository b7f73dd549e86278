"""A bundle as a standardized document: measured for silicon, simulated for emulated, predicted for predicted boards.

Only what was measured becomes a breakdown. What the format has no place for (energy, repeats, settings, the layer table
as it is) goes under `extensions.harness`, from which `tables` gives it back unchanged.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from harness.advice.advise import advise
from harness.advice.case import case_of
from harness.core.frozen import thaw
from harness.interop.advice import to_standard
from harness.interop.errors import ForeignFormatError
from harness.interop.mlia.build import document, numeric, unavailable, with_standard
from harness.interop.power import layer_energies, power_metrics
from harness.model.operators import OperatorFacts
from harness.predict.bundle import HIGH, LOW, SOURCE
from harness.results.reader import RunArtifacts

PRODUCER = "harness"
MODES = {"silicon": "measured", "emulated": "simulated", "predicted": "predicted"}
_NO_HASH = "0" * 64
_NOT_COUNTERS = frozenset(
    {"id", "op", "source_index", "kernel_calls", "cycles", "cycles_pct", "overflow", "macs", "ops", "cycles_per_mac"}
)
_ENDS = {LOW: "op_cycles_low", HIGH: "op_cycles_high"}


@dataclass(frozen=True)
class Tables:
    """A bundle's records as its document carries them."""

    summary: Mapping[str, Any]
    metadata: Mapping[str, Any]
    layers: tuple[Mapping[str, Any], ...]
    source: str | None


def unit_of(name: str) -> str:
    """The unit of a layer table's column."""
    if name.endswith("_fj"):
        return "fJ"
    if name.lower().endswith("cycles") or name.endswith("CYCCNT"):
        return "cycles"
    return {"macs": "MACs", "ops": "ops"}.get(name, "events")


def _finite(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _layer_parts(
    layers: tuple[Mapping[str, Any], ...], reasons: Mapping[Any, str], energies: Mapping[int, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Any]]:
    uses = Counter(row.get("source_index") for row in layers)
    entities: dict[str, dict[str, Any]] = {}
    breakdowns: list[dict[str, Any]] = []
    kinds: list[Any] = []
    for position, row in enumerate(layers):
        index, name = row.get("source_index"), str(row.get("op", ""))
        operator = f"source_operator/operator/{index}" if type(index) is int and index >= 0 else None
        if operator is not None:
            entities.setdefault(operator, {"id": operator, "kind": "source_operator", "name": name, "placement": "CPU"})
        if operator is None or uses[index] > 1:
            key = f"layer/{row.get('id', position)}"
            if key in entities:
                key = f"layer/{position}/{row.get('id')}"
            kinds = [{"id": "layer", "child_kinds": ["source_operator"]}]
            entities[key] = {"id": key, "kind": "layer", "name": name, "child_ids": [operator] if operator else []}
        else:
            key = operator
        metrics = _layer_metrics(row, reasons.get(index, "No pass measured cycles of this layer."))
        if position in energies:
            metrics.append(numeric("power.energy_j", energies[position], "J", additive=True))
        if metrics:
            breakdowns.append({"entity_id": key, "metrics": metrics})
    return list(entities.values()), breakdowns, kinds


def _layer_metrics(row: Mapping[str, Any], no_cycles: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    if _finite(row.get("cycles")):
        out.append(numeric("op_cycles", row["cycles"], "cycles", additive=True))
    elif "cycles" in row:
        out.append(unavailable("op_cycles", "cycles", no_cycles))
    for name, value in row.items():
        if name in _ENDS:
            # The ends of an interval do not add up to the ends of a sum's.
            if _finite(value):
                out.append(numeric(_ENDS[name], value, "cycles", aggregation="interval"))
        elif name in ("macs", "ops") or name not in _NOT_COUNTERS:
            if _finite(value):
                out.append(numeric(name, value, unit_of(name), additive=True))
            elif name not in ("macs", "ops"):
                out.append(unavailable(name, unit_of(name), "The counter was not measured in this layer."))
    return out


def _model_metrics(run: RunArtifacts) -> tuple[list[dict[str, Any]], dict[str, str]]:
    latency = run.summary.get("latency") or {}
    memory = run.summary.get("memory") or {}
    metrics: list[dict[str, Any]] = []
    reasons = {
        "accelerator_operator_percentage": "The board has no accelerator; every operator runs on the CPU.",
        "cpu_utilization": "The inference loop is the only thing that runs; utilization is not measured.",
        "average_memory": "Memory is planned statically; an average over time is not measured.",
    }
    micros, count = latency.get("device_clean_infer_avg_us"), latency.get("device_clean_infer_count")
    if _finite(micros) and micros > 0:
        time = numeric("inference_time", micros / 1000, "ms")
        metrics.append({**time, "samples": count} if type(count) is int else time)
        metrics.append(numeric("inferences_per_second", 1e6 / micros, "inferences/s"))
    else:
        why = "No clean window was measured."
        reasons |= {"inference_time": why, "inferences_per_second": why}
    cycles = latency.get("device_clean_infer_avg_cycles")
    metrics.append(
        numeric("clean_cycles", cycles, "cycles")
        if _finite(cycles)
        else unavailable("clean_cycles", "cycles", "No clean window was measured.")
    )
    total = run.summary.get("total_cycles")
    metrics.append(
        numeric("total_cycles", total, "cycles")
        if _finite(total)
        else unavailable("total_cycles", "cycles", "Not every layer has cycles.")
    )
    if _finite(memory.get("allocated_arena")):
        metrics.append(numeric("peak_activation_memory", memory["allocated_arena"], "bytes"))
    for name in ("text", "data", "bss", "total"):
        value = (run.summary.get("binary") or {}).get(name)
        if _finite(value):
            metrics.append(numeric(f"binary_{name}", value, "bytes"))
    return metrics, reasons


def _unpredicted(estimate: Mapping[str, Any]) -> dict[Any, str]:
    """Why operators have no predicted cycles, by their index."""
    rows = ((row.get("index"), row.get("predicted") or {}) for row in estimate.get("operators", ()))
    return {index: str(found["reason"]) for index, found in rows if found.get("reason")}


def _predicted_metrics(estimate: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    total, time = estimate["total_cycles"], estimate["milliseconds"]
    metrics: list[dict[str, Any]] = []
    reasons = {
        "accelerator_operator_percentage": "The board has no accelerator; every operator runs on the CPU.",
        "cpu_utilization": "Only the cost of the operators is predicted.",
        "average_memory": "Memory is planned statically; an average over time is not predicted.",
    }
    for name, found, unit in (("total_cycles", total, "cycles"), ("inference_time", time, "ms")):
        if _finite(found.get("cycles")):
            metrics.append(numeric(name, found["cycles"], unit))
            metrics += [
                numeric(f"{name}_{end}", found[end], unit, aggregation="interval")
                for end in ("low", "high")
                if _finite(found.get(end))
            ]
        elif name == "total_cycles":
            metrics.append(unavailable(name, unit, str(total["reason"])))
        else:
            reasons |= dict.fromkeys((name, "inferences_per_second"), str(found["reason"]))
    if _finite(time.get("cycles")):
        metrics.append(numeric("inferences_per_second", 1000 / time["cycles"], "inferences/s"))
    metrics.append(numeric("peak_activation_memory", estimate["arena_bytes"], "bytes"))
    if _finite(estimate["weights_bytes"]):
        metrics.append(numeric("model_weight_memory", estimate["weights_bytes"], "bytes"))
    return metrics, reasons


def standardized(run: RunArtifacts, operators: Sequence[OperatorFacts] = ()) -> dict[str, Any]:
    """The document of a bundle that was read; with `operators`, the bundle's facts of them, it carries advice.

    Raises:
        SchemaError: the bundle's records do not make a valid document.
    """
    manifest = run.manifest
    failed = manifest is not None and manifest.status.value == "failed"
    source = run.source or str(run.summary.get("source") or "silicon")
    layers = tuple(dict(thaw(row)) for row in run.layers)
    estimate = run.harness.get("estimate") if source == SOURCE else None
    estimate = estimate if isinstance(estimate, Mapping) else {}
    entities, breakdowns, kinds = _layer_parts(layers, _unpredicted(estimate), layer_energies(run.summary))
    metrics, reasons = _predicted_metrics(estimate) if estimate else _model_metrics(run)
    metrics += power_metrics(run.summary)
    issues = [thaw(issue.to_dict()) for issue in manifest.issues] if manifest is not None else []
    result: dict[str, Any] = {
        "kind": "performance",
        "status": "failed" if failed else "ok" if run.summary.get("validity") == "valid" else "partial",
        "producer": PRODUCER,
        "mode": MODES.get(source, "measured"),
        "metrics": [] if failed else with_standard(metrics, reasons),
        "breakdowns": breakdowns,
        "entities": entities,
        "entity_kinds": kinds,
    }
    advice = advise(case_of(run, operators)) if operators and not failed else ()
    if advice:
        known = {entity["id"] for entity in entities}
        result["advice"] = [to_standard(item, known) for item in advice]
    for field, wanted in (("errors", "error"), ("warnings", "warning")):
        texts = [f"{i['code']}: {i['message']}" for i in issues if i.get("severity") == wanted]
        if texts:
            result[field] = texts
    metadata = thaw(run.metadata)
    return document(
        run_id=str(metadata.get("run_id") or (manifest.run_id if manifest is not None else "")),
        timestamp=_timestamp(run),
        target=_target(metadata, run),
        model=_model(metadata, run),
        backends=[_backend(run, source)],
        results=[result],
        extension={
            "source": source,
            "bundle": {"summary": thaw(run.summary), "metadata": metadata, "layers": list(layers)},
            "issues": issues,
        },
    )


def _timestamp(run: RunArtifacts) -> str:
    text = str(run.manifest.timestamp if run.manifest is not None else run.metadata.get("timestamp", ""))
    ok = re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2}:\d{2}|Z)?", text)
    return text if ok else "1970-01-01T00:00:00+00:00"


def _target(metadata: Mapping[str, Any], run: RunArtifacts) -> dict[str, Any]:
    platform = metadata.get("platform") or {}
    board = str(platform.get("board") or "unknown")
    core = str(platform.get("core") or "unknown")
    return {
        "profile_name": board,
        "target_type": "cortex-m",
        "components": [{"type": "cpu", "family": "cortex-m", "model": core, "name": board}],
        "configuration": dict(platform),
    }


def _model(metadata: Mapping[str, Any], run: RunArtifacts) -> dict[str, Any]:
    model = metadata.get("model") or {}
    digest = str(model.get("sha256") or _NO_HASH)
    out: dict[str, Any] = {"name": str(model.get("name") or "unknown"), "format": "tflite", "hash": digest}
    if type(model.get("size_bytes")) is int and model["size_bytes"] >= 0:
        out["size_bytes"] = model["size_bytes"]
    if len(digest) != 64:
        out["hash"] = _NO_HASH
    return out


def _backend(run: RunArtifacts, source: str) -> dict[str, Any]:
    comparability = thaw(run.manifest.comparability) if run.manifest is not None else {}
    return {
        "id": PRODUCER,
        "name": "harness",
        "version": str(comparability.get("hpx_version") or "unknown"),
        "configuration": {**comparability, "source": source},
    }


def tables(document: Mapping[str, Any]) -> Tables:
    """The bundle's records out of a document that `standardized` made, every figure as it was.

    Raises:
        ForeignFormatError: the document does not carry them.
    """
    own = (document.get("extensions") or {}).get(PRODUCER) or {}
    bundle = own.get("bundle") if isinstance(own, Mapping) else None
    if not isinstance(bundle, Mapping) or not {"summary", "metadata", "layers"} <= set(bundle):
        raise ForeignFormatError(
            "The document carries no bundle.",
            field="extensions.harness.bundle",
            todo="Only documents exported from a bundle, with their extensions, give one back.",
        )
    return Tables(bundle["summary"], bundle["metadata"], tuple(bundle["layers"]), own.get("source"))
