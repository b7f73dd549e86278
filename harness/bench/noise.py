"""Seeded noise for the virtual bench, to test how noisy boards are judged. Bundles say so.

In bench.yaml:

    noise:
      seed: 7
      window_pct: 1                       # sd of the clean window's clock, in percent of the true time
      counters_pct: 1                     # sd of the counters of each layer and boot
      energy_pct: 1                       # sd of the modelled energy, and of that of each window under a power monitor
      tails: normal                       # or student3, cauchy
      outliers: {share: 0.05, sd: 10}     # that share of the draws scatters with so many sd
      modes: {share: 0.2, sd: 5}          # that share of the draws lies so many sd higher
      drift: {sd: 3, boots: 60}           # slow rise shared by all figures, over so many boots
      walk_sd: 0.5                        # random walk shared by all figures, sd a boot
      tick: 16                            # the window clock counts in steps of so many ticks

Every draw follows from the seed and the ordinal of the boot within its lease. All layers and the window are drawn
independently; drift and walk are common to them, as a warming board's would be.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from harness.core.strict_json import canonical

Floats = NDArray[np.float64]
Share = Annotated[float, Field(ge=0, le=1)]
Spread = Annotated[float, Field(ge=0, le=1000)]
_LEAST = 0.01
"""A factor never falls below this: no time is negative."""
MOST_BOOTS = 1000
"""A random walk takes one step a boot, all of them again at each boot."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Outliers(_Record):
    """A share of draws with another standard deviation."""

    share: Share = 0.0
    sd: Spread = 10.0


class Modes(_Record):
    """A share of draws that lies higher."""

    share: Share = 0.0
    sd: Spread = 5.0


class Drift(_Record):
    """A linear rise by `sd` standard deviations over `boots` boots, going on after them."""

    sd: Annotated[float, Field(ge=-1000, le=1000)] = 0.0
    boots: Annotated[int, Field(ge=1, le=MOST_BOOTS)] = 60


class NoiseSettings(_Record):
    """The `noise` section of bench.yaml."""

    seed: Annotated[int, Field(ge=0, lt=2**63)]
    window_pct: Annotated[float, Field(ge=0, le=50)] = 0.0
    counters_pct: Annotated[float, Field(ge=0, le=50)] = 0.0
    energy_pct: Annotated[float, Field(ge=0, le=50)] = 0.0
    tails: Literal["normal", "student3", "cauchy"] = "normal"
    outliers: Outliers = Outliers()
    modes: Modes = Modes()
    drift: Drift = Drift()
    walk_sd: Spread = 0.0
    tick: Annotated[int, Field(ge=1, lt=2**32)] = 1
    first_boot: Annotated[int, Field(ge=0, le=MOST_BOOTS)] = 0

    @property
    def text(self) -> str:
        """What stands in a bundle: every setting that a comparison must agree on."""
        return canonical(self.model_dump(exclude={"first_boot"})).decode()


class BootNoise:
    """The noise of one boot."""

    def __init__(self, settings: NoiseSettings, ordinal: int) -> None:
        self.settings = settings
        self.ordinal = ordinal

    @property
    def tick(self) -> int:
        """Step of the window clock."""
        return self.settings.tick

    def window(self) -> float:
        """Factor on the clean window's time."""
        return float(self._factors(1, self.settings.window_pct, 1)[0])

    def layers(self, count: int) -> Floats:
        """Factor on the counters of each of `count` layers."""
        return self._factors(2, self.settings.counters_pct, count)

    def energy(self) -> float:
        """Factor on the modelled energy."""
        return float(self._factors(3, self.settings.energy_pct, 1)[0])

    def _factors(self, stream: int, percent: float, count: int) -> Floats:
        draws = self._draws(np.random.default_rng([self.settings.seed, self.ordinal, stream]), count)
        return np.maximum(1.0 + percent / 100.0 * (draws + self._common()), _LEAST)

    def _draws(self, rng: np.random.Generator, count: int) -> Floats:
        settings = self.settings
        if settings.tails == "normal":
            values = rng.standard_normal(count)
        elif settings.tails == "student3":
            values = rng.standard_t(3, count) / np.sqrt(3)
        else:
            values = rng.standard_cauchy(count)
        values = np.where(rng.random(count) < settings.outliers.share, values * settings.outliers.sd, values)
        return np.asarray(values + np.where(rng.random(count) < settings.modes.share, settings.modes.sd, 0.0))

    def _common(self) -> float:
        settings = self.settings
        common = settings.drift.sd * self.ordinal / settings.drift.boots
        if settings.walk_sd:
            steps = [
                np.random.default_rng([settings.seed, boot, 0]).standard_normal() for boot in range(self.ordinal + 1)
            ]
            common += settings.walk_sd * float(np.sum(steps))
        return common


def energy_factors(settings: NoiseSettings, windows: int) -> tuple[float, ...]:
    """Factors on the energy of successive windows under a power monitor; none when energy has no noise."""
    if not settings.energy_pct:
        return ()
    return tuple(BootNoise(settings, settings.first_boot + number).energy() for number in range(windows))


class NoiseSource:
    """Noise of the boots of one lease, in order."""

    def __init__(self, settings: NoiseSettings) -> None:
        self.settings = settings
        self._next = settings.first_boot

    @property
    def text(self) -> str:
        """What stands in a bundle."""
        return self.settings.text

    def boot(self) -> BootNoise:
        """The noise of the next boot."""
        self._next += 1
        return BootNoise(self.settings, self._next - 1)
