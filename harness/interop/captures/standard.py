"""A capture as a standardized document: chains and cascades carry the counters, per-core tables the extension."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.interop.captures.blobs import StripeStatistics, read_info, read_statistics
from harness.interop.captures.choice import VgfModel, dispatches_of, read_vgf_model
from harness.interop.captures.debug import DebugDatabase, read_debug_database
from harness.interop.captures.layout import Dispatch, read_tree
from harness.interop.errors import ForeignFormatError
from harness.interop.mlia.build import document, numeric, unavailable, with_standard

PRODUCER = "neural-technology-profiling-data"
NO_VALUE = "Backend output did not provide a numeric value for this metric."
_ABSENT = (
    ("inference_time", "ms"), ("infs_per_sec", "inferences/s"), ("cache_cycles", "cycles"), ("dram_cycles", "cycles"),
    ("compiled_size", "bytes"), ("cache_read_bytes", "bytes"), ("cache_write_bytes", "bytes"),
    ("dram_read_bytes", "bytes"), ("dram_write_bytes", "bytes"), ("dram_footprint", "bytes"),
)  # fmt: skip
KINDS: tuple[Mapping[str, Any], ...] = (
    {"id": "segment", "child_kinds": ["cascade", "source_operator"]},
    {"id": "cascade", "parent_kinds": ["segment"], "child_kinds": ["chain"]},
    {"id": "chain", "parent_kinds": ["cascade"], "child_kinds": ["source_operator", "performance_group"]},
    {"id": "performance_group", "parent_kinds": ["chain"], "child_kinds": ["source_operator"]},
)


@dataclass(frozen=True)
class Segment:
    """The statistics of one dispatch with the database that explains them."""

    index: int
    name: str
    stripes: tuple[StripeStatistics, ...]
    database: DebugDatabase

    def totals(self, by: str) -> dict[str, tuple[list[str], dict[str, int]]]:
        """Stripe ids and summed figures by chain or cascade, in order of first appearance."""
        out: dict[str, tuple[list[str], dict[str, int]]] = {}
        for stripe in self.stripes:
            place = self.database.placement(stripe.stripe)
            ids, sums = out.setdefault(place.chain if by == "chain" else place.cascade, ([], {}))
            ids.append(str(stripe.stripe))
            for name, value in figures(stripe).items():
                sums[name] = sums.get(name, 0) + value
        return out


def figures(stripe: StripeStatistics) -> dict[str, int]:
    """The breakdown of one stripe: cycles, then each counter."""
    counters = {f"{name}_cycles": value for name, value in stripe.counters.items()}
    return {"total_cycles": stripe.total_cycles, "op_cycles": stripe.op_cycles, **counters}


def read_segment(dispatch: Dispatch, index: int = 0) -> Segment:
    """Read and aggregate one dispatch; `ForeignFormatError` names file and field."""
    info_file = dispatch.info
    info = read_info(info_file.read_bytes(), str(info_file), is_text=info_file.suffix == ".txt")
    stripes = read_statistics(
        dispatch.statistics.read_bytes(), dispatch.mode, dispatch.device.generation, info, str(dispatch.statistics)
    )
    database = read_debug_database(dispatch.debug.read_bytes(), str(dispatch.debug))
    return Segment(index, dispatch.pipeline_name or f"segment_{index}", stripes, database)


def find_capture(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The capture's root for a root or a directory in it, and the part below it."""
    path = path.resolve()
    for place in (path, *path.parents[:4]):
        if (place / "capture.json").is_file():
            return place, path.relative_to(place).parts
    raise ForeignFormatError("This is no capture.", file=str(path), why="there is no capture.json in it or above it")


def select_for(
    paths: Sequence[Path], model: VgfModel, *, strict: bool = False
) -> tuple[list[Dispatch], tuple[str, ...], Path]:
    """The dispatches of a model: of a capture's root, of one execution, or all named.

    Raises:
        ForeignFormatError: as `select`, and where the capture's SPIR-V is not the model's.
    """
    roots = {find_capture(path)[0] for path in paths}
    if len(roots) == 1 and not find_capture(paths[0])[1]:
        named: list[Dispatch] = []
        tree = read_tree(root := roots.pop(), strict=strict)
    else:
        named, _, root = select(paths, strict=strict)
        tree = read_tree(root, strict=strict)
    chosen, notes = dispatches_of(tree, model, named)
    return chosen, (*tree.warnings, *notes), root


