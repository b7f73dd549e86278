"""An ETDump with its ETRecord as a standardized document.

The outermost event of an instruction is what the instruction took; what it contains is never added to it. An average is
additive only where one instruction stands for one operator, and averages of other runs carry other qualifiers, so that
they never meet in a sum. Percentiles, extremes and counts are never additive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from harness.interop.captures.blobs import Generation
from harness.interop.captures.standard import KINDS, segment_parts
from harness.interop.errors import ForeignFormatError
from harness.interop.etdump.dump import EtDump
from harness.interop.etdump.record import EtRecord, SourceOperator
from harness.interop.etdump.statistics import EventSeries, RunGroup, group_runs, outermost, to_dict
from harness.interop.etdump.vgf import looks_like_vgf, read_vgf
from harness.interop.mlia.build import document, numeric, unavailable, with_standard

PRODUCER = "executorch-etdump"
SHARED = "shared_average"
PARTIAL = "partial_average"
_OBSERVATION = {"id": "runtime_observation", "child_kinds": ["source_operator"]}


def operator_id(operator: SourceOperator) -> str:
    """The canonical id of a lowered program's node."""
    return f"source_operator/{operator.name}"


def _metrics(series: EventSeries, aggregation: str, qualifiers: dict[str, Any]) -> list[dict[str, Any]]:
    steady = series.steady
    out = [
        numeric("runtime", steady.avg, "ms", aggregation=aggregation),
        numeric("runtime_p10", steady.p10, "ms", aggregation="p10"),
        numeric("runtime_p50", steady.p50, "ms", aggregation="p50"),
        numeric("runtime_p90", steady.p90, "ms", aggregation="p90"),
        numeric("runtime_min", steady.min, "ms", aggregation="min"),
        numeric("runtime_max", steady.max, "ms", aggregation="max"),
        numeric("executions", steady.count, "executions", aggregation="count"),
    ]
    if series.first_is_warmup:
        out.append(numeric("runtime_first", series.samples[0], "ms", aggregation="first"))
    return [{**metric, "qualifiers": qualifiers} for metric in out] if qualifiers else out


class _Builder:
    def __init__(self, record: EtRecord | None) -> None:
        self.record = record
        self.operators: dict[str, dict[str, Any]] = {}
        self.observations: dict[str, dict[str, Any]] = {}
        self.breakdowns: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        for operator in record.operators if record is not None else ():
            entity = {"id": operator_id(operator), "kind": "source_operator", "name": operator.target}
            if operator.stack_trace:
                entity["stack_trace"] = operator.stack_trace
            self.operators[entity["id"]] = entity

    def add(self, group: RunGroup, number: int, several: bool) -> None:
        """Breakdowns of one group of runs."""
        qualifiers = {"executions": f"runs {number}"} if several else {}
        for (chain, instruction), series in sorted(outermost(group).items()):
            operators = self.record.operators_of(instruction) if self.record is not None else ()
            if not operators:
                self.warnings.append(f"instruction {instruction} ({series.event.name}) maps to no source operator")
            shared = (
                len(operators) == 1 and len(self.record.instructions_of(operators[0])) > 1 if self.record else False
            )
            if len(operators) == 1 and not shared:
                self.breakdowns.append(
                    {"entity_id": operator_id(operators[0]), "metrics": _metrics(series, "sum", qualifiers)}
                )
                continue
            key = f"runtime_observation/{chain}/{instruction}"
            self.observations.setdefault(
                key,
                {
                    "id": key,
                    "kind": "runtime_observation",
                    "name": series.event.name,
                    "child_ids": [operator_id(operator) for operator in operators],
                    "attributes": {"mapping": "shared" if operators else "unmapped"},
                },
            )
            aggregation = SHARED if operators else PARTIAL
            self.breakdowns.append({"entity_id": key, "metrics": _metrics(series, aggregation, qualifiers)})


