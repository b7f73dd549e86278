"""What a bundle says of the run around a capture: board, engine, model, toolchain, placement.

The one place that knows the field names of plan, build and board records; everything after it works on this record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.frozen import EMPTY, freeze_fields, thaw

VERSION_PREFIX = "harness/"


def producer_version() -> str:
    """What stands as `hpx_version` in our bundles."""
    from harness import __version__

    return VERSION_PREFIX + __version__


@dataclass(frozen=True)
class LayerInfo:
    """What is known of one layer without measuring: execution order, operator, place in the model, MACs."""

    id: int
    op: str
    source_index: int | None = None
    macs: int | None = None


@dataclass(frozen=True)
class RunContext:
    """Facts about one run that the target did not say. Sizes in bytes, rates in hertz."""

    board: str
    core: str
    source: str
    counter_unit: str
    has_mve: bool
    cpu_clock: str
    cpu_clock_hz: int
    engine: str
    engine_version: str
    backend: str
    model_name: str
    model_sha256: str
    model_size: int
    compiler: str
    compiler_version: str
    settings: Mapping[str, Any]
    lifecycle: str
    timing_scope: str
    layers: tuple[LayerInfo, ...]
    engine_config: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    architecture_flags: str = ""
    arena_bytes: int | None = None
    weights_bytes: int | None = None
    input_sizes: tuple[int, ...] = ()
    output_sizes: tuple[int, ...] = ()
    sections: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    regions: tuple[Mapping[str, Any], ...] = ()
    repeatability: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    counter_model: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    identity: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    bench: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    zero_inputs: bool = True
    timed_inputs: str = ""
    plan_record: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    build_record: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        for name in ("settings", "engine_config", "sections", "regions", "repeatability", "counter_model"):
            freeze_fields(self, name)
        freeze_fields(self, "identity", "bench", "plan_record", "build_record")

    @property
    def iterations(self) -> int:
        """Measured inferences a pass."""
        return int(self.settings.get("iterations", 0))

    @property
    def aggregation(self) -> str:
        """How iterations become one figure."""
        return str(self.settings.get("aggregation", "median"))

    @property
    def transport(self) -> str:
        """What carried the bytes."""
        return str(self.settings.get("transport", "rtt"))

    def config(self) -> dict[str, Any]:
        """Settings in the layout that run metadata has: model, engine, target, profiling."""
        get = self.settings.get
        return {
            "model": {
                "path": self.model_name,
                "arena_size": get("arena-size") or self.arena_bytes,
                "arena_location": get("arena-location"),
                "weights_location": get("weights-location"),
            },
            "engine": {"type": self.engine, "backend": self.backend, "config": thaw(self.engine_config)},
            "target": {
                "board": self.board,
                "toolchain": get("toolchain"),
                "transport": self.transport,
                "clock": {"cpu": self.cpu_clock},
            },
            "profiling": {
                "iterations": self.iterations,
                "warmup": get("warmup"),
                "aggregation": self.aggregation,
                "pmu_counters": thaw(get("pmu-counters")),
                "per_layer": get("per-layer", True),
                "window_mode": get("window-mode"),
                "window_target_ms": get("window-target-ms"),
                "window_min": get("window-min"),
                "window_max": get("window-max"),
                "clean_window_probe": get("clean-window-probe"),
                "settle_ms": get("settle-ms"),
            },
            "lifecycle": self.lifecycle,
            "timing_scope": self.timing_scope,
        }


def context_from_records(
    build: Any, plan: Any, board_type: Any, *, bench: Mapping[str, Any] | None = None, zero_inputs: bool = True
) -> RunContext:
    """Take the facts out of a build record, its plan and the board's descriptor.

    Args:
        build: `harness.image.record.Build`.
        plan: `harness.plan.record.Plan`.
        board_type: `harness.board.descriptor.BoardType`.
        bench: serial, probe and transport facts of the lease.
        zero_inputs: whether the measured inferences ran on zero bytes.
    """
    settings = plan.settings
    engine = build.engine
    emulator = board_type.emulator
    return RunContext(
        board=board_type.name,
        core=board_type.core.name,
        source=board_type.source,
        counter_unit=board_type.core.counter_unit,
        has_mve=board_type.core.mve,
        cpu_clock=settings["cpu-clock"],
        cpu_clock_hz=plan.cpu_clock_hz,
        engine=plan.engine,
        engine_version=engine.engine_version,
        backend=settings["backend"],
        model_name=Path(plan.model.path).name,
        model_sha256=plan.model.sha256,
        model_size=plan.model.size_bytes,
        compiler=plan.toolchain.name,
        compiler_version=plan.toolchain.version,
        settings=settings,
        lifecycle=build.lifecycle,
        timing_scope=build.timing_scope,
        layers=tuple(LayerInfo(item.id, item.op, item.source_index, item.macs) for item in engine.layers),
        engine_config=settings["engine-config"],
        architecture_flags=" ".join(sorted(board_type.core.cpuflags)),
        arena_bytes=engine.arena_bytes,
        weights_bytes=engine.weights_bytes,
        input_sizes=tuple(item.nbytes for item in engine.input_tensors),
        output_sizes=tuple(item.nbytes for item in engine.output_tensors),
        sections=_sections(build.elf_facts.memory),
        regions=_regions(build.elf_facts.memory),
        repeatability=_repeatability(board_type, bench or {}),
        counter_model=_counter_model(emulator),
        identity={
            "intent_hash": plan.intent_hash,
            "build_id": build.build_id,
            "image_sha256": build.sha256,
            "kernels_version": getattr(engine, "kernels_version", ""),
        },
        bench=dict(bench or {}),
        zero_inputs=zero_inputs,
        plan_record=plan.to_dict(),
        build_record=_record(build),
    )


def _repeatability(board_type: Any, bench: Mapping[str, Any]) -> dict[str, str]:
    stated = {"counters": board_type.repeatability.counters, "window": board_type.repeatability.window}
    if bench.get("noise"):
        stated = dict.fromkeys(stated, "noisy")
    return {**stated, "size": "exact"}


def _counter_model(emulator: Any) -> dict[str, Any]:
    if emulator is None:
        return {}
    return {"name": "cost-table", "version": emulator.cost_table.version, "basis": emulator.cost_table.basis}


def _sections(memory: Mapping[str, Any]) -> dict[str, int]:
    uses = memory.values()
    sizes = {
        "text": sum(item.text for item in uses),
        "data": sum(item.data for item in uses),
        "bss": sum(item.bss for item in uses),
    }
    return {**sizes, "total": sum(sizes.values())} if memory else {}


def _regions(memory: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"region": name, "used": item.used, "free": item.length - item.used, "length": item.length}
        for name, item in sorted(memory.items())
    )


def _record(build: Any) -> dict[str, Any]:
    to_dict = getattr(build, "to_dict", None)
    return dict(to_dict()) if callable(to_dict) else {}
