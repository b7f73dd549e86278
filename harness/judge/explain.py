"""Outcomes as text for people and as JSON for machines. Every heading says where the numbers come from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.core.frozen import thaw
from harness.judge.metrics import METRICS, MetricDiff, repeatability, resolve
from harness.judge.verdict import MetricVerdict
from harness.results.reader import RunArtifacts

if TYPE_CHECKING:
    from harness.judge.compare import CompareOutcome

_TOP_LAYERS = 20


def number(value: float | None) -> str:
    """A number as people read it; `-` where there is none."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.1f}"


def percent(part: float | None, whole: float | None) -> str:
    """A signed percentage of a magnitude; `-` where it has no meaning."""
    if part is None or not whole:
        return "-"
    return f"{part / abs(whole) * 100:+.2f} %"


def both_facts(context: Mapping[str, Any]) -> str:
    """What each side of an issue states: text as it is, anything else as JSON."""
    return " -> ".join(_fact(context.get(role)) for role in ("baseline", "candidate"))


def _fact(value: Any) -> str:
    if value is None:
        return "not stated"
    return value if isinstance(value, str) else json.dumps(thaw(value), sort_keys=True, default=str)


def explain(outcome: CompareOutcome) -> str:
    """The whole outcome as text."""
    lines = [_headline(outcome)]
    if outcome.error is not None:
        return "\n".join([*lines, *(f"  {line}" for line in str(outcome.error).splitlines())])
    lines += _sides(outcome)
    verdicts = (*(outcome.verdict.metrics if outcome.verdict is not None else ()), *outcome.harness_metrics)
    if verdicts:
        lines += [
            "",
            *table(("metric", "baseline", "candidate", "change", "allowed", "unit", "verdict"), _rows(verdicts)),
        ]
        lines += [f"  {item.metric}: {item.message}" for item in verdicts if item.baseline is None]
        noisy = noisy_once(outcome)
        if noisy:
            lines += [f"  noisy: {', '.join(noisy)}", f"    {ONE_RUN}"]
    if outcome.verdict is not None and outcome.verdict.dimension_mismatches:
        lines.append("  required dimensions that differ: " + ", ".join(outcome.verdict.dimension_mismatches))
    lines += _layer_lines(outcome)
    lines += _comparability_lines(outcome)
    return "\n".join(lines)


ONE_RUN = (
    "One run a side says nothing of the scatter: the bounds were held against single values, there is no interval and "
    "no minimum detectable change. `harness ab` and `--hil-base` repeat runs until it is sure."
)
"""Why nothing is said of how sure the verdict on a noisy metric is."""


def noisy_once(outcome: CompareOutcome) -> tuple[str, ...]:
    """Judged metrics that scatter from run to run, of which a pair of bundles holds one value a side."""
    sides = [run for run in (outcome.baseline, outcome.candidate) if run is not None]
    verdicts = (*(outcome.verdict.metrics if outcome.verdict is not None else ()), *outcome.harness_metrics)
    return tuple(
        item.metric
        for item in verdicts
        if item.baseline is not None
        and any(repeatability(run, metric) == "noisy" for run in sides for metric in resolve(item.metric, run))
    )


def _headline(outcome: CompareOutcome) -> str:
    text = f"verdict: {outcome.status.value}"
    if outcome.code:
        text += f" ({outcome.code})"
    if outcome.error is None:
        text += f" [{outcome.source or 'source not stated'}]"
    failed = outcome.failed_metrics
    if failed:
        text += f", {len(failed)} of {_judged(outcome)} metrics worse than allowed"
    if outcome.status.value in ("skip", "none"):
        text += ": nothing was judged"
    return text


def _judged(outcome: CompareOutcome) -> int:
    return len(outcome.verdict.metrics if outcome.verdict is not None else ()) + len(outcome.harness_metrics)


def _sides(outcome: CompareOutcome) -> list[str]:
    lines = []
    for role, run in (("baseline ", outcome.baseline), ("candidate", outcome.candidate)):
        if run is None or run.manifest is None:
            continue
        board = run.manifest.comparability.get("board", "unknown board")
        lines.append(f"  {role} {run.path}  [{board}, {run.source or 'source not stated'}]")
    return lines


