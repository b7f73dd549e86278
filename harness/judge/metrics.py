"""Every metric, declared once: name, unit, better direction, and how it is read from a bundle.

Two vocabularies share the registry. Metrics of hpx keep its names, order and way of reading, so that the `metrics`
part of a profile is judged as hpx judges it. Metrics of our own (clean window, one layer, one counter, what only an
emulator knows) are judged in the `harness` part. Selectors name layers and counters that exist only in a given bundle:

    layer[3].cycles                  cycles of the layer in row 3
    layer[*].cycles                  each layer, one verdict a layer
    layer[op=CONV_2D].sum.cycles     over all layers of an operator: sum, max or min
    layer[3].ARM_PMU_INST_RETIRED    one counter of one layer
    counter[ARM_PMU_INST_RETIRED]    one counter over all layers
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from harness.judge.numbers import to_float
from harness.results.dimensions import nested
from harness.results.layers import NOT_COUNTERS
from harness.results.reader import RunArtifacts


class Group(StrEnum):
    """Which metrics a difference between two runs drops together."""

    POWER = "power"
    MEMORY = "memory"
    WINDOW = "window"
    COUNTERS = "counters"
    LAYERS = "layers"


@dataclass(frozen=True)
class Metric:
    """One metric. `hpx` metrics may stand in a profile's `metrics` map, the others in its `harness` part.

    `family` decides repeatability: `size` is always exact, others are as the board descriptor says.
    """

    name: str
    unit: str
    read: Callable[[RunArtifacts], Any]
    smaller_is_better: bool = True
    group: Group | None = None
    hpx: bool = False
    family: str = "size"


@dataclass(frozen=True)
class MetricDiff:
    """One metric of two runs. `delta_pct` is relative to the baseline's magnitude; None where that is zero."""

    name: str
    baseline: Any
    candidate: Any
    delta: float | None = None
    delta_pct: float | None = None
    unit: str = ""
    group: Group | None = None
    lower_is_better: bool = True


def _summary(*path: str) -> Callable[[RunArtifacts], Any]:
    return lambda run: nested(run.summary, path)


def _hpx(name: str, unit: str, *path: str, family: str = "size", larger: bool = False) -> Metric:
    group = Group.POWER if path[0] == "power" else None
    return Metric(name, unit, _summary(*path), not larger, group, True, family)


def _clean(key: str) -> Callable[[RunArtifacts], Any]:
    def read(run: RunArtifacts) -> Any:
        own = nested(run.harness, ("clean_window", key))
        return own if own is not None else nested(run.summary, ("latency", f"device_clean_infer_avg_{key}"))

    return read


def _emulator(key: str) -> Callable[[RunArtifacts], Any]:
    return lambda run: nested(run.harness, ("emulator", key))


_REGISTRY = (
    _hpx("total_cycles", "cycles", "total_cycles", family="counters"),
    _hpx("device_profiled_infer_avg_us", "us", "latency", "device_profiled_infer_avg_us", family="counters"),
    _hpx("device_profiled_infer_total_us", "us", "latency", "device_profiled_infer_total_us", family="counters"),
    _hpx("layers", "", "layers", larger=True),
    _hpx("binary.text", "bytes", "binary", "text"),
    _hpx("binary.data", "bytes", "binary", "data"),
    _hpx("binary.bss", "bytes", "binary", "bss"),
    _hpx("binary.reserved", "bytes", "binary", "reserved"),
    _hpx("binary.total", "bytes", "binary", "total"),
    _hpx("memory.arena_size", "bytes", "memory", "arena_size"),
    _hpx("memory.allocated_arena", "bytes", "memory", "allocated_arena"),
    _hpx("memory.model_size", "bytes", "memory", "model_size"),
    _hpx("power.avg_current_a", "A", "power", "avg_current_a", family="power"),
    _hpx("power.avg_power_w", "W", "power", "avg_power_w", family="power"),
    _hpx("power.peak_current_a", "A", "power", "peak_current_a", family="power"),
    _hpx("power.energy_j", "J", "power", "energy_j", family="power"),
    _hpx("power.duration_s", "s", "power", "capture_duration_s", family="power"),
    _hpx("power.energy_per_inference_j", "J", "power", "energy_per_inference_j", family="power"),
    _hpx("power.inferences_per_joule", "inferences/J", "power", "inferences_per_joule", family="power", larger=True),
    *(
        Metric(f"power.{key}", unit, _summary("power", key), group=Group.POWER, family="power")
        for key, unit in (
            ("energy_per_inference_u95_j", "J"),
            ("charge_per_inference_c", "C"),
            ("duration_per_inference_s", "s"),
            ("median_power_w", "W"),
            ("p95_power_w", "W"),
            ("p99_power_w", "W"),
            ("peak_power_w", "W"),
            ("idle_current_a", "A"),
        )
    ),
    Metric("clean.cycles", "cycles", _clean("cycles"), group=Group.WINDOW, family="window"),
    Metric("clean.us", "us", _clean("us"), group=Group.WINDOW, family="window"),
    Metric(
        "instrumentation_overhead.cycles",
        "cycles",
        lambda run: nested(run.harness, ("instrumentation_overhead", "cycles")),
        group=Group.WINDOW,
        family="window",
    ),
    *(
        Metric(f"emulator.{key}", unit, _emulator(key), group=Group.COUNTERS, family="counters")
        for key, unit in (
            ("instructions", "instructions"),
            ("cycles", "modelled cycles"),
            ("loads", "loads"),
            ("stores", "stores"),
            ("branches", "branches"),
            ("mve_instructions", "instructions"),
            ("l1d_accesses", "accesses"),
            ("l1d_misses", "misses"),
            ("energy_fj", "modelled fJ"),
        )
    ),
)

