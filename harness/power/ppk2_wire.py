"""The Nordic PPK2 as its serial port speaks: commands, metadata text, bits of a sample word."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.power.errors import MonitorError

SAMPLE_RATE_HZ = 100_000
RANGES = 5
WORD = np.dtype("<u4")

CODE_BITS = 14
KEY_MASK = 0x1FFFF
"""ADC code and range together: all that a sample's current depends on."""
RANGE_SHIFT = 14
RANGE_MASK = 0x7 << RANGE_SHIFT
COUNTER_SHIFT = 18
COUNTER_MASK = 0x3F
LOGIC_SHIFT = 24
CODE_MAX = (1 << CODE_BITS) - 1

ADC_VOLTS = 1.8 / 163840
"""Volts of one unit of the scaled ADC code, which is 4 times the 14-bit code of a word."""
ADC_SCALE = 4


class Command:
    """Opcodes; arguments follow as raw bytes."""

    START = b"\x06"
    STOP = b"\x07"
    DEVICE_POWER = b"\x0c"
    REGULATOR = b"\x0d"
    MODE = b"\x11"
    METADATA = b"\x19"
    RESET = b"\x20"

    MODE_AMPERE = MODE + b"\x01"
    MODE_SOURCE = MODE + b"\x02"


VDD_LOW_MV = 800
VDD_HIGH_MV = 5000


def regulator_command(millivolts: int) -> bytes:
    """The command that sets the regulator; the value is clamped to what the device can do."""
    steps = min(max(millivolts, VDD_LOW_MV), VDD_HIGH_MV) - VDD_LOW_MV + 32
    return Command.REGULATOR + bytes((3 + steps // 256, steps % 256))


_DEFAULTS: dict[str, tuple[float, ...]] = {
    "R": (1031.64, 101.65, 10.15, 0.94, 0.043),
    "GS": (1.0,) * RANGES,
    "GI": (1.0,) * RANGES,
    "O": (0.0,) * RANGES,
    "S": (0.0,) * RANGES,
    "I": (0.0,) * RANGES,
    "UG": (1.0,) * RANGES,
}


@dataclass(frozen=True)
class Calibration:
    """What the device says of itself: shunts in ohms and correction terms, one value a range."""

    r: tuple[float, ...] = _DEFAULTS["R"]
    gs: tuple[float, ...] = _DEFAULTS["GS"]
    gi: tuple[float, ...] = _DEFAULTS["GI"]
    o: tuple[float, ...] = _DEFAULTS["O"]
    s: tuple[float, ...] = _DEFAULTS["S"]
    i: tuple[float, ...] = _DEFAULTS["I"]
    ug: tuple[float, ...] = _DEFAULTS["UG"]
    calibrated: bool = False
    hardware: str = ""
    serial: str = ""

    def amperes(self, vdd_volts: float) -> NDArray[np.float64]:
        """Current of every possible key (code and range), shape (131072,), amperes."""
        key = np.arange(KEY_MASK + 1)
        rng = np.minimum(key >> RANGE_SHIFT, RANGES - 1)
        adc = ((key & CODE_MAX) * ADC_SCALE).astype(np.float64)
        r, gs, gi, o, s, i, ug = (
            np.asarray(terms, np.float64)[rng] for terms in (self.r, self.gs, self.gi, self.o, self.s, self.i, self.ug)
        )
        # Whether what comes out can be, the reader of a stored calibration asks.
        with np.errstate(over="ignore", invalid="ignore"):
            g = (adc - o) * (ADC_VOLTS / r)
            amperes: NDArray[np.float64] = ug * (g * (gs * g + gi) + (s * vdd_volts + i))
        return amperes

    def to_dict(self) -> dict[str, object]:
        """JSON-ready form; `from_dict` reverses it."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}

    @classmethod
    def from_dict(cls, value: dict[str, object]) -> Calibration:
        """A calibration from its JSON form.

        Raises:
            MonitorError: keys or lengths are wrong, or a shunt is not positive.
        """
        try:
            made = cls(**{n: tuple(float(x) for x in v) if isinstance(v, list) else v for n, v in value.items()})  # type: ignore[arg-type]
            terms = (made.r, made.gs, made.gi, made.o, made.s, made.i, made.ug)
            good = all(len(t) == RANGES and all(map(math.isfinite, t)) for t in terms) and min(made.r) > 0
            good = good and (type(made.calibrated), type(made.hardware), type(made.serial)) == (bool, str, str)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise MonitorError("A stored PPK2 calibration cannot be used.", todo="The waveform was edited or damaged.")
        return made


END = b"END"
_LABELS = {"R": "r", "GS": "gs", "GI": "gi", "O": "o", "S": "s", "I": "i", "UG": "ug"}


def parse_metadata(text: str) -> Calibration:
    """The calibration in a metadata answer: `Key: value` lines up to `END`.

    Unknown keys are skipped. A value that is not a number, and a zero shunt, keep the default.

    Raises:
        MonitorError: not one known key in it, so it is not metadata.
    """
    terms = {name: list(values) for name, values in _DEFAULTS.items()}
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or not key:
            continue
        facts[key] = value
        name, index = key.rstrip("0123456789"), key.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if name not in terms or not index.isdigit() or int(index) >= RANGES:
            continue
        number = _number(value)
        if number is None or (name == "R" and number <= 0):
            continue
        terms[name][int(index)] = number
    if not facts.keys() & {"Calibrated", "R0", "HW", "IA", "GS0", "O0"}:
        raise MonitorError(
            "The PPK2 answered the metadata request with something else.",
            why=f"It sent {text[:60]!r}.",
            todo="Unplug the device, plug it in again and retry.",
        )
    return Calibration(
        **{_LABELS[name]: tuple(values) for name, values in terms.items()},  # type: ignore[arg-type]
        calibrated=facts.get("Calibrated", "0") not in ("", "0"),
        hardware=facts.get("HW", ""),
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
