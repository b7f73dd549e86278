"""The record of a capture: everything one boot of one image said, decoded and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scope = Literal["invoke_only", "restore_and_invoke"]
Lifecycle = Literal["carry", "single"]

CLEAN_WINDOW = "clean window"
"""What the clean window is called among the things that are unavailable."""


@dataclass(frozen=True)
class LayerInfo:
    """One operator as the image knows it, in execution order; `source_index` is its place in the model file."""

    index: int
    source_index: int
    name: str
    output_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Hello:
    """What the firmware says of itself in answer to the host's nonce."""

    protocol_version: int
    nonce: int
    build_id: str
    board_type: str
    engine: str
    model_sha256: str
    cpu_clock_hz: int
    window_clock: str
    window_clock_hz: int
    counter_unit: Literal["dwt", "armv8m-pmu", "none"]
    counter_slots: int
    observer: bool
    arena_bytes: int
    op_count: int
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    sample_capacity: int
    self_test: Mapping[str, int] = field(default_factory=dict)
    engine_version: str = ""
    scope: Scope = "invoke_only"
    lifecycle: Lifecycle = "carry"
    layers: tuple[LayerInfo, ...] = ()


@dataclass(frozen=True)
class CleanWindow:
    """Inferences back to back without per-layer reads.

    `samples` holds the clock ticks of each inference, shape (kept,), dtype uint64; the firmware keeps as many as its
    memory holds, so `kept` may be less than `iterations`. `ticks` is the sum over all of them.
    `warm_ticks` is the longest warm-up inference, 0 without warm-ups. `outputs_crc32` covers the last one's outputs.
    `observed` holds totals over the window of what only an emulator knows (`emulator.instructions`, ...).
    `settle_ms` were asked to pass between the last word with the host and the window, `settle_ticks` did, by its clock.
    """

    iterations: int
    warmup: int
    ticks: int
    clock: str
    clock_hz: int
    scope: Scope
    lifecycle: Lifecycle
    samples: NDArray[np.uint64]
    observed: Mapping[str, int] = field(default_factory=dict)
    warm_ticks: int = 0
    outputs_crc32: int = 0
    settle_ms: int = 0
    settle_ticks: int = 0


@dataclass(frozen=True)
class PassRecord:
    """Inferences with each layer bracketed by counter reads.

    `samples` has shape (iterations, layers, counters), dtype uint64, in the order of `counters`; the first counter is
    the core's cycle counter. `overflow` has shape (iterations, layers): a counter wrapped inside that layer.
    `wrapped` tells which, in the shape of `samples`, counters of 8 bits that may have wrapped included; None where it
    is not known.
    `segments` is how often sample memory was filled; each began from a defined cache state with its own warm-ups.
    `outputs_crc32` covers the outputs of the last inference.
    """

    name: str
    counters: tuple[str, ...]
    iterations: int
    warmup: int
    samples: NDArray[np.uint64]
    overflow: NDArray[np.bool_]
    segments: int = 1
    outputs_crc32: int = 0
    wrapped: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class LayerOutput:
    """Bytes of one operator's outputs, sent right after it ran in the inspection pass."""

    layer: int
    outputs: tuple[bytes, ...]


@dataclass(frozen=True)
class Inference:
    """One inference run for its outputs: the input bytes that were sent, the output bytes that came back."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


@dataclass(frozen=True)
class Inspection:
    """One inspected inference: its inputs, every operator's outputs in execution order, the model's outputs."""

    inputs: tuple[bytes, ...]
    layers: tuple[LayerOutput, ...]
    outputs: tuple[bytes, ...]


@dataclass(frozen=True)
class Capture:
    """Everything one boot of one image said.

    `unavailable` maps names of counters to the reason why there is no number. `raw` is every byte that came, in order.
    `probe` is the window of a busy loop in place of inferences; then there is no `clean` one.
    `frame_counts` holds the records of the session by kind. `events` tells what was tolerated or worth knowing.
    """

    hello: Hello
    clean: CleanWindow | None
    passes: tuple[PassRecord, ...]
    inferences: tuple[Inference, ...]
    inspections: tuple[Inspection, ...]
    unavailable: Mapping[str, str]
    log: str
    raw: bytes
    frame_counts: Mapping[str, int]
    phase_seconds: Mapping[str, float]
    events: tuple[str, ...] = ()
    probe: CleanWindow | None = None