MODELLED = frozenset({"counters", "window", "power"})
"""Families whose figures on an emulated board follow from its counter model."""

METRICS: Mapping[str, Metric] = MappingProxyType({item.name: item for item in _REGISTRY})
"""All metrics with a fixed name, hpx's first and in its order."""

SELECTORS = (
    ("layer[N].cycles", "cycles", "cycles of the layer in row N"),
    ("layer[*].cycles", "cycles", "each layer, one verdict a layer"),
    ("layer[op=NAME].sum.cycles", "cycles", "sum (or max, min) over all layers of one operator"),
    ("layer[N].COUNTER", "events", "one counter of one layer; [*] and [op=NAME] work too"),
    ("counter[COUNTER]", "events", "one counter summed over all layers"),
    ("power.layer[N].energy_j", "J", "energy of the layer in row N, where layers had windows of their own; [*] works"),
    ("memory_regions.REGION.used", "bytes", "bytes used of one memory region (an hpx metric)"),
    ("memory_regions.REGION.free", "bytes", "bytes free of one memory region (an hpx metric); larger is better"),
)
"""Forms of the metrics that exist only in a given bundle: form, unit, meaning."""

_LAYER = re.compile(
    r"^layer\[(?:(?P<row>\d+)|(?P<all>\*)|op=(?P<op>[^\]]+))\]\.(?:(?P<how>sum|max|min)\.)?(?P<what>.+)$"
)
_POWER_LAYER = re.compile(r"^power\.layer\[(?:(?P<row>\d+)|\*)\]\.energy_j$")
_COUNTER = re.compile(r"^counter\[(?P<name>[^\]]+)\]$")
_REGION_ORDER = ("ITCM", "MRAM", "DTCM", "SRAM")
_REDUCE: Mapping[str, Callable[[Iterable[float]], float]] = {"sum": math.fsum, "max": max, "min": min}


def is_selector(name: str) -> bool:
    """Whether a name selects layers or a counter."""
    if _COUNTER.match(name) or _POWER_LAYER.match(name):
        return True
    layer = _LAYER.match(name)
    return bool(layer and (layer["op"] is None) == (layer["how"] is None))


def counter_unit(name: str) -> str:
    """The unit of a per-layer column."""
    if name == "cycles" or name.endswith("CPU_CYCLES"):
        return "cycles"
    known = METRICS.get(name)
    return known.unit if known is not None else "events"


def selector_unit(name: str) -> str:
    """The unit of what a selector selects."""
    counter, layer = _COUNTER.match(name), _LAYER.match(name)
    if _POWER_LAYER.match(name):
        return "J"
    return counter_unit(counter["name"] if counter else layer["what"] if layer else name)


