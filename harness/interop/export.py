"""Exports, each with a table of what does not survive in it."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError
from harness.core.files import atomic_write, published_dir
from harness.core.strict_json import pretty
from harness.interop.bundle import unit_of
from harness.interop.errors import ForeignFormatError
from harness.interop.formats import Imported
from harness.interop.mlia.postprocess import compat, postprocess
from harness.results.reader import verify_bundle

LOSSES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "mlia": (
        (
            "uncertainty of energy, repeats, per-iteration samples",
            "no place in the schema; kept under extensions.harness where it fits",
        ),
        ("marks and coverage of projected figures", "kept under extensions.harness; left out with --compat"),
        ("raw frames, power waveform, target log", "stay in the bundle"),
    ),
    "hpx": (("nothing", "the bundle is copied byte for byte; hpx reads its published parts and ignores the rest"),),
    "csv": (
        ("model-level metrics, reasons, entities without figures", "a table has rows for breakdowns only"),
        ("relations between entities", "only entity ids and kinds are written"),
        ("samples and aggregation", "kept as columns; qualifiers as JSON text"),
    ),
    "model-explorer": (
        ("everything but one number per operator", "an overlay holds a value a node"),
        ("units, sources and reasons", "the unit is in the overlay's name; absent figures have no node"),
        ("entities other than source operators", "an overlay attaches to nodes of the model"),
    ),
}
"""What does not survive in each format, and why."""


@dataclass(frozen=True)
class Exported:
    """What was written, and what did not survive."""

    path: Path
    format: str
    losses: tuple[tuple[str, str], ...]


def export(
    imported: Imported, source: Path, out: Path, form: str, *, compatible: bool = False, metric: str = "op_cycles"
) -> Exported:
    """Write a result in another format.

    Args:
        imported: what was read.
        source: where it was read from.
        out: the file to write; for `hpx` the directory.
        form: one of `LOSSES`.
        compatible: for `mlia`: write what the reference's post-processing would, without extensions.
        metric: for `model-explorer`: which metric of the breakdowns.

    Raises:
        UsageError: an unknown format, something is at `out` already, or the metric is not there.
        ForeignFormatError: the source cannot be given in that format.
    """
    if form not in LOSSES:
        raise UsageError(f"Unknown export format {form!r}.", todo=f"Known are {', '.join(LOSSES)}.")
    if out.exists():
        raise UsageError(f"There is something at {out} already.", todo="Name another file.")
    if form == "hpx":
        _copy_bundle(imported, source, out)
    else:
        if not out.parent.is_dir():
            raise UsageError(f"There is no directory {out.parent}.", todo="Create it first.")
        atomic_write(out, _text(imported.document, form, compatible, metric))
    return Exported(out, form, LOSSES[form])


def _text(document: Mapping[str, Any], form: str, compatible: bool, metric: str) -> str:
    if form == "csv":
        return csv_text(document)
    if form == "model-explorer":
        return pretty(overlay(document, metric))
    if compatible:
        plain = {key: value for key, value in compat(document).items() if key != "extensions"}
        return pretty(plain)
    # Projections go into our view; the breakdowns stay the authoritative ones.
    view = postprocess(document).extended()["extensions"]
    return pretty({**document, "extensions": view})


def _copy_bundle(imported: Imported, source: Path, out: Path) -> None:
    if imported.format != "hpx":
        raise ForeignFormatError(
            f"A {imported.title} cannot become a bundle.",
            why="a bundle holds measurements of one run of one image, which it does not describe",
            todo="Export it as mlia or csv.",
        )
    root = source if source.is_dir() else source.parent
    manifest = verify_bundle(root)
    with published_dir(out) as hidden:
        for artifact in manifest.artifacts:
            target = hidden / artifact.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / artifact.path, target)
        shutil.copyfile(root / "result_manifest.json", hidden / "result_manifest.json")
    verify_bundle(out)


_FIELDS = (
    "result", "mode", "entity_id", "kind", "name", "metric", "value", "unit", "aggregation", "samples", "reason",
    "qualifiers",
)  # fmt: skip


def csv_text(document: Mapping[str, Any]) -> str:
    """One row a metric of a breakdown. Absent figures have no value and their reason."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _FIELDS, lineterminator="\n")
    writer.writeheader()
    for index, result in enumerate(document["results"]):
        entities = {entity["id"]: entity for entity in result.get("entities", ())}
        for breakdown in result.get("breakdowns", ()):
            entity = entities[breakdown["entity_id"]]
            for metric in breakdown["metrics"]:
                qualifiers = {**breakdown.get("qualifiers", {}), **metric.get("qualifiers", {})}
                writer.writerow(
                    {
                        "result": index,
                        "mode": result.get("mode", ""),
                        "entity_id": _safe(entity["id"]),
                        "kind": _safe(entity["kind"]),
                        "name": _safe(entity["name"]),
                        "metric": _safe(metric["name"]),
                        "value": metric.get("value", ""),
                        "unit": _safe(metric["unit"]),
                        "aggregation": metric.get("aggregation", ""),
                        "samples": metric.get("samples", ""),
                        "reason": _safe(metric.get("reason", "")),
                        "qualifiers": json.dumps(qualifiers, sort_keys=True) if qualifiers else "",
                    }
                )
    return text.getvalue()


def _safe(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def overlay(document: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """A Model Explorer overlay: one value a source operator, keyed by its position in the main graph."""
    values: dict[str, float] = {}
    known: set[str] = set()
    for result in postprocess(document).document["results"]:
        for breakdown in result.get("breakdowns", ()):
            prefix, _, index = breakdown["entity_id"].rpartition("/")
            for item in breakdown["metrics"]:
                known.add(item["name"])
                value = item.get("value")
                if item["name"] == metric and prefix == "source_operator/operator" and _plain(value):
                    values[index] = values.get(index, 0) + value
    if not values:
        raise UsageError(
            f"No source operator has the metric {metric!r}.",
            why=f"the breakdowns hold {', '.join(sorted(known)[:20]) or 'nothing'}",
            todo="Name one of them with --metric.",
        )
    return {
        "main": {
            "name": f"{metric} ({unit_of(metric)})",
            "results": {key: {"value": value} for key, value in values.items()},
            "gradient": [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#d7301f"}],
        }
    }


def _plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
