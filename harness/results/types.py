"""Typed results of a run. Names, field order and defaults are those of the published results API.

Records are frozen; sequences are tuples and mappings are read-only views. Counters hold what was measured and nothing
else: a number that was not measured is absent, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.frozen import EMPTY, freeze_fields
from harness.results.manifest import ResultIssue, ResultValidity


@dataclass(frozen=True)
class LayerResult:
    """One layer: aggregated over the iterations, or one iteration of one pass.

    `counters` maps counter names to counts; `cycles` is None where no pass measured cycles.
    """

    id: int | str
    op: str
    counters: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    cycles: float | None = None
    overflow: bool = False

    def __post_init__(self) -> None:
        freeze_fields(self, "counters")


@dataclass(frozen=True)
class PresetResult:
    """What one pass with one set of counters measured."""

    name: str
    header: tuple[str, ...] = ()
    iterations: tuple[tuple[LayerResult, ...], ...] = ()
    layers: tuple[LayerResult, ...] = ()

    def __post_init__(self) -> None:
        freeze_fields(self, "header", "iterations", "layers")


@dataclass(frozen=True)
class FirmwareMeta:
    """What the firmware reported of itself. Sizes in bytes, rates in hertz, times in microseconds."""

    model_size: int | None = None
    arena_size: int | None = None
    allocated_arena: int | None = None
    input_size: int | None = None
    output_size: int | None = None
    num_tensors: int | None = None
    num_inputs: int | None = None
    num_outputs: int | None = None
    num_presets: int | None = None
    system_clock_hz: int | None = None
    profiled_infer_count: int | None = None
    profiled_infer_total_us: int | None = None
    profiled_infer_avg_us: int | None = None
    clean_infer_count: int | None = None
    clean_infer_total_cycles: int | None = None
    clean_infer_avg_cycles: int | None = None
    clean_infer_avg_us: int | None = None
    presets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_fields(self, "presets")


@dataclass(frozen=True)
class PmuResult:
    """All counters of a run: pass by pass, and merged per layer."""

    meta: FirmwareMeta
    presets: Mapping[str, PresetResult] = field(default_factory=lambda: EMPTY)
    layers: tuple[LayerResult, ...] = ()
    overflow_detected: bool = False
    groups: Mapping[str, tuple[LayerResult, ...]] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        freeze_fields(self, "presets", "layers", "groups")


@dataclass(frozen=True)
class PlatformInfo:
    """The board a run was made on. Clock in megahertz."""

    board: str = ""
    soc: str = ""
    core: str = ""
    pmu_tier: str = ""
    has_mve: bool = False
    profiling_backends: tuple[str, ...] = ()
    profiling_domains: tuple[str, ...] = ()
    cpu_clock_name: str = ""
    cpu_clock_mhz: int = 0
    cpu_perf_tier: str = ""
    link_family: str | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, "profiling_backends", "profiling_domains")


@dataclass(frozen=True)
class ModelInfo:
    """The model file of a run."""

    name: str = ""
    size_bytes: int = 0
    sha256: str = ""


@dataclass(frozen=True)
class ToolchainInfo:
    """The tools that built the image."""

    compiler: str = ""
    compiler_version: str = ""
    cmake_version: str = ""


@dataclass(frozen=True)
class TimingInfo:
    """Times the host saw, in seconds. Never an inference time."""

    capture_duration_s: float | None = None
    hpx_start_latency_s: float | None = None
    protocol_duration_s: float | None = None
    phases: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, "phases")


@dataclass(frozen=True)
class MemoryPlan:
    """What a build planned for memory: regions with used and free bytes, and the model's weights."""

    engine: str
    regions: tuple[Mapping[str, Any], ...] = ()
    model_weight_bytes: int = 0
    has_overflow: bool = False

    def __post_init__(self) -> None:
        freeze_fields(self, "regions")


@dataclass(frozen=True)
class RunMetadata:
    """Who, what, when and with which settings."""

    hpx_version: str = ""
    run_id: str = ""
    timestamp: str = ""
    config_snapshot: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    platform: PlatformInfo | None = None
    model: ModelInfo | None = None
    toolchain: ToolchainInfo | None = None
    firmware: FirmwareMeta | None = None
    memory_plan: MemoryPlan | None = None
    timing: TimingInfo | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, "config_snapshot")


@dataclass(frozen=True)
class PowerSample:
    """One reading of a power monitor."""

    timestamp_s: float
    current_a: float
    voltage_v: float

    @property
    def power_w(self) -> float:
        """Power in watts: current times voltage."""
        return self.current_a * self.voltage_v


@dataclass(frozen=True)
class PowerSummary:
    """Totals of one power capture. Amperes, watts, joules, seconds."""

    avg_current_a: float
    avg_power_w: float
    peak_current_a: float
    energy_j: float
    duration_s: float
    sample_count: int
    negative_current_diagnostic: bool = False


@dataclass(frozen=True)
class PowerResult:
    """A complete power capture."""

    summary: PowerSummary
    samples: tuple[PowerSample, ...] = ()
    gated_windows: tuple[Any, ...] = ()
    per_layer: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        freeze_fields(self, "samples", "gated_windows", "per_layer", "metadata")


@dataclass(frozen=True)
class ProfileResult:
    """Everything one measured run gave: counters, power where measured, metadata, and where its files are."""

    pmu: PmuResult
    power: PowerResult | None = None
    power_observation: Any | None = None
    power_terminal: Any | None = None
    on_device_power: Any | None = None
    metadata: RunMetadata = RunMetadata()
    report_paths: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "report_paths", tuple(self.report_paths))

    @property
    def layers(self) -> tuple[LayerResult, ...]:
        """Per-layer results merged over all passes, in execution order."""
        return self.pmu.layers

    @property
    def total_cycles(self) -> float:
        """Sum of the layers' cycles, the counter reads around each layer included; 0.0 where none has cycles."""
        return float(sum(layer.cycles for layer in self.pmu.layers if layer.cycles is not None))


@dataclass(frozen=True)
class RunEvaluation:
    """Whether a run's measurements count, and every issue found."""

    validity: ResultValidity
    issues: tuple[ResultIssue, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "issues", tuple(self.issues))