def select(paths: Sequence[Path], *, strict: bool = False) -> tuple[list[Dispatch], tuple[str, ...], Path]:
    """The dispatches that the paths mean: one dispatch directory each, or a root that holds a single dispatch.

    Raises:
        ForeignFormatError: paths of several captures, a path that means none or several dispatches.
    """
    roots = {find_capture(path)[0] for path in paths}
    if len(roots) != 1:
        raise ForeignFormatError("The dispatches are of several captures.", why=", ".join(sorted(map(str, roots))))
    tree = read_tree(root := roots.pop(), strict=strict)
    chosen: list[Dispatch] = []
    for path in paths:
        below = "/".join(find_capture(path)[1])
        found = [d for d in tree.dispatches if not below or d.relative == below or d.relative.startswith(below + "/")]
        if len(found) != 1:
            shown = ", ".join(d.relative for d in (found or tree.dispatches)[:3])
            raise ForeignFormatError(
                "Which dispatch?" if found else "There is no such dispatch.",
                file=str(path),
                why=f"candidates are {shown}",
                todo="Name one dispatch directory.",
            )
        if found[0] in chosen:
            raise ForeignFormatError("A dispatch is named twice.", file=str(path))
        chosen.append(found[0])
    return chosen, tree.warnings, root


def _metrics(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    total = sum(stripe.total_cycles for segment in segments for stripe in segment.stripes)
    out = [unavailable(name, unit, NO_VALUE) for name, unit in _ABSENT[:2]]
    out += [numeric("total_cycles", total, "cycles"), numeric("compute_cycles", total, "cycles")]
    out += [unavailable(name, unit, NO_VALUE) for name, unit in _ABSENT[2:]]
    if total:
        # Compute and total are one number here, so this says nothing; the reference writes it all the same.
        out.append(numeric("target_utilization", 100.0, "%"))
    return with_standard(out)


def segment_parts(segment: Segment) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    n, database = segment.index, segment.database
    chains, cascades = segment.totals("chain"), segment.totals("cascade")
    cascade_of: dict[str, str] = {}
    for stripe in segment.stripes:
        place = database.placement(stripe.stripe)
        cascade_of.setdefault(place.chain, place.cascade)
    entities: list[dict[str, Any]] = []
    operators: dict[str, dict[str, Any]] = {}
    breakdowns: list[dict[str, Any]] = []
    for chain, (ids, _) in chains.items():
        key = f"chain/segment_{n}/{chain}"
        below = _operators(segment, chain, key, operators, entities, ids)
        entities.append(_entity(key, "chain", f"{segment.name}/Chain {chain}", ids, child_ids=below))
    for cascade, (ids, _) in cascades.items():
        below = [f"chain/segment_{n}/{chain}" for chain, home in cascade_of.items() if home == cascade]
        key = f"cascade/segment_{n}/{cascade}"
        entities.append(_entity(key, "cascade", f"{segment.name}/Cascade {cascade}", ids, child_ids=below))
    entities += operators.values()
    entities.append(
        {
            "id": f"segment/{n}",
            "kind": "segment",
            "name": segment.name,
            "child_ids": [f"cascade/segment_{n}/{cascade}" for cascade in cascades],
        }
    )
    for kind, table in (("chain", chains), ("cascade", cascades)):
        for name, (_, sums) in table.items():
            key = f"{kind}/segment_{n}/{name}"
            metrics = [numeric(metric, value, "cycles", additive=True) for metric, value in sums.items()]
            breakdowns.append({"entity_id": key, "metrics": metrics, "id": key})
    return entities, breakdowns


def _entity(key: str, kind: str, name: str, stripes: list[str], **fields: Any) -> dict[str, Any]:
    return {"id": key, "kind": kind, "name": name, "placement": "NX", "attributes": {"stripe_ids": stripes}, **fields}


def _operators(
    segment: Segment,
    chain: str,
    key: str,
    operators: dict[str, dict[str, Any]],
    entities: list[dict[str, Any]],
    stripes: list[str],
) -> list[str]:
    below: dict[str, None] = {}
    found = segment.database.operators_of_chain(chain)
    for operator in found:
        for spirv in operator.spirv_ids or (None,):
            name = f"spirv-{spirv}" if spirv is not None else f"tosa-{operator.id}"
            own = f"source_operator/segment_{segment.index}/{name}"
            below[own] = None
            operators.setdefault(
                own,
                {
                    "id": own,
                    "kind": "source_operator",
                    "name": operator.type,
                    "placement": "NX",
                    "attributes": {"operator_types": [operator.type]},
                },
            )
    if not found:
        own = f"source_operator/segment_{segment.index}/profiling-{chain}"
        operators[own] = {
            "id": own,
            "kind": "source_operator",
            "name": f"profiling-stripe/{stripes[0]}",
            "placement": "NX",
            "attributes": {"operator_types": ["NeuralOp"]},
        }
        return [own]
    if len(below) > 1:
        # One record for several operators: a group stands between, so that no operator gets the whole figure.
        group = f"performance_group/segment_{segment.index}/chain_{chain}/0"
        entities.append({"id": group, "kind": "performance_group", "name": f"{key} 0", "child_ids": list(below)})
        return [group]
    return list(below)


def standard_document(
    paths: Sequence[Path],
    *,
    strict: bool = False,
    model: Path | None = None,
    timestamp: str = "1970-01-01T00:00:00+00:00",
) -> dict[str, Any]:
    """A measured document for one or more dispatches, one segment each, in the order given.

    With `model`, a VGF file, the dispatches are those whose SPIR-V lies in it.

    Raises:
        ForeignFormatError: the capture is damaged or the choice is not clear.
    """
    vgf = read_vgf_model(model) if model is not None else None
    dispatches, warnings, _ = select(paths, strict=strict) if vgf is None else select_for(paths, vgf, strict=strict)
    segments = [read_segment(dispatch, index) for index, dispatch in enumerate(dispatches)]
    entities: list[dict[str, Any]] = []
    breakdowns: list[dict[str, Any]] = []
    for segment in segments:
        more, figures_of = segment_parts(segment)
        entities += more
        breakdowns += figures_of
    first = dispatches[0]
    shader = first.shader.read_bytes()
    result = {
        "kind": "performance",
        "status": "ok",
        "producer": PRODUCER,
        "mode": "measured",
        "metrics": _metrics(segments),
        "breakdowns": breakdowns,
        "entities": entities,
        "entity_kinds": [dict(kind) for kind in KINDS],
    }
    if warnings:
        result["warnings"] = list(warnings)
    digest = hashlib.sha256(shader if vgf is None else vgf.data).hexdigest()
    source = {"name": first.shader.name, "format": "spv", "size_bytes": len(shader)}
    if vgf is not None:
        source = {"name": vgf.path.name, "format": "vgf", "size_bytes": len(vgf.data)}
    return document(
        run_id=f"capture:{digest}:{[d.relative for d in dispatches]}",
        timestamp=timestamp,
        target={
            "profile_name": "NX-measured",
            "target_type": "neural-technology",
            "components": [{"type": "gpu", "family": "mali", "model": "nx", "name": first.device.name}],
            "configuration": {},
            "description": "Neural Technology measured profiling data",
        },
        model={**source, "hash": digest},
        backends=[_backend(dispatches)],
        results=[result],
        context={"runtime_configuration": {"profiling_data": [d.relative for d in dispatches]}},
        extension={"source": "measured", "format": "neural-statistics/2", "stripes": _stripes(segments)},
    )


def _backend(dispatches: Sequence[Dispatch]) -> dict[str, Any]:
    device = dispatches[0].device
    return {
        "id": PRODUCER,
        "name": "Neural Technology Profiling Data",
        "version": "experimental",
        "configuration": {
            "device": device.name,
            "generation": device.generation,
            "vendor_id": device.vendor_id,
            "device_id": device.device_id,
            "mode": dispatches[0].mode,
            "statistics_files": [f"{d.relative}/{d.statistics.name}" for d in dispatches],
        },
    }


def _stripes(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    return [
        {
            "segment": segment.index,
            "stripe": stripe.stripe,
            "chain": segment.database.placement(stripe.stripe).chain,
            "synthetic": segment.database.placement(stripe.stripe).synthetic,
            "op_cycles": stripe.op_cycles,
            "cores": {str(core): dict(table) for core, table in stripe.cores.items()},
        }
        for segment in segments
        for stripe in segment.stripes
    ]
