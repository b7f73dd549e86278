"""How long each phase of a run may take; one table from which the documentation is generated."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.errors import SettingsError


@dataclass(frozen=True)
class Phase:
    """One phase of a run with its default deadline in seconds."""

    name: str
    seconds: float
    meaning: str


PHASES: tuple[Phase, ...] = (
    Phase("build", 600.0, "compile and link the image"),
    Phase("reference", 120.0, "run the model on the host for reference outputs"),
    Phase("lease", 60.0, "get a board, starting an emulated one if need be"),
    Phase("flash", 60.0, "connect, identify, write and read back the image"),
    Phase("boot", 10.0, "from reset to the firmware's hello"),
    Phase("input", 10.0, "send one set of inputs"),
    Phase("window", 120.0, "the clean window"),
    Phase("pass", 120.0, "one instrumented pass, samples included"),
    Phase("power", 60.0, "beyond their planned length, until the last power window has ended"),
    Phase("inference", 30.0, "one inference run for its outputs"),
    Phase("inspect", 60.0, "one inspection pass"),
    Phase("end", 10.0, "the end frame"),
    Phase("release", 10.0, "halt the board and close the probe"),
)


@dataclass(frozen=True)
class Deadlines:
    """Deadlines of all phases in seconds."""

    seconds: dict[str, float]

    def __getitem__(self, phase: str) -> float:
        return self.seconds[phase]

    @classmethod
    def of(cls, overrides: Iterable[str] | dict[str, float] = ()) -> Deadlines:
        """Defaults, changed by a mapping or by `PHASE=SECONDS` texts.

        Raises:
            SettingsError: unknown phase, or a time that is not a positive number.
        """
        seconds = {phase.name: phase.seconds for phase in PHASES}
        pairs = overrides.items() if isinstance(overrides, dict) else (_split(text) for text in overrides)
        for name, value in pairs:
            if name not in seconds:
                near = difflib.get_close_matches(name, seconds, n=1)
                raise SettingsError(
                    f"There is no phase {name!r} to set a deadline for.",
                    why=f"Did you mean {near[0]!r}?" if near else "",
                    todo=f"Phases: {', '.join(seconds)}.",
                )
            seconds[name] = _positive(name, value)
        return cls(seconds)


def _split(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise SettingsError(f"Deadline {text!r} is not of the form PHASE=SECONDS.", todo="For example: boot=5")
    return name.strip(), value.strip()


def _positive(name: str, value: float | str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e6:
        raise SettingsError(f"Deadline {name}={value} is not a positive number of seconds.", todo="For example: boot=5")
    return number
