"""Outcomes for merges: text for people, Markdown for a comment, properties for JUnit.

Each says what changed, by how much, how sure that is, which layers, and what was not comparable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.core.frozen import thaw
from harness.judge.explain import ONE_RUN, both_facts, noisy_once, number, percent, table

if TYPE_CHECKING:
    from harness.judge.compare import CompareOutcome
    from harness.judge.paired import PairedOutcome
    from harness.judge.repeats import RepeatedVerdict

_TOP_LAYERS = 20
_HEADINGS = ("metric", "base", "head", "change", "95 % interval", "allowed", "detectable", "verdict")


def _cells(item: RepeatedVerdict) -> tuple[str, ...]:
    base = item.baseline
    interval = "-"
    if item.exact:
        interval = "exact"
    elif item.interval is not None:
        interval = " to ".join(percent(edge, base) if math.isfinite(edge) else "unbounded" for edge in item.interval)
    detectable = item.detectable if item.detectable is not None and math.isfinite(item.detectable) else None
    return (
        item.metric,
        number(base),
        number(item.candidate),
        percent(item.shift, base) if base else number(item.shift),
        interval,
        percent(item.allowed, base) if base else number(item.allowed),
        "any" if item.exact else percent(detectable, base) if base else number(detectable),
        item.status.value if item.status is not None else "more pairs",
    )


def _layer_cells(outcome: PairedOutcome) -> list[tuple[str, ...]]:
    return [
        (str(item.index), item.op, number(item.baseline), number(item.candidate), percent(item.shift, item.baseline))
        for item in outcome.changed_layers[:_TOP_LAYERS]
    ]


def _blocked(issues: Sequence[Any]) -> list[str]:
    return [
        f"{item.message} {both_facts(item.context) + ' ' if 'baseline' in item.context else ''}[{item.code}]"
        for item in issues
        if item.severity != "informative"
    ]


def paired_text(outcome: PairedOutcome) -> str:
    """The outcome of a paired measurement as text."""
    where = f"{outcome.board}, {outcome.source or 'source not stated'}"
    lines = [f"verdict: {outcome.status.value} [{where}] after {outcome.pairs} pairs, order from seed {outcome.seed}"]
    lines += ["", *table(_HEADINGS, [_cells(item) for item in outcome.verdicts])]
    lines += [f"  {item.metric}: {item.message}" for item in outcome.verdicts if item.baseline is None]
    rows = _layer_cells(outcome)
    lines += ["", f"  layers that changed: {len(outcome.changed_layers)} of {len(outcome.layers)} (cycles)"]
    lines += table(("layer", "op", "base", "head", "change"), rows) if rows else []
    blocked = _blocked(outcome.comparability.issues)
    return "\n".join([*lines, *([""] if blocked else []), *(f"  {text}" for text in blocked)])


def paired_to_dict(outcome: PairedOutcome) -> dict[str, Any]:
    """JSON-ready form."""
    data = {
        "status": outcome.status.value,
        "exit_code": outcome.exit_code,
        "pairs": outcome.pairs,
        "seed": outcome.seed,
        "source": outcome.source,
        "board": outcome.board,
        "profile": outcome.profile,
        "metrics": [item.to_dict() for item in outcome.verdicts],
        "layers": [item.to_dict() for item in outcome.layers],
        "changed_layers": [item.index for item in outcome.changed_layers],
        "comparability": outcome.comparability.to_dict(),
        "bundles": [{"base": base, "head": head} for base, head in outcome.bundles],
    }
    finite = _finite(thaw(data))
    assert isinstance(finite, dict)
    return finite


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _md(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(headings), "|" + "---|" * len(headings), *(line(row) for row in rows)]


_SIGNS = {"pass": "passed", "improved": "improved", "warn": "passed with warnings", "fail": "**failed**"}


def paired_markdown(outcome: PairedOutcome) -> str:
    """A comment for a merge request."""
    head = _SIGNS.get(outcome.status.value, outcome.status.value)
    where = f"{outcome.board} ({outcome.source or 'source not stated'})"
    lines = [f"### Performance on {where}: {head}", ""]
    lines += [f"{outcome.pairs} pairs of runs on one board, order drawn from seed {outcome.seed}.", ""]
    lines += _md(_HEADINGS, [_cells(item) for item in outcome.verdicts])
    notes = [f"{item.metric}: {item.message}" for item in outcome.verdicts if item.baseline is None]
    rows = _layer_cells(outcome)
    if rows:
        lines += ["", f"Layers that changed ({len(outcome.changed_layers)} of {len(outcome.layers)}, cycles):", ""]
        lines += _md(("layer", "operator", "base", "head", "change"), rows)
    else:
        lines += ["", f"No layer changed ({len(outcome.layers)} compared)."]
    return "\n".join([*lines, *_notes("Not judged:", notes), *_notes("Not compared:", _blocked_md(outcome))]) + "\n"


def compare_markdown(outcome: CompareOutcome) -> str:
    """A comment for a merge request, from one pair of bundles."""
    if outcome.error is not None:
        error = outcome.error
        return f"### Performance: not judged\n\n{error.what} {error.why} `{error.code}`\n"
    head = _SIGNS.get(outcome.status.value, outcome.status.value)
    lines = [f"### Performance ({outcome.source or 'source not stated'}): {head}", ""]
    verdicts = (*(outcome.verdict.metrics if outcome.verdict is not None else ()), *outcome.harness_metrics)
    rows = []
    for item in verdicts:
        delta = None if item.baseline is None or item.candidate is None else item.candidate - item.baseline
        change = percent(delta, item.baseline) if item.baseline else number(delta)
        allowed = number(item.allowed_regression)
        rows.append(
            (item.metric, number(item.baseline), number(item.candidate), change, allowed, item.unit, item.status.value)
        )
    lines += _md(("metric", "baseline", "candidate", "change", "allowed", "unit", "verdict"), rows)
    changed = sorted(outcome.changed_layers, key=lambda layer: -abs(layer.delta_cycles or 0.0))[:_TOP_LAYERS]
    if changed:
        lines += ["", f"Layers that changed ({len(outcome.changed_layers)} of {len(outcome.layers)}, cycles):", ""]
        lines += _md(
            ("layer", "operator", "baseline", "candidate", "change"),
            [
                (
                    str(layer.index),
                    layer.op,
                    number(layer.baseline_cycles),
                    number(layer.candidate_cycles),
                    percent(layer.delta_cycles, layer.baseline_cycles),
                )
                for layer in changed
            ],
        )
    elif outcome.layers:
        lines += ["", f"No layer changed ({len(outcome.layers)} compared)."]
    notes = [f"{item.metric}: {item.message}" for item in verdicts if item.baseline is None]
    if outcome.verdict is not None and outcome.verdict.dimension_mismatches:
        notes.append("required facts that differ: " + ", ".join(outcome.verdict.dimension_mismatches))
    noisy = noisy_once(outcome)
    if noisy:
        lines += ["", f"Noisy: {', '.join(noisy)}. {ONE_RUN}"]
    return "\n".join([*lines, *_notes("Not judged:", notes), *_notes("Not compared:", _blocked_md(outcome))]) + "\n"


def _blocked_md(outcome: PairedOutcome | CompareOutcome) -> list[str]:
    return _blocked(outcome.comparability.issues)


def _notes(title: str, notes: Sequence[str]) -> list[str]:
    return ["", title, "", *(f"- {text}" for text in notes)] if notes else []


def junit_properties(outcome: PairedOutcome | CompareOutcome) -> list[tuple[str, str]]:
    """Name and value of each property of a test case: the verdict, each metric, the layers that changed."""
    from harness.judge.compare import CompareOutcome

    out = [("hil.verdict", outcome.status.value)]
    verdicts: Sequence[Any]
    if not isinstance(outcome, CompareOutcome):
        verdicts = outcome.verdicts
        out += [("hil.pairs", str(outcome.pairs)), ("hil.seed", str(outcome.seed))]
    else:
        verdicts = (*(outcome.verdict.metrics if outcome.verdict is not None else ()), *outcome.harness_metrics)
    for item in verdicts:
        status = item.status.value if item.status is not None else "more pairs"
        delta = None if item.baseline is None or item.candidate is None else item.candidate - item.baseline
        out.append((f"hil.metric.{item.metric}", f"{status} {number(item.candidate)} {percent(delta, item.baseline)}"))
    layers = [str(layer.index) for layer in outcome.changed_layers]
    return [*out, ("hil.changed_layers", ",".join(layers) or "none")]
