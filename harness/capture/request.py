"""What a capture is asked for, what the image is expected to be, and how long each part may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

Tensors = tuple[bytes, ...]


@dataclass(frozen=True)
class ExpectedImage:
    """What the build record says of the image; the running firmware must say the same.

    `layer_output_bytes` holds, for each operator in execution order, the sizes of its outputs; `operators` its name
    and its place in the model file.
    """

    build_id: str
    board_type: str
    model_sha256: str
    engine: str
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    layer_output_bytes: tuple[tuple[int, ...], ...]
    cpu_clock_hz: int | None = None
    timing_scope: str | None = None
    lifecycle: str | None = None
    operators: tuple[tuple[str, int], ...] | None = None

    @property
    def op_count(self) -> int:
        """Number of operators."""
        return len(self.layer_output_bytes)


@dataclass(frozen=True)
class WindowRequest:
    """The clean window: `fixed` runs the request's iterations, `auto` as many as fill `target_ms` within the limits.

    `settle_ms` pass between the last word with the host and the window. Probe `busy_loop` times a loop of known length
    in place of inferences.
    """

    mode: Literal["auto", "fixed"] = "auto"
    target_ms: int = 1000
    minimum: int = 10
    maximum: int = 500_000
    settle_ms: int = 0
    probe: Literal["infer", "busy_loop"] = "infer"


@dataclass(frozen=True)
class CaptureRequest:
    """What one boot is to do, in this order: window, instrumented passes, inferences, inspections.

    Attributes:
        inputs: the inputs of the window and the passes, one entry per model input.
        iterations, warmup: of each pass and of a fixed window.
        window: None leaves the clean window out.
        counters: counter groups to `default`, `all`, `none` or names; empty is the default of each group.
        per_layer: whether instrumented passes are run at all.
        inference_inputs: inputs to run for their outputs, in order from a reset state.
        inspect: inputs to run once more, in order from a reset state, with each operator's output sent.
    """

    inputs: Tensors
    iterations: int = 100
    warmup: int = 5
    window: WindowRequest | None = field(default_factory=WindowRequest)
    counters: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    per_layer: bool = True
    inference_inputs: tuple[Tensors, ...] = ()
    inspect: tuple[Tensors, ...] = ()


@dataclass(frozen=True)
class CaptureDeadlines:
    """Seconds that each part may take."""

    boot: float = 10.0
    input: float = 10.0
    window: float = 120.0
    counter_pass: float = 120.0
    inference: float = 30.0
    inspect: float = 60.0
    end: float = 10.0

    @classmethod
    def of(cls, seconds: Mapping[str, float]) -> CaptureDeadlines:
        """From phases by name, as the runner keeps them; `pass` is `counter_pass`, other phases are left aside."""
        known = {item.name for item in fields(cls)}
        named = {("counter_pass" if name == "pass" else name): value for name, value in seconds.items()}
        return cls(**{name: value for name, value in named.items() if name in known})
