"""One bundle shown on its own: every figure that the registry knows, its layers and its issues."""

from __future__ import annotations

from typing import Any

from harness.core.frozen import thaw
from harness.judge.explain import number
from harness.judge.metrics import METRICS, repeatability
from harness.judge.numbers import to_float
from harness.results.layers import NOT_COUNTERS
from harness.results.manifest import RunStatus
from harness.results.reader import RunArtifacts


def metric_rows(run: RunArtifacts) -> list[dict[str, Any]]:
    """Every metric that the bundle has a value for: name, value, unit, repeatability. A failed run measured nothing."""
    rows: list[dict[str, Any]] = []
    if run.manifest is not None and run.manifest.status is RunStatus.FAILED and not run.layers:
        return rows
    for name, metric in METRICS.items():
        value = metric.read(run)
        if value is not None:
            rows.append(
                {"name": name, "value": value, "unit": metric.unit, "repeatability": repeatability(run, metric)}
            )
    return rows


def bundle_to_dict(run: RunArtifacts) -> dict[str, Any]:
    """JSON-ready form."""
    manifest = run.manifest
    assert manifest is not None
    return {
        "path": str(run.path),
        "source": run.source,
        "manifest": manifest.to_dict(),
        "metrics": metric_rows(run),
        "layers": [dict(row) for row in run.layers],
        "harness": thaw(run.harness),
    }


def bundle_text(run: RunArtifacts) -> str:
    """The bundle as text; each heading says where the numbers come from."""
    manifest = run.manifest
    assert manifest is not None
    source = run.source or "source not stated"
    stated = manifest.comparability
    lines = [
        f"{run.path}",
        f"  run {manifest.run_id} of {manifest.timestamp}, {manifest.hpx_version or 'unknown producer'}",
        f"  board {stated.get('board')} [{source}], engine {stated.get('engine')}, model {_model(run)}",
        f"  status {manifest.status.value}, validity {manifest.validity.value}",
    ]
    lines += [f"  {item.severity} {item.code}: {item.message}" for item in manifest.issues]
    rows: list[tuple[str, ...]] = [
        (row["name"], number(to_float(row["value"])), row["unit"], row["repeatability"]) for row in metric_rows(run)
    ]
    if rows:
        lines += ["", f"figures ({source}):", *_columns(("metric", "value", "unit", "repeats"), rows, {1})]
    counters = [name for name in (run.layers[0] if run.layers else {}) if name not in NOT_COUNTERS]
    if run.layers:
        headings = ("layer", "op", "cycles", *counters)
        table = [
            (
                str(index),
                str(row.get("op")),
                number(to_float(row.get("cycles"))),
                *(number(to_float(row.get(name))) for name in counters),
            )
            for index, row in enumerate(run.layers)
        ]
        numeric = {0, *range(2, len(headings))}
        lines += ["", f"layers ({source}, counter reads included):", *_columns(headings, table, numeric)]
    return "\n".join(lines)


def _model(run: RunArtifacts) -> str:
    model = run.metadata.get("model")
    name = model.get("name") if isinstance(model, dict) else None
    return str(name or "unknown")


def _columns(headings: tuple[str, ...], rows: list[tuple[str, ...]], right: set[int]) -> list[str]:
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]

    def line(row: tuple[str, ...]) -> str:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return ("  " + "  ".join(cells)).rstrip()

    return [line(headings), *(line(row) for row in rows)]
