"""Synthetic captures and bundles: what a board would have said, with any figure changed at will."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.capture.record import Capture, CleanWindow, Hello, PassRecord
from harness.results.assemble import Assembled, assemble_context
from harness.results.bundle import publish
from harness.results.context import LayerInfo, RunContext
from harness.results.outputs import LayerCheck, OutputsCheck

MODEL_SHA = "ab" * 32
OPS = ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "FULLY_CONNECTED", "SOFTMAX")
CYCLES = (5000, 3000, 2500, 2000, 500)
SELF_TEST = {
    "cycles_present": 1,
    "cycles_advance": 4000,
    "cycles_frozen": 1,
    "event_slots": 8,
    "event_advance": 4000,
    "event_frozen": 1,
    "observer_count": 9,
    "observer_advance": 4000,
    "empty_bracket_cycles": 12,
}


def make_context(**changes: Any) -> RunContext:
    """Facts around a run on an emulated board."""
    layers = changes.pop("layers", tuple(LayerInfo(i, op, i, 100 * (i + 1)) for i, op in enumerate(OPS)))
    base = RunContext(
        board="mps3_an547",
        core="cortex-m55",
        source="emulated",
        counter_unit="armv8m-pmu",
        has_mve=True,
        cpu_clock="nominal",
        cpu_clock_hz=25_000_000,
        engine="aot",
        engine_version="1",
        backend="portable",
        model_name="digits.tflite",
        model_sha256=MODEL_SHA,
        model_size=9000,
        compiler="arm-none-eabi-gcc",
        compiler_version="12.2.1",
        settings={
            "iterations": 3,
            "warmup": 1,
            "aggregation": "median",
            "transport": "rtt",
            "toolchain": "gcc",
            "arena-size": None,
            "arena-location": "ram",
            "weights-location": "code",
            "pmu-counters": {"cpu": "default"},
            "window-mode": "auto",
        },
        lifecycle="carry",
        timing_scope="invoke_only",
        layers=layers,
        architecture_flags="-mcpu=cortex-m55 -mthumb",
        arena_bytes=16384,
        weights_bytes=4000,
        sections={"text": 40000, "data": 100, "bss": 20000, "total": 60100},
        regions=({"region": "code", "used": 40100, "free": 484188}, {"region": "ram", "used": 20100, "free": 487804}),
        repeatability={"counters": "exact", "window": "exact", "size": "exact"},
        counter_model={"name": "cost-table", "version": "1", "basis": "for tests"},
        identity={"intent_hash": "harness.intent/1:sha256:" + "0" * 64, "build_id": "0" * 32},
        plan_record={"schema": "harness.frozen-run", "schema_version": 1},
        build_record={"schema": "harness.compiled-build", "schema_version": 1},
    )
    return replace(base, **changes)


def make_capture(
    cycles: Sequence[int] = CYCLES,
    *,
    iterations: int = 3,
    clean_cycles: int | None = None,
    window: int = 10,
    counters: Mapping[str, Sequence[int]] | None = None,
    overflow_layer: int | None = None,
    scope: Any = "invoke_only",
    **changes: Any,
) -> Capture:
    """A capture of one pass (cycles and the given counters) and a clean window."""
    extra = dict(counters or {"ARM_PMU_INST_RETIRED": [value // 2 for value in cycles]})
    names = ("ARM_PMU_CPU_CYCLES", *extra)
    row = np.array([list(cycles), *(list(values) for values in extra.values())], dtype=np.uint64).T
    samples = np.repeat(row[np.newaxis], iterations, axis=0)
    overflow = np.zeros(samples.shape[:2], dtype=bool)
    if overflow_layer is not None:
        overflow[0, overflow_layer] = True
    per_inference = clean_cycles if clean_cycles is not None else max(sum(cycles) - 10 * len(cycles), 0)
    clean = CleanWindow(
        iterations=window,
        warmup=1,
        ticks=per_inference * window,
        clock="cpu",
        clock_hz=25_000_000,
        scope=scope,
        lifecycle="carry",
        samples=np.full(window, per_inference, dtype=np.uint64),
        observed={"emulator.instructions": per_inference * window // 2, "emulator.loads": 100 * window},
    )
    hello = Hello(
        protocol_version=1,
        nonce=1,
        build_id="0" * 32,
        board_type="mps3_an547",
        engine="aot",
        model_sha256=MODEL_SHA,
        cpu_clock_hz=25_000_000,
        window_clock="cpu",
        window_clock_hz=25_000_000,
        counter_unit="armv8m-pmu",
        counter_slots=8,
        observer=True,
        arena_bytes=12000,
        op_count=len(cycles),
        input_bytes=(64,),
        output_bytes=(10,),
        sample_capacity=1000,
        self_test=SELF_TEST,
    )
    capture = Capture(
        hello=hello,
        clean=clean,
        passes=(PassRecord("cpu_0", names, iterations, 1, samples, overflow),),
        inferences=(),
        inspections=(),
        unavailable={},
        log="hello from the target\n",
        raw=bytes(range(256)) * 4,
        frame_counts={"hello": 1, "end": 1},
        phase_seconds={"hello": 0.1, "clean": 0.5, "passes": 0.4},
    )
    return replace(capture, **changes)


def good_outputs() -> OutputsCheck:
    """Outputs that match over 20 inferences."""
    return OutputsCheck(match=True, reference={"package": "tflite-micro"}, inferences=20, inspected=5)


def bad_outputs(layer: int = 1) -> OutputsCheck:
    """One byte of one layer differs."""
    check = LayerCheck(layer, OPS[layer], 640, 1, 0)
    return OutputsCheck(match=False, reference={"package": "tflite-micro"}, inferences=20, inspected=5, layers=(check,))


def make_run(
    capture: Capture | None = None, context: RunContext | None = None, *, run_id: str = "run-1", **more: Any
) -> Assembled:
    """A run assembled from a capture and its context, with a fixed time."""
    more.setdefault("outputs_check", good_outputs())
    return assemble_context(
        capture or make_capture(),
        context or make_context(),
        run_id=run_id,
        timestamp="2026-01-01T00:00:00.000Z",
        **more,
    )


def make_bundle(where: Path, capture: Capture | None = None, context: RunContext | None = None, **more: Any) -> Path:
    """A published bundle."""
    return publish(where, make_run(capture, context, run_id=more.pop("run_id", where.name), **more).content)
