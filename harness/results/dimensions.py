"""Every fact in which two runs may differ, declared once: where it is read and what a difference does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Effect(StrEnum):
    """What a difference does to a comparison."""

    BLOCKING = "refuses the comparison"
    POWER = "drops power metrics"
    MEMORY = "drops per-region memory metrics"
    WINDOW = "drops clean-window metrics"
    COUNTERS = "drops every counter and time of an emulated board"
    INFORMATIVE = "is shown"


class Where(StrEnum):
    """Which record of a bundle states a dimension when the manifest does not."""

    METADATA = "run_metadata.json"
    SUMMARY = "summary.json"
    POWER = "summary.json, power"
    MANIFEST = "manifest only"


@dataclass(frozen=True)
class Dimension:
    """One dimension. `manifest` is False where an observed value must not be overridden by the manifest's.

    `scoped_to` names dimensions that must be known and equal before this one is looked at; `one_sided` makes a value
    on one side only a difference too. `label` is set for those of hpx's configuration table.
    """

    name: str
    effect: Effect
    where: Where
    path: tuple[str, ...] = ()
    label: str = ""
    manifest: bool = True
    one_sided: bool = False
    scoped_to: tuple[str, ...] = ()
    text: str = ""


def _shown(name: str, where: Where, path: tuple[str, ...], label: str) -> Dimension:
    return Dimension(name, Effect.INFORMATIVE, where, path, label)


_M, _S, _P, _N = Where.METADATA, Where.SUMMARY, Where.POWER, Where.MANIFEST

_HPX = (
    Dimension("model_sha256", Effect.BLOCKING, _M, ("model", "sha256"), "Model SHA256"),
    _shown("hpx_version", _M, ("hpx_version",), "Producer version"),
    _shown("engine", _M, ("config", "engine", "type"), "Engine"),
    _shown("board", _M, ("config", "target", "board"), "Board"),
    _shown("soc", _M, ("platform", "soc"), "SoC"),
    _shown("cpu_clock", _M, ("platform", "cpu_clock_name"), "CPU clock"),
    _shown("toolchain", _M, ("config", "target", "toolchain"), "Toolchain"),
    _shown("compiler_version", _M, ("toolchain", "compiler_version"), "Compiler version"),
    _shown("system_clock_hz", _M, ("firmware", "system_clock_hz"), "System clock"),
    _shown("run_summary_schema_version", _S, ("schema_version",), "Summary schema"),
    _shown("run_metadata_schema_version", _M, ("schema_version",), "Metadata schema"),
    _shown("transport", _M, ("config", "target", "transport"), "Transport"),
    _shown("arena_location", _M, ("config", "model", "arena_location"), "Arena location"),
    _shown("weights_location", _M, ("config", "model", "weights_location"), "Weights location"),
    _shown("engine_version", _M, ("engine", "version"), "Engine version"),
    _shown("architecture_flags", _N, (), "Architecture flags"),
    Dimension("power_scope", Effect.POWER, _P, ("measurement_scope",)),
    Dimension("power_mode", Effect.POWER, _N),
    Dimension("power_firmware", Effect.POWER, _P, ("power_firmware",)),
    Dimension("power_monitor", Effect.POWER, _P),
    Dimension("power_lockstep", Effect.POWER, _P, ("sync", "lockstep"), manifest=False),
    Dimension("power_clean_window_probe", Effect.POWER, _N),
    Dimension(
        "power_clean_workload", Effect.POWER, _P, ("clean_workload",), manifest=False, one_sided=True,
        text="Power metrics omitted because the clean workload differs or is unknown on one side.",
    ),
    Dimension(
        "power_firmware_fingerprint", Effect.POWER, _P, ("firmware_code_fingerprint",),
        scoped_to=("soc", "board", "power_firmware"),
        text="Power metrics omitted because the code inside the measured window differs.",
    ),
    Dimension("power_integrity", Effect.POWER, _P, ("integrity",)),
    Dimension(
        "link_family", Effect.MEMORY, _M, ("platform", "link_family"), "Link family",
        text="Per-region memory metrics omitted: the two linker families count reserved memory differently.",
    ),
    _shown("engine_backend", _M, ("engine", "backend"), "Engine backend"),
)  # fmt: skip

_OURS = (
    Dimension(
        "source", Effect.BLOCKING, _N,
        text="One side's numbers come from {baseline}, the other's from {candidate}; they are never compared.",
    ),
    Dimension("timing_scope", Effect.WINDOW, _N),
    Dimension("timing_clock", Effect.WINDOW, _N),
    Dimension("timing_statistic", Effect.WINDOW, _N),
    Dimension("lifecycle", Effect.WINDOW, _N),
    Dimension("first_invoke_window", Effect.WINDOW, _N),
    Dimension("counter_model", Effect.COUNTERS, _N),
    Dimension("noise", Effect.COUNTERS, _N, one_sided=True),
    Dimension("power_supply_volts", Effect.POWER, _N),
    Dimension("power_noise", Effect.POWER, _N, one_sided=True),
    _shown("engine_config", _N, (), "Engine configuration"),
    _shown("aggregation", _N, (), "Aggregation"),
    _shown("timed_inputs", _N, (), "Inputs of the measured inferences"),
)  # fmt: skip

DIMENSIONS: Mapping[str, Dimension] = MappingProxyType({item.name: item for item in (*_HPX, *_OURS)})
"""All dimensions, in the order in which differences are reported."""
HPX_DIMENSIONS = frozenset(item.name for item in _HPX)

CONFIG_TABLE: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("model_path", "Model path", ("config", "model", "path")),
    ("model_sha256", "Model SHA256", None),
    ("engine", "Engine", None),
    ("engine_version", "Engine version", None),
    ("backend", "Backend", ("config", "engine", "backend")),
    ("board", "Board", None),
    ("soc", "SoC", None),
    ("toolchain", "Toolchain", None),
    ("link_family", "Link family", None),
    ("transport", "Transport", None),
    ("cpu_clock", "CPU clock", None),
    ("iterations", "Iterations", ("config", "profiling", "iterations")),
    ("warmup", "Warmup", ("config", "profiling", "warmup")),
    ("pmu_counters", "PMU counters", ("config", "profiling", "pmu_counters")),
    ("arena_size", "Arena size", ("config", "model", "arena_size")),
    ("arena_location", "Arena location", None),
    ("weights_location", "Weights location", None),
    ("hpx_version", "Producer version", None),
    ("compiler_version", "Compiler version", None),
    ("system_clock_hz", "System clock", None),
    ("run_metadata_schema_version", "Metadata schema", None),
    ("run_summary_schema_version", "Summary schema", None),
)
"""Rows that a profile's `required_dimensions` may name: key, label, path into run_metadata.json (None: a dimension)."""


def nested(data: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of nested mappings; None when a step is missing or not a mapping."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return None
        data = data[key]
    return data
