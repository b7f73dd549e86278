"""Vela's estimates as a predicted standardized document, mapped back to the operators of the source model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from harness.advice.advise import advise
from harness.advice.case import Case, Layer
from harness.interop.advice import to_standard
from harness.interop.mlia.build import document, numeric, unavailable, with_standard
from harness.interop.vela.tables import VelaLayer, VelaTables
from harness.model.operators import operator_facts
from harness.model.types import Model

PRODUCER = "vela"
_COLUMNS = {
    "Op Cycles": ("op_cycles", "cycles"),
    "NPU": ("npu_cycles", "cycles"),
    "SRAM AC": ("sram_access_cycles", "cycles"),
    "DRAM AC": ("dram_access_cycles", "cycles"),
    "OnFlash AC": ("on_chip_flash_access_cycles", "cycles"),
    "OffFlash AC": ("off_chip_flash_access_cycles", "cycles"),
    "MAC Count": ("macs", "MACs"),
}
_NAMES = {"FULLY_CONNECTED": "FullyConnected", "AVERAGE_POOL_2D": "AvgPool", "MAX_POOL_2D": "MaxPool"}


def _source_names(model: Model) -> list[tuple[int, str, set[str]]]:
    return [
        (operator.index, operator.name, {model.tensors[tensor].name for tensor in operator.outputs})
        for operator in model.operators
    ]


def map_layers(layers: Sequence[VelaLayer], model: Model | None) -> list[int | None]:
    """The source operator of each row, None where it cannot be told.

    A row named like an operator's output is that operator's. Rows of a rewritten operator carry other names and come
    before the row with its output's name; they belong to it when they name the same original operator.
    """
    if model is None:
        return [None] * len(layers)
    outputs = {name: index for index, _, names in _source_names(model) for name in names}
    out: list[int | None] = [None] * len(layers)
    pending: list[int] = []
    for position, layer in enumerate(layers):
        index = outputs.get(layer.name)
        if index is None:
            pending.append(position)
            continue
        out[position] = index
        for earlier in pending:
            if layers[earlier].original == layer.original:
                out[earlier] = index
        pending = []
    return out


def _entities(
    tables: VelaTables, model: Model | None, mapping: Sequence[int | None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[int, list[VelaLayer]]]:
    by_source: dict[int, list[VelaLayer]] = {}
    entities: list[dict[str, Any]] = []
    breakdowns: list[dict[str, Any]] = []
    for position, (layer, index) in enumerate(zip(tables.layers, mapping, strict=True)):
        if index is not None:
            by_source.setdefault(index, []).append(layer)
        key = f"vela_operator/{position}"
        entities.append(
            {
                "id": key,
                "kind": "vela_operator",
                "name": layer.compiled,
                "placement": layer.target,
                "parent_ids": [f"source_operator/operator/{index}"] if index is not None else [],
                "attributes": {"original": layer.original, "tensor": layer.name},
            }
        )
        metrics = [
            numeric(name, layer.figures[column], unit, additive=True)
            for column, (name, unit) in _COLUMNS.items()
            if column in layer.figures
        ]
        breakdowns.append({"entity_id": key, "metrics": metrics})
    for operator in model.operators if model is not None else ():
        targets = {layer.target for layer in by_source.get(operator.index, ())}
        entity: dict[str, Any] = {
            "id": f"source_operator/operator/{operator.index}",
            "kind": "source_operator",
            "name": operator.name,
        }
        if targets:
            entity["placement"] = "NPU" if targets == {"NPU"} else "CPU"
        entities.append(entity)
    return entities, breakdowns, by_source


def _checks(model: Model | None, by_source: dict[int, list[VelaLayer]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for operator in model.operators if model is not None else ():
        key = f"source_operator/operator/{operator.index}"
        rows = by_source.get(operator.index)
        reasons: list[dict[str, str]] = []
        if rows is None:
            status = "partial"
            reasons.append({"description": "No compiled operator names this one.", "detail": "optimised away or fused"})
        elif all(row.target == "NPU" for row in rows):
            status = "pass"
        else:
            status = "fail"
            for row in rows:
                if row.target != "NPU":
                    detail = f"{row.compiled} runs on the {row.target}"
                    reasons.append({"description": "Vela leaves it to the CPU.", "detail": detail})
        out.append({"id": f"npu_support_{key}", "status": status, "entity_id": key, "details": {"reasons": reasons}})
    return out


def _advice(model: Model, by_source: dict[int, list[VelaLayer]]) -> list[dict[str, Any]]:
    """Advice on the estimate; an operator's cycles are those of the rows that it became."""
    layers: list[Layer] = []
    cycles = {index: sum(row.figures.get("Op Cycles", 0) for row in rows) for index, rows in by_source.items()}
    total = sum(cycles.values())
    for facts in operator_facts(model):
        rows = by_source.get(facts.index, [])
        own = cycles.get(facts.index)
        share = own / total if own is not None and total else None
        placement = "CPU" if any(row.target != "NPU" for row in rows) else "NPU"
        layers.append(Layer(facts, own, share, placement=placement))
    return [to_standard(item) for item in advise(Case(tuple(layers), "predicted", memory_rules=False))]


