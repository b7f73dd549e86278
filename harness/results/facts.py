"""What a run's published result types have no field for: window clock, source, self-test, outputs, rejections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.results.crosscheck import Spread
from harness.results.outputs import OutputsCheck
from harness.results.power import PowerEvidence
from harness.results.types import ProfileResult
from harness.results.wraps import Wrap

CPU_CLOCKS = frozenset({"cpu", "dwt", "cyccnt", "pmu", "dwt_cyccnt"})
"""Window clocks that count cycles of the core itself."""


@dataclass(frozen=True)
class CleanFacts:
    """The clean window as the firmware measured it: inferences back to back, no per-layer reads.

    `ticks` of a clock of `clock_hz` over `count` inferences. `observed` holds an emulator's totals over the window;
    no silicon has them. `zero_samples` counts inferences whose own reading was zero ticks, `partial_samples` those that
    took less than an eighth of a warm one: their clock stood still for a part. `first_invoke_initializer` says whether
    the first inference since boot also runs one-time work; None where the engine does not say. `settle_ticks` of the
    window clock passed between the last word with the host and the window, where `settle_ms` were asked for.
    """

    count: int
    ticks: int
    clock: str
    clock_hz: int
    scope: str
    lifecycle: str
    warmup: int
    workload: str = ""
    observed: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    zero_samples: int = 0
    partial_samples: int = 0
    first_invoke_initializer: bool | None = None
    settle_ms: int = 0
    settle_ticks: int = 0

    def __post_init__(self) -> None:
        freeze_fields(self, "observed")

    @property
    def first_invoke_window(self) -> str:
        """Whether the first inference since boot is a warm-up or is measured."""
        return "warmup" if self.warmup and self.lifecycle == "carry" else "measured"

    @property
    def counts_cycles(self) -> bool:
        """Whether the window clock counts cycles of the core."""
        return self.clock.lower() in CPU_CLOCKS

    @property
    def cycles(self) -> float | None:
        """Mean CPU cycles per inference; None when the clock counts something else or nothing ran."""
        return self.ticks / self.count if self.count and self.counts_cycles else None

    @property
    def us(self) -> float | None:
        """Mean microseconds per inference; None when nothing ran."""
        return self.ticks * 1e6 / self.clock_hz / self.count if self.count and self.clock_hz else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as stored under `extensions.harness.clean_window`."""
        return {
            "count": self.count,
            "ticks": self.ticks,
            "clock": self.clock,
            "clock_hz": self.clock_hz,
            "cycles": self.cycles,
            "us": self.us,
            "timing_scope": self.scope,
            "lifecycle": self.lifecycle,
            "statistic": "mean",
            "instance_boundary": "boot",
            "first_invoke_initializer": self.first_invoke_initializer,
            "first_invoke_window": self.first_invoke_window,
            "stalled_iterations": self.zero_samples,
            "partial_iterations": self.partial_samples,
            "warmup": self.warmup,
            "settle_ms": self.settle_ms,
            "settle_ticks": self.settle_ticks,
            "workload": self.workload,
            "observed": thaw(self.observed),
        }


@dataclass(frozen=True)
class ProbeFacts:
    """A clean window that timed a busy loop of `rounds` rounds in place of each of `count` inferences.

    What the clock tells of it beyond the loop's own length is the clock's fault or the harness's overhead. `ticks` is
    the sum, `least` and `most` are of single loops. `instructions` of the whole window is an emulator's exact count;
    None elsewhere. Ticks are of a clock of `clock_hz`.
    """

    count: int
    ticks: int
    clock: str
    clock_hz: int
    rounds: int
    round_instructions: int
    least: int | None
    most: int | None
    instructions: int | None
    zero_samples: int
    settle_ms: int
    settle_ticks: int
    workload: str = "busy_loop_v1"

    @property
    def overhead_instructions(self) -> float | None:
        """Instructions around each loop: what the harness adds to every inference of a clean window."""
        if self.instructions is None or not self.count:
            return None
        return self.instructions / self.count - self.rounds * self.round_instructions

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as stored under `extensions.harness.window_probe`."""
        loop = self.ticks / self.count if self.count else None
        return {
            "probe": "busy_loop",
            "count": self.count,
            "ticks": self.ticks,
            "clock": self.clock,
            "clock_hz": self.clock_hz,
            "rounds": self.rounds,
            "round_instructions": self.round_instructions,
            "ticks_per_loop": loop,
            "ticks_per_round": loop / self.rounds if loop is not None else None,
            "us_per_loop": loop * 1e6 / self.clock_hz if loop is not None and self.clock_hz else None,
            "least_ticks": self.least,
            "most_ticks": self.most,
            "instructions": self.instructions,
            "overhead_instructions": self.overhead_instructions,
            "stalled_iterations": self.zero_samples,
            "settle_ms": self.settle_ms,
            "settle_ticks": self.settle_ticks,
            "workload": self.workload,
        }


@dataclass(frozen=True)
class RunFacts:
    """Facts of one capture that validity rules and the bundle need.

    `self_test` is what the firmware saw when it made every counter advance and stand still. `unavailable` maps names of
    counters and figures to the reason why they were not measured. `rejected` counts samples left out of aggregation,
    by pass; `spreads` tell how far passes differ over the same layer; `lost_layers` are layers of which no sample was
    left. `failed_attempts` came before the one that succeeded. `wrapped` are counters without a figure in a
    layer, `narrow` those of 8 bits that were read.
    """

    source: str = ""
    clean: CleanFacts | None = None
    self_test: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    rejected: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    lost_layers: tuple[int, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    outputs: OutputsCheck | None = None
    expected_model_sha256: str = ""
    reported_model_sha256: str = ""
    events: tuple[str, ...] = ()
    power: PowerEvidence | None = None
    failed_attempts: tuple[Mapping[str, Any], ...] = ()
    spreads: tuple[Spread, ...] = ()
    probe: ProbeFacts | None = None
    wrapped: tuple[Wrap, ...] = ()
    narrow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_fields(self, "self_test", "rejected", "lost_layers", "unavailable", "events", "failed_attempts")


@dataclass(frozen=True)
class MeasuredResult(ProfileResult):
    """A profile result that this harness measured itself, with the facts that validity rules look at."""

    facts: RunFacts = RunFacts()
