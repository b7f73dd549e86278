"""Figures of a breakdown in a canonical form, copying and combining them, and why a metric could not be combined."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

MAX_SAFE_INTEGER = 2**53 - 1
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
Metric = Mapping[str, Any]
Identity = tuple[str, str, str]


def canonical(value: Any) -> str:
    """Key-sorted compact JSON, the form that equality of figures is decided on."""
    return _ENCODE(value) if value else json.dumps(value)


def metric_fields(metric: Metric) -> dict[str, Any]:
    """A metric without its empty fields."""
    return {
        key: value for key, value in metric.items() if value is not None and not (key == "qualifiers" and not value)
    }


def identity(metric: Metric) -> Identity:
    """What makes two metrics the same quantity: name, unit, qualifiers."""
    qualifiers = metric.get("qualifiers")
    return metric["name"], metric["unit"], canonical(qualifiers) if qualifiers else "{}"


@dataclass(frozen=True)
class Group:
    """The metrics of one set of breakdown qualifiers, by identity."""

    qualifiers: Mapping[str, Any]
    metrics: Mapping[Identity, Metric]


@dataclass(frozen=True)
class Figures:
    """All figures of one entity: groups by the canonical form of their qualifiers. `key` decides equality."""

    groups: Mapping[str, Group]

    @cached_property
    def key(self) -> str:
        """Canonical form of the groups."""
        groups = self.groups
        return canonical([[q, [groups[q].metrics[name] for name in sorted(groups[q].metrics)]] for q in sorted(groups)])

    def breakdowns(self, entity_id: str) -> list[dict[str, Any]]:
        """As breakdowns of an entity, in canonical order, without ids."""
        out: list[dict[str, Any]] = []
        for key in sorted(self.groups):
            group = self.groups[key]
            entry: dict[str, Any] = {
                "entity_id": entity_id,
                "metrics": [dict(group.metrics[name]) for name in sorted(group.metrics)],
            }
            if group.qualifiers:
                entry["qualifiers"] = dict(group.qualifiers)
            out.append(entry)
        return out


def extract(breakdowns: Iterable[Mapping[str, Any]]) -> Figures | None:
    """The figures of one entity's breakdowns; None when they are empty or contradict each other."""
    groups: dict[str, Group] = {}
    for breakdown in breakdowns:
        metrics: dict[Identity, Metric] = {}
        for raw in breakdown["metrics"]:
            metric = metric_fields(raw)
            known = metrics.setdefault(identity(metric), metric)
            if known is not metric and canonical(known) != canonical(metric):
                return None
        if not metrics:
            return None
        qualifiers = breakdown.get("qualifiers") or {}
        group = Group(qualifiers, metrics)
        other = groups.setdefault(canonical(qualifiers), group)
        if other is not group and other.metrics != metrics:
            return None
    return Figures(groups) if groups else None


def _samples(metrics: Sequence[Metric]) -> tuple[int | None, str]:
    counts = [metric.get("samples") for metric in metrics]
    if all(count is None for count in counts):
        return None, ""
    whole = [count for count in counts if type(count) is int and 0 <= count <= MAX_SAFE_INTEGER]
    if len(whole) != len(counts):
        return None, "sample counts are missing or unusable on a side"
    if sum(whole) > MAX_SAFE_INTEGER:
        return None, "the sum of the sample counts is out of range"
    return sum(whole), ""


def _combine_metric(metrics: Sequence[Metric]) -> tuple[dict[str, Any] | None, str]:
    values = [metric.get("value") for metric in metrics]
    if any(value is None for value in values):
        return None, "a contributor reports it as unavailable"
    if not all(type(value) in (int, float) for value in values):
        return None, "a contributor's value is not a number"
    policies = {metric.get("aggregation") for metric in metrics}
    if policies != {"sum"}:
        named = ", ".join(sorted(str(policy or "not stated") for policy in policies))
        return None, f"its aggregation ({named}) is not `sum` everywhere"
    samples, why = _samples(metrics)
    if why:
        return None, why
    try:
        total = sum(values)  # type: ignore[arg-type]
    except OverflowError:
        return None, "the sum is out of range"
    if isinstance(total, float) and not math.isfinite(total):
        return None, "the sum is not finite"
    first = metrics[0]
    out: dict[str, Any] = {"name": first["name"], "unit": first["unit"], "value": total, "aggregation": "sum"}
    if samples is not None:
        out["samples"] = samples
    if first.get("qualifiers"):
        out["qualifiers"] = first["qualifiers"]
    return out, ""


@dataclass(frozen=True)
class Dropped:
    """A metric that could not be combined, and why."""

    name: str
    unit: str
    reason: str


def combine(parts: Sequence[Figures]) -> tuple[Figures | None, list[Dropped]]:
    """Sum what all parts have and declare additive; one part alone is copied as it is.

    Returns:
        The figures, None when nothing is left, and every metric of any part that is not in them.
    """
    if len(parts) == 1:
        return parts[0], []
    dropped: list[Dropped] = []
    groups: dict[str, Group] = {}
    for key, having in _columns(part.groups for part in parts).items():
        by_name = _columns(group.metrics for group in having)
        if len(having) < len(parts):
            reason = "not every contributor has a breakdown with these qualifiers"
            dropped += [Dropped(name, unit, reason) for name, unit, _ in by_name]
            continue
        metrics: dict[Identity, Metric] = {}
        for name, columns in by_name.items():
            if len(columns) < len(parts):
                dropped.append(
                    Dropped(name[0], name[1], "not every contributor has it with this unit and these qualifiers")
                )
                continue
            total, why = _combine_metric(columns)
            if total is None:
                dropped.append(Dropped(name[0], name[1], why))
            else:
                metrics[name] = total
        if metrics:
            groups[key] = Group(having[0].qualifiers, metrics)
    return (Figures(groups) if groups else None), sorted(dropped, key=lambda item: (item.name, item.unit, item.reason))


def adds_exactly(parts: Sequence[Figures]) -> bool:
    """Whether adding the numbers of these figures loses no bit, so that every order gives the same sum."""
    values: dict[tuple[str, Identity], list[int | float]] = {}
    for part in parts:
        for key, group in part.groups.items():
            for name, metric in group.metrics.items():
                if type(metric.get("value")) in (int, float):
                    values.setdefault((key, name), []).append(metric["value"])
    return all(_exact(found) for found in values.values() if any(type(value) is float for value in found))


def _exact(values: Sequence[int | float]) -> bool:
    ratios = [value.as_integer_ratio() for value in values]
    scale = max(denominator for _, denominator in ratios)
    return sum(abs(number) * (scale // denominator) for number, denominator in ratios) <= MAX_SAFE_INTEGER


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _columns(parts: Iterable[Mapping[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    out: dict[_Key, list[_Value]] = {}
    for part in parts:
        for key, value in part.items():
            out.setdefault(key, []).append(value)
    return out
