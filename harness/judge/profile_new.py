"""A profile to start from, made from one bundle: what may not move, what may not get worse, and by how much."""

from __future__ import annotations

from harness.judge.metrics import METRICS, repeatability
from harness.judge.numbers import to_float
from harness.results.reader import RunArtifacts

_LEFT_OUT = frozenset({"device_profiled_infer_total_us", "power.duration_s", "binary.reserved", "memory.arena_size"})
"""Figures that follow from settings, not from the firmware."""
_SIZE_PCT = 1.0
_NOISY_PCT = 1.0


def new_profile(run: RunArtifacts, name: str = "ci") -> str:
    """The text of a profile in YAML.

    Sizes may grow by 1 % and at least 64 bytes. Figures that repeat exactly may not get worse at all. Noisy ones may
    get 1 % worse, and repeated runs must see 3 % beyond that for sure.
    """
    shared: list[str] = []
    own: list[str] = []
    for metric in METRICS.values():
        value = to_float(metric.read(run), finite=True)
        if value is None or metric.name in _LEFT_OUT:
            continue
        entry = [f"direction: {'smaller' if metric.smaller_is_better else 'larger'}", f"unit: {_quoted(metric.unit)}"]
        exact = repeatability(run, metric) == "exact"
        if metric.name == "layers":
            entry[0] = "direction: equal"
        elif metric.unit == "bytes":
            entry += [f"max_regression_pct: {_SIZE_PCT:g}", "max_regression_abs: 64"]
        elif not exact:
            entry += [f"max_regression_pct: {_NOISY_PCT:g}"]
        if not metric.hpx and not exact:
            entry += ["margin_pct: 3"]
        (shared if metric.hpx else own).append(f"{metric.name}: {{{', '.join(entry)}}}  # {value:,.6g}")
    stated = run.manifest.comparability if run.manifest is not None else {}
    where = f"{stated.get('board')} ({run.source or 'source not stated'})"
    head = [
        f"# Made from a run on {where}; the figure stands behind each line.",
        "schema: hpx.comparison-profile",
        "schema_version: 1",
        f"name: {_quoted(name)}",
        "required_dimensions: [board, cpu_clock]",
        "metrics:",
    ]
    lines = [*head, *(f"  {line}" for line in shared)]
    if run.layers:
        cells = "direction: smaller, unit: cycles, max_regression_pct: 5, max_regression_abs: 200"
        own.append(f'"layer[*].cycles": {{{cells}}}')
    if own:
        lines += ["harness:", "  missing: warn", "  metrics:", *(f"    {line}" for line in own)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text if text.isalnum() else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