def _rows(verdicts: Sequence[MetricVerdict]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for item in verdicts:
        delta = None if item.baseline is None or item.candidate is None else item.candidate - item.baseline
        rows.append(
            (
                item.metric,
                number(item.baseline),
                number(item.candidate),
                percent(delta, item.baseline) if item.baseline else number(delta),
                number(item.allowed_regression),
                item.unit,
                item.status.value,
            )
        )
    return rows


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned lines of text; numbers to the right."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    right = {i for i, name in enumerate(headings) if name in ("baseline", "candidate", "change", "allowed", "layer")}

    def line(row: Sequence[str]) -> str:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return ("  " + "  ".join(cells)).rstrip()

    return [line(headings), line(["-" * width for width in widths]), *(line(row) for row in rows)]


def _layer_lines(outcome: CompareOutcome) -> list[str]:
    changed = outcome.changed_layers
    if not outcome.layers:
        return []
    if not changed:
        return ["", f"  no layer changed ({len(outcome.layers)} compared)"]
    ranked = sorted(changed, key=lambda layer: -abs(layer.delta_cycles or 0.0))[:_TOP_LAYERS]
    rows = [
        (
            str(layer.index),
            layer.op,
            number(layer.baseline_cycles),
            number(layer.candidate_cycles),
            percent(layer.delta_cycles, layer.baseline_cycles),
        )
        for layer in ranked
    ]
    lines = [
        "",
        f"  changed layers: {len(changed)} of {len(outcome.layers)} (cycles, {outcome.source or 'source not stated'})",
    ]
    lines += table(("layer", "op", "baseline", "candidate", "change"), rows)
    if len(changed) > len(ranked):
        lines.append(f"  and {len(changed) - len(ranked)} more")
    return lines


def _comparability_lines(outcome: CompareOutcome) -> list[str]:
    lines = []
    for item in outcome.comparability.issues:
        facts = ""
        if "baseline" in item.context:
            facts = f" {both_facts(item.context)}"
        lines.append(f"  {item.severity.value}: {item.message}{facts} [{item.code}]")
    return ["", *lines] if lines else []


def outcome_to_dict(outcome: CompareOutcome) -> dict[str, Any]:
    """JSON-ready form of an outcome."""
    noisy = noisy_once(outcome)
    data: dict[str, Any] = {
        "status": outcome.status.value,
        "code": outcome.code,
        "exit_code": outcome.exit_code,
        "source": outcome.source,
        "baseline": _side(outcome.baseline),
        "candidate": _side(outcome.candidate),
        "comparability": outcome.comparability.to_dict(),
        "config": [{**vars(row)} for row in outcome.config_rows],
        "metrics": [_metric(row, outcome.candidate) for row in outcome.metrics],
        "layers": [layer.to_dict() for layer in outcome.layers],
        "changed_layers": [layer.index for layer in outcome.changed_layers],
        "verdict": outcome.verdict.to_dict() if outcome.verdict is not None else None,
        "harness": (
            {
                "status": outcome.harness_status.value,
                "metrics": [item.to_dict() for item in outcome.harness_metrics],
            }
            if outcome.harness_status is not None
            else None
        ),
        "noisy": {"metrics": list(noisy), "detectable": None, "reason": ONE_RUN} if noisy else None,
        "error": outcome.error.to_dict() if outcome.error is not None else None,
    }
    finite = _finite(thaw(data))
    assert isinstance(finite, dict)
    return finite


def _side(run: RunArtifacts | None) -> dict[str, Any] | None:
    if run is None or run.manifest is None:
        return None
    return {
        "path": str(run.path),
        "run_id": run.manifest.run_id,
        "timestamp": run.manifest.timestamp,
        "producer": run.manifest.hpx_version,
        "source": run.source,
        "validity": run.manifest.validity.value,
        "comparability": thaw(run.manifest.comparability),
    }


def _metric(row: MetricDiff, candidate: RunArtifacts | None) -> dict[str, Any]:
    known = METRICS.get(row.name)
    return {
        "name": row.name,
        "baseline": row.baseline,
        "candidate": row.candidate,
        "delta": row.delta,
        "delta_pct": row.delta_pct,
        "unit": row.unit,
        "repeatability": repeatability(candidate, known) if known is not None and candidate is not None else "exact",
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
