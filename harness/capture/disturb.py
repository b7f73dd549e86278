"""A capture as a noisy bench would have taken it. Only virtual benches make noise; raw frames stay as they came."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.capture.record import Capture, CleanWindow, PassRecord


class Disturbance(Protocol):
    """Factors on the figures of one boot, and the step of the window clock."""

    @property
    def tick(self) -> int: ...
    @property
    def ordinal(self) -> int: ...
    def window(self) -> float: ...
    def layers(self, count: int) -> NDArray[np.float64]: ...
    def energy(self) -> float: ...


def disturbed(capture: Capture, noise: Disturbance) -> Capture:
    """The capture with noise on window, counters and modelled energy; outputs and identities are untouched."""
    count = max((item.samples.shape[1] for item in capture.passes), default=0)
    factors = noise.layers(count) if count else np.ones(0)
    return replace(
        capture,
        clean=_window(capture.clean, noise) if capture.clean is not None else None,
        probe=_window(capture.probe, noise) if capture.probe is not None else None,
        passes=tuple(_pass(item, factors) for item in capture.passes),
        events=(*capture.events, f"the bench added noise: boot {noise.ordinal}"),
    )


def _window(clean: CleanWindow, noise: Disturbance) -> CleanWindow:
    factor, step = noise.window(), noise.tick
    samples = (np.rint(clean.samples.astype(np.float64) * factor / step) * step).astype(np.uint64)
    whole = len(samples) == clean.iterations
    ticks = int(samples.sum(dtype=np.uint64)) if whole else round(clean.ticks * factor / step) * step
    energy = noise.energy()
    observed = {
        name: round(value * (energy if name.endswith("energy_fj") else factor))
        for name, value in clean.observed.items()
    }
    return replace(clean, samples=samples, ticks=ticks, observed=observed)


def _pass(item: PassRecord, factors: NDArray[np.float64]) -> PassRecord:
    scaled = item.samples.astype(np.float64) * factors[np.newaxis, : item.samples.shape[1], np.newaxis]
    return replace(item, samples=np.rint(scaled).astype(np.uint64))