def _latency(groups: Sequence[RunGroup]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    found = [
        series
        for group in groups
        for series in group.series
        if series.event.name == "Method::execute" and series.samples
    ]
    if len(found) != 1:
        reason = (
            "The dump holds no Method::execute event."
            if not found
            else "The dump holds runs that executed different things; no single latency describes them."
        )
        return [], {"inference_time": reason, "inferences_per_second": reason}
    mean = found[0].steady.avg
    out = [numeric("inference_time", mean, "ms", samples=found[0].steady.count)]
    if mean > 0:
        out.append(numeric("inferences_per_second", 1000 / mean, "inferences/s"))
    return out, {}


def standard_document(
    dump: EtDump,
    record: EtRecord | None = None,
    *,
    raw: bytes = b"",
    timestamp: str = "1970-01-01T00:00:00+00:00",
    ticks_per_ms: float = 1e6,
    mode: int | None = None,
    generation: Generation | None = None,
) -> dict[str, Any]:
    """A measured document for a dump.

    Args:
        dump: the dump.
        record: the matching record; without it nothing maps to source operators.
        raw: the dump's bytes, hashed into the document's identity.
        timestamp: when it was recorded, if known.
        ticks_per_ms: the dump's time unit.
        mode, generation: how VGF payloads are decoded; assumed and recorded where left out.
    """
    groups = group_runs(dump, ticks_per_ms)
    builder = _Builder(record)
    timed = [group for group in groups if any(series.event.maps_to_operator for series in group.series)]
    for number, group in enumerate(timed):
        builder.add(group, number, len(timed) > 1)
    latency, reasons = _latency(groups)
    cycles = unavailable("total_cycles", "cycles", "The dump holds times, not cycles.")
    entities = [*builder.observations.values(), *builder.operators.values()]
    kinds = [_OBSERVATION] if builder.observations else []
    breakdowns = builder.breakdowns
    assumptions = _add_vgf(groups, dump.file, mode, generation, entities, kinds, breakdowns, builder.warnings)
    result: dict[str, Any] = {
        "kind": "performance",
        "status": "ok" if timed else "partial",
        "producer": PRODUCER,
        "mode": "measured",
        "metrics": with_standard([*latency, cycles], reasons),
        "breakdowns": breakdowns,
        "entities": entities,
        "entity_kinds": kinds,
    }
    if builder.warnings:
        result["warnings"] = builder.warnings
    digest = hashlib.sha256(raw).hexdigest()
    return document(
        run_id=f"etdump:{digest}",
        timestamp=timestamp,
        target={
            "profile_name": "executorch",
            "target_type": "executorch",
            "components": [{"type": "cpu", "family": "unknown"}],
            "configuration": {},
        },
        model={
            "name": record.method if record else "unknown",
            "format": "etdump",
            "hash": digest,
            "size_bytes": len(raw),
        },
        backends=[
            {
                "id": PRODUCER,
                "name": "ExecuTorch ETDump",
                "version": str(dump.version),
                "configuration": {"method": record.method if record else None, "ticks_per_ms": ticks_per_ms},
            }
        ],
        results=[result],
        extension={
            "source": "measured",
            "format": "etdump",
            "assumptions": assumptions,
            "groups": [
                {"name": group.name, "runs": list(group.runs), "events": [to_dict(series) for series in group.series]}
                for group in groups
            ],
        },
    )


def _add_vgf(
    groups: Sequence[RunGroup],
    file: str,
    mode: int | None,
    generation: Generation | None,
    entities: list[dict[str, Any]],
    kinds: list[dict[str, Any]],
    breakdowns: list[dict[str, Any]],
    warnings: list[str],
) -> list[str]:
    """Cycles of the first VGF payload of each segment; the same payload is written once per run."""
    assumptions: list[str] = []
    done: set[int] = set()
    for group in groups:
        for series in group.series:
            payload = next((data for data in series.metadata if looks_like_vgf(data)), None)
            if payload is None:
                continue
            try:
                found = read_vgf(payload, file, mode=mode, generation=generation)
            except ForeignFormatError as error:
                warnings.append(f"VGF payload of {series.event.name}: {error.what} {error.why}")
                continue
            assumptions += [item for item in found.assumptions if item not in assumptions]
            warnings += found.missing
            for segment in found.segments:
                if segment.index in done:
                    continue
                done.add(segment.index)
                more, figures = segment_parts(segment)
                entities += more
                breakdowns += figures
    if done:
        kinds += [dict(kind) for kind in KINDS]
    return assumptions