def standard_document(
    tables: VelaTables,
    model: Model | None = None,
    *,
    version: str = "unknown",
    timestamp: str = "1970-01-01T00:00:00+00:00",
) -> dict[str, Any]:
    """A predicted document: a performance result, and with the model a compatibility result per operator."""
    mapping = map_layers(tables.layers, model)
    entities, breakdowns, by_source = _entities(tables, model, mapping)
    figures = tables.figures
    cycles = figures["cycles_total"]
    metrics = [numeric("total_cycles", cycles, "cycles")]
    for column, name in (("cycles_npu", "compute_cycles"), ("cycles_sram_access", "sram_access_cycles")):
        if column in figures:
            metrics.append(numeric(name, figures[column], "cycles"))
    metrics.append(
        numeric("inference_time", figures["inference_time"] * 1000, "ms")
        if figures.get("inference_time")
        else unavailable("inference_time", "ms", "Vela states no inference time.")
    )
    if figures.get("inferences_per_second"):
        metrics.append(numeric("inferences_per_second", figures["inferences_per_second"], "inferences/s"))
    if "sram_memory_used" in figures:
        metrics.append(numeric("peak_activation_memory", figures["sram_memory_used"] * 1024, "bytes"))
    if "total_npu_encoded_weights" in figures:
        metrics.append(numeric("model_weight_memory", figures["total_npu_encoded_weights"], "bytes"))
    checks = _checks(model, by_source)
    if checks:
        share = 100 * sum(item["status"] == "pass" for item in checks) / len(checks)
        metrics.append(numeric("accelerator_operator_percentage", share, "%"))
    result: dict[str, Any] = {
        "kind": "performance",
        "status": "ok",
        "producer": PRODUCER,
        "mode": "predicted",
        "metrics": with_standard(metrics),
        "breakdowns": breakdowns,
        "entities": entities,
        "entity_kinds": [{"id": "vela_operator", "parent_kinds": ["source_operator"]}],
    }
    unmapped = sum(index is None for index in mapping)
    if unmapped:
        result["warnings"] = [f"{unmapped} of {len(mapping)} compiled operators map to no source operator"]
    advice = _advice(model, by_source) if model is not None else []
    if advice:
        result["advice"] = advice
    results = [result]
    if checks:
        passed = sum(item["status"] == "pass" for item in checks)
        status = "ok" if passed == len(checks) else "partial" if passed else "incompatible"
        sources = [entity for entity in entities if entity["kind"] == "source_operator"]
        results.append(
            {
                "kind": "compatibility",
                "status": status,
                "producer": PRODUCER,
                "mode": "predicted",
                "checks": checks,
                "entities": sources,
            }
        )
    accelerator = tables.texts["accelerator_configuration"]
    match = re.match(r"Ethos[_-](U\d+)[_-](\d+)\Z", accelerator)
    component: dict[str, Any] = {"type": "npu", "family": "ethos-u"}
    if match:
        component |= {"model": match.group(1).lower(), "variant": match.group(2)}
    return document(
        run_id=f"vela:{version}:{tables.texts}:{figures}",
        timestamp=timestamp,
        target={
            "profile_name": accelerator,
            "target_type": f"ethos-{match.group(1).lower()}" if match else "ethos-u",
            "components": [component],
            "configuration": dict(tables.texts),
        },
        model={
            "name": model.path.name if model is not None else tables.texts["network"],
            "format": "tflite",
            "hash": model.sha256 if model is not None else "0" * 64,
            **({"size_bytes": model.size_bytes} if model is not None else {}),
        },
        backends=[
            {
                "id": PRODUCER,
                "name": "Vela",
                "version": version,
                "configuration": {
                    "system_config": tables.texts["system_config"],
                    "memory_mode": tables.texts["memory_mode"],
                    "accelerator": accelerator,
                },
            }
        ],
        results=results,
        extension={"source": "predicted", "format": "vela", "figures": dict(figures)},
    )
