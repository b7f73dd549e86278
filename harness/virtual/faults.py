"""Faults that a virtual probe shows on purpose, by name, for tests of the harness."""

from __future__ import annotations

from dataclasses import dataclass

FAULTS = {
    "open-fails": "the probe refuses to be opened",
    "flash-error": "every download ends with error -5",
    "flash-mismatch": "byte `at` of the image changes after the probe's own verification",
    "flash-unplugged": "the probe vanishes once `at` bytes of flash are written",
    "rtt-unplugged": "the probe vanishes once `at` bytes were read through RTT",
    "rtt-flip": "the lowest bit of byte `at` of what is read through RTT is flipped",
}
"""Name -> what happens; `harness/virtual/native/jlink/faults.c` has the same names."""


@dataclass(frozen=True)
class Fault:
    """One fault of a virtual probe.

    Attributes:
        name: a key of `FAULTS`.
        at: the byte at which it happens, counted from 0.
    """

    name: str
    at: int = 0

    def __post_init__(self) -> None:
        if self.name not in FAULTS or not 0 <= self.at < 2**32:
            raise ValueError(f"no fault {self.name!r} at {self.at}; there are {', '.join(FAULTS)}")

    def entry(self) -> str:
        """The value of `fault=` in the registry."""
        return f"{self.name},{self.at}"
