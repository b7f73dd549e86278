"""Building standardized documents: headers, metrics, and the standard metrics that must be there, if unavailable."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness import __version__
from harness.interop.mlia.schema import SCHEMA_VERSION
from harness.interop.mlia.tidy import plain_result
from harness.interop.mlia.validate import check

STANDARD_METRICS: Mapping[str, tuple[str, str]] = {
    "accelerator_operator_percentage": ("%", "Accelerator operator placement data is not available."),
    "inferences_per_second": ("inferences/s", "Inference throughput data is not available."),
    "cpu_utilization": ("%", "CPU utilization data is not available."),
    "target_utilization": ("%", "Target utilization data is not available."),
    "inference_time": ("ms", "Inference latency data is not available."),
    "model_weight_memory": ("bytes", "Model weight memory data is not available."),
    "peak_activation_memory": ("bytes", "Peak activation memory data is not available."),
    "average_memory": ("bytes", "Average memory data is not available."),
}
"""Metrics every performance result states, with unit and the reason when there is no number."""
_NAMESPACE = uuid.UUID("b8d1f7e0-5a0d-5c55-9d6f-3f5a0e6a1c52")


def numeric(name: str, value: float, unit: str, *, additive: bool = False, **fields: Any) -> dict[str, Any]:
    """A numeric metric; `additive` declares that it may be summed."""
    out: dict[str, Any] = {"name": name, "unit": unit, "value": value}
    if additive:
        out["aggregation"] = "sum"
    return {**out, **fields}


def unavailable(name: str, unit: str, reason: str) -> dict[str, Any]:
    """A metric without a number, and why."""
    return {"name": name, "unit": unit, "availability": "unavailable", "reason": reason}


def with_standard(
    metrics: Iterable[Mapping[str, Any]], reasons: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """The metrics and an unavailable entry for each standard one that is absent.

    Raises:
        ValueError: a standard metric has another unit than the standard's.
    """
    out = [dict(metric) for metric in metrics]
    for metric in out:
        standard = STANDARD_METRICS.get(metric["name"])
        if standard is not None and metric["unit"] != standard[0]:
            raise ValueError(f"{metric['name']} has unit {metric['unit']}, the standard says {standard[0]}")
    have = {metric["name"] for metric in out}
    for name, (unit, reason) in STANDARD_METRICS.items():
        if name not in have:
            out.append(unavailable(name, unit, (reasons or {}).get(name, reason)))
    return out


def run_uuid(text: str) -> str:
    """A UUID for any run id: itself when it is one, otherwise one derived from it."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, text))


def document(
    *,
    run_id: str,
    timestamp: str,
    target: Mapping[str, Any],
    model: Mapping[str, Any],
    backends: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | None = None,
    extension: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A whole document, checked against the schema before it is handed out.

    Raises:
        SchemaError: what was put in does not make a valid document.
    """
    out: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_uuid(run_id),
        "timestamp": timestamp,
        "tool": {"name": "harness", "version": __version__},
        "target": dict(target),
        "model": dict(model),
        "context": dict(context or {}),
        "backends": [dict(item) for item in backends],
        "results": [plain_result(item) for item in results],
    }
    if extension:
        out["extensions"] = {"harness": dict(extension)}
    return check(out)
