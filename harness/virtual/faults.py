"""Faults of the virtual bench, by name: what each does, what a run on a board that has it must end with.

A fault is asked for in bench.yaml (`faults:`), in the `hil` marker (`faults=[...]`) or through `BoardLease.inject`, as
a mapping or as text: `NAME[@AT][+SECONDS][/RUNS]`, as in `frame-dropped@7`, `stall@7+0.5`, `flash-error/once`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from harness.core.errors import UsageError
from harness.core.suggest import did_you_mean

Place = Literal["probe", "target", "counters", "wire", "host"]
Runs = Literal["always", "once", "every-second"]
RUNS: tuple[Runs, ...] = get_args(Runs)
PASSES = "passes"
"""Stands among the expected endings of a fault that a run survives; the bundle says what happened."""
GRABBED = "probe-grabbed"
"""The one fault at the probe that the J-Link library itself takes no part in."""


@dataclass(frozen=True)
class FaultSpec:
    """One fault of the catalogue.

    Attributes:
        name: by which it is asked for; `native/jlink/faults.c` has the same names of those at the probe and the target.
        text: what happens.
        place: where it strikes: the probe, the target behind it, its counters, the bytes on their way, this host.
        ends: codes of the errors or of the validity issues with which a run may end, or `PASSES`.
        unit: what `at` counts; empty when it has no meaning.
        at: its default.
        seconds: default duration, None where it has no meaning.
        runs: in which runs on the board it strikes, by default.
        limit: seconds after which a run must have ended, when every phase may take three.
        evidence: what tells of it afterwards.
        pmu: whether it needs a core with event counters.
    """

    name: str
    text: str
    place: Place
    ends: tuple[str, ...]
    unit: str = ""
    at: int = 0
    seconds: float | None = None
    runs: Runs = "always"
    limit: float = 20.0
    evidence: str = "failed bundle"
    pmu: bool = False


_PROBE = ("bench.probe_failed",)
_LOSS = ("capture.protocol", "capture.deadline")
_RESTART = ("target.restarted",)
_COMMAND = "command from the host"
_FRAME = "frame from the target"
_READ = "byte read through RTT"
_FLASHED = "byte of the image"
_CYCLE = "modelled cycle after the gate rose"

_SPECS = (
    FaultSpec("open-fails", "the probe refuses to be opened", "probe", _PROBE),
    FaultSpec(GRABBED, "another process has the probe open", "probe", ("bench.board_busy",)),
    FaultSpec("flash-error", "the download ends with error -5", "probe", _PROBE),
    FaultSpec(
        "flash-mismatch",
        "a byte of the image changes after the probe's own verification",
        "probe",
        ("bench.flash_verify",),
        _FLASHED,
        2000,
    ),
    FaultSpec("flash-unplugged", "the probe vanishes in the middle of the download", "probe", _PROBE, _FLASHED, 2000),
    FaultSpec(
        "wrong-image",
        "the download changes nothing, though the probe reads back what was sent: what was there before runs on",
        "probe",
        ("capture.identity_mismatch", "target.lockup", "target.hard_fault"),
    ),
    FaultSpec(
        "wrong-chip",
        "the lowest bit of a byte of an identity register reads inverted",
        "probe",
        ("bench.wrong_board",),
        "address of the byte",
        0xE000_ED01,
    ),
    FaultSpec("rtt-unplugged", "the probe vanishes while frames come in", "probe", _PROBE, _READ, 300),
    FaultSpec("pass-unplugged", "the probe vanishes once a command is out", "probe", _PROBE, _COMMAND, 3),
    FaultSpec("rtt-flip", "a bit of what is read through RTT is inverted", "probe", _LOSS, _READ, 300),
    FaultSpec(
        "rtt-pointers",
        "the read position in the target's control block lies outside its buffer",
        "target",
        ("target.failed",),
        _READ,
        300,
    ),
    FaultSpec(
        "core-hardfault", "the core jumps to where no code may run", "target", ("target.hard_fault",), _COMMAND, 3
    ),
    FaultSpec(
        "core-lockup", "the same, and its fault handlers lie there too", "target", ("target.lockup",), _COMMAND, 3
    ),
    FaultSpec("core-halted", "another debugger halts the core", "target", ("target.failed",), _COMMAND, 3),
    FaultSpec("watchdog-reset", "the board resets", "target", _RESTART, _COMMAND, 3),
    FaultSpec("brown-out", "the board resets, and its RAM has lost what it held", "target", _RESTART, _COMMAND, 3),
    FaultSpec("emulator-killed", "the emulator is killed", "target", ("target.emulator",), _COMMAND, 3),
    FaultSpec(
        "emulator-stopped",
        "the emulator is stopped and does not answer",
        "target",
        ("target.emulator",),
        _COMMAND,
        3,
        limit=30.0,
    ),
    FaultSpec(
        "counter-stuck",
        "the cycle counter never moves",
        "counters",
        ("target.firmware_error",),
        evidence="failed bundle with the firmware's self-test",
    ),
    FaultSpec(
        "clock-stopped",
        "the cycle counter, and the window clock with it, stops",
        "counters",
        ("clean.frozen", "counter.frozen"),
        _CYCLE,
        evidence="invalid bundle",
    ),
    FaultSpec(
        "events-zero",
        "all event counters read zero",
        "counters",
        ("counter.frozen",),
        _CYCLE,
        evidence="invalid bundle",
        pmu=True,
    ),
    FaultSpec("frame-dropped", "a frame is lost", "wire", _LOSS, _FRAME, 7),
    FaultSpec("frame-duplicated", "a frame comes twice", "wire", _LOSS, _FRAME, 7),
    FaultSpec("frame-reordered", "a frame comes after the next one", "wire", _LOSS, _FRAME, 7),
    FaultSpec("frame-truncated", "the second half of a frame is lost", "wire", _LOSS, _FRAME, 7),
    FaultSpec("frame-flipped", "a bit in the middle of a frame is inverted", "wire", _LOSS, _FRAME, 7),
    FaultSpec(
        "stall",
        "half a frame comes, the rest only after a while",
        "wire",
        (PASSES,),
        _FRAME,
        7,
        0.5,
        evidence="an event with the time in the bundle",
    ),
    FaultSpec("wire-dead", "nothing comes any more", "wire", ("capture.deadline",), _FRAME, 7),
    FaultSpec(
        "echo",
        "every byte that the host sends comes back",
        "wire",
        (PASSES,),
        evidence="an event with the count in the bundle",
    ),
    FaultSpec(
        "stale-result",
        "the buffer holds the whole answer of the run before, and the firmware says nothing",
        "wire",
        ("capture.deadline",),
    ),
    FaultSpec(
        "every-second-run",
        "in every second run nothing comes from the target",
        "wire",
        ("capture.deadline",),
        runs="every-second",
    ),
    FaultSpec(
        "disk-full",
        "the disk takes no more than so many bytes of a bundle",
        "host",
        ("bench.host_failed",),
        "byte of the bundle",
        20_000,
        evidence="the error; no bundle, and nothing that looks like one",
    ),
)

FAULTS: Mapping[str, FaultSpec] = MappingProxyType({spec.name: spec for spec in _SPECS})
"""The catalogue by name, in the order of the documentation."""


class FaultError(UsageError):
    """A fault that is to be injected is unknown or has impossible parameters."""

    code = "bench.fault_invalid"


_TEXT = re.compile(r"([a-z-]+)(?:@(0x[0-9a-fA-F]+|[0-9]+))?(?:\+([0-9]+(?:\.[0-9]+)?))?(?:/([a-z-]+))?")


@dataclass(frozen=True)
class Fault:
    """One fault with its parameters; None stands for the catalogue's default.

    Attributes:
        name: a key of `FAULTS`.
        at: where it strikes, counted from 0 in the unit that the catalogue states.
        seconds: how long it lasts.
        runs: in which runs on the board it strikes.

    Raises:
        FaultError: no such fault, or a parameter that it does not have or that is out of range.
    """

    name: str
    at: int | None = None
    seconds: float | None = None
    runs: Runs | None = None

    def __post_init__(self) -> None:
        spec = FAULTS.get(self.name)
        if spec is None:
            raise FaultError(f"There is no fault {self.name!r}.", why=did_you_mean(self.name, FAULTS))
        if self.at is not None and (not spec.unit or not 0 <= self.at < 2**32):
            allowed = f"a number of a {spec.unit}, from 0 to {2**32 - 1}" if spec.unit else "left out"
            raise FaultError(f"Fault {self.name}: at={self.at} must be {allowed}.")
        if self.seconds is not None and (spec.seconds is None or not 0 < self.seconds < 1e6):
            allowed = "above 0" if spec.seconds is not None else "left out"
            raise FaultError(f"Fault {self.name}: seconds={self.seconds} must be {allowed}.")
        if self.runs is not None and self.runs not in RUNS:
            raise FaultError(f"Fault {self.name}: runs={self.runs!r} must be one of {', '.join(RUNS)}.")

    @classmethod
    def of(cls, value: Fault | str | Mapping[str, Any]) -> Fault:
        """From a mapping of the parameters, or from text.

        Raises:
            FaultError: it is neither.
        """
        if isinstance(value, Fault):
            return value
        if isinstance(value, str) and (match := _TEXT.fullmatch(value)):
            name, at, seconds, runs = match.groups()
            return cls.of(
                {
                    "name": name,
                    "at": int(at, 0) if at else None,
                    "seconds": float(seconds) if seconds else None,
                    "runs": runs,
                }
            )
        if isinstance(value, Mapping) and "name" in value and value.keys() <= {"name", "at", "seconds", "runs"}:
            at, seconds = value.get("at"), value.get("seconds")
            whole = at is None or (isinstance(at, int) and not isinstance(at, bool))
            number = seconds is None or (isinstance(seconds, int | float) and not isinstance(seconds, bool))
            if whole and number:
                return cls(**value)
        raise FaultError(
            f"{value!r} is no fault.",
            todo="Use NAME[@AT][+SECONDS][/RUNS], or a mapping with name, at, seconds and runs.",
        )

    @property
    def spec(self) -> FaultSpec:
        """Its entry in the catalogue."""
        return FAULTS[self.name]

    @property
    def where(self) -> int:
        """Where it strikes, the default filled in."""
        return self.spec.at if self.at is None else self.at

    @property
    def duration(self) -> float:
        """How long it lasts in seconds, the default filled in; 0 where it has none."""
        return self.seconds if self.seconds is not None else self.spec.seconds or 0.0

    def strikes(self, run: int) -> bool:
        """Whether it strikes in a run on the board, counted from 1."""
        runs = self.runs or self.spec.runs
        return runs == "always" or (run == 1 if runs == "once" else run % 2 == 0)

    def __str__(self) -> str:
        at = f"@{self.at}" if self.at is not None else ""
        seconds = f"+{self.seconds:g}" if self.seconds is not None else ""
        return f"{self.name}{at}{seconds}{f'/{self.runs}' if self.runs else ''}"


def registry_entries(faults: Iterable[Fault]) -> list[str]:
    """Values of `fault=` in the registry, for those faults that the virtual J-Link carries out."""
    carried = (fault for fault in faults if fault.spec.place in ("probe", "target") and fault.name != GRABBED)
    return [f"{fault.name},{fault.where}" for fault in carried]