def resolve(name: str, run: RunArtifacts) -> tuple[Metric, ...]:
    """The metrics a name stands for in one bundle: one for most names, one a layer for `layer[*]`, none if unknown."""
    if name in METRICS:
        return (METRICS[name],)
    counter = _COUNTER.match(name)
    if counter:
        column = counter["name"]
        return (Metric(name, counter_unit(column), _column_sum(column), group=Group.COUNTERS, family="counters"),)
    powered = _POWER_LAYER.match(name)
    if powered:
        rows = range(len(run.layers)) if powered["row"] is None else (int(powered["row"]),)
        return tuple(_layer_energy(row) for row in rows)
    layer = _LAYER.match(name)
    if not layer or not is_selector(name):
        return ()
    what = layer["what"]
    unit = counter_unit(what)
    if layer["op"] is not None:
        reader = _operator(layer["op"], layer["how"], what)
        return (Metric(name, unit, reader, group=Group.LAYERS, family="counters"),)
    rows = range(len(run.layers)) if layer["all"] else (int(layer["row"]),)
    return tuple(
        Metric(f"layer[{row}].{what}", unit, _cell(row, what), group=Group.LAYERS, family="counters") for row in rows
    )


def _layer_energy(row: int) -> Metric:
    def read(run: RunArtifacts) -> Any:
        lines = nested(run.summary, ("power", "layers"))
        found = (item for item in lines or () if isinstance(item, Mapping) and item.get("label") == f"layer {row}")
        return next((item.get("energy_j") for item in found), None)

    return Metric(f"power.layer[{row}].energy_j", "J", read, group=Group.POWER, family="power")


def _value(row: Mapping[str, Any], column: str) -> Any:
    value = row.get(column) if column == "cycles" or column not in NOT_COUNTERS else None
    return None if value == "" else value


def _cell(index: int, column: str) -> Callable[[RunArtifacts], Any]:
    return lambda run: _value(run.layers[index], column) if index < len(run.layers) else None


def _reduced(values: list[Any], how: str) -> float | None:
    numbers = [to_float(value) for value in values]
    known = [number for number in numbers if number is not None]
    return _REDUCE[how](known) if known and len(known) == len(numbers) else None


def _operator(op: str, how: str, column: str) -> Callable[[RunArtifacts], Any]:
    return lambda run: _reduced([_value(row, column) for row in run.layers if row.get("op") == op], how)


def _column_sum(column: str) -> Callable[[RunArtifacts], Any]:
    return lambda run: _reduced([_value(row, column) for row in run.layers], "sum")


def diff(metric: Metric, base: RunArtifacts, cand: RunArtifacts) -> MetricDiff:
    """One metric of two bundles."""
    return make_diff(metric, metric.read(base), metric.read(cand))


def make_diff(metric: Metric, baseline: Any, candidate: Any) -> MetricDiff:
    """One metric of two values as they stand in the bundles."""
    old, new = to_float(baseline), to_float(candidate)
    delta = pct = None
    if old is not None and new is not None:
        delta = new - old
        pct = delta / abs(old) * 100 if old else None
    return MetricDiff(metric.name, baseline, candidate, delta, pct, metric.unit, metric.group, metric.smaller_is_better)


def hpx_metrics(base: RunArtifacts, cand: RunArtifacts, dropped: frozenset[str]) -> tuple[MetricDiff, ...]:
    """hpx's run-level rows in its order, without rows of `dropped` groups and group rows absent on both sides."""
    rows = [diff(metric, base, cand) for metric in _REGISTRY if metric.hpx]
    rows += _region_rows(base, cand)
    if Group.COUNTERS in dropped:
        modelled = {metric.name for metric in _REGISTRY if metric.family in MODELLED}
        rows = [row for row in rows if row.name not in modelled]
    return tuple(
        row
        for row in rows
        if row.group is None or (row.group not in dropped and not (row.baseline is None and row.candidate is None))
    )


def _region_rows(base: RunArtifacts, cand: RunArtifacts) -> list[MetricDiff]:
    old, new = _regions(base), _regions(cand)
    known = old.keys() | new.keys()
    names = [name for name in _REGION_ORDER if name in known] + sorted(known - set(_REGION_ORDER))
    return [
        make_diff(
            Metric(f"memory_regions.{name}.{key}", "bytes", lambda run: None, key == "used", Group.MEMORY, True),
            old.get(name, {}).get(key),
            new.get(name, {}).get(key),
        )
        for name in names
        for key in ("used", "free")
    ]


def _regions(run: RunArtifacts) -> dict[str, Mapping[str, Any]]:
    rows = nested(run.summary, ("memory_regions", "regions"))
    out: dict[str, Mapping[str, Any]] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and row.get("region") is not None:
            out.setdefault(str(row["region"]), row)
    return out


def repeatability(run: RunArtifacts, metric: Metric) -> str:
    """`exact` where repeated runs must give the same number, `noisy` where they scatter or nothing is stated."""
    if metric.family == "size":
        return "exact"
    stated = nested(run.harness, ("repeatability", metric.family))
    return stated if stated in ("exact", "noisy") else "noisy"
