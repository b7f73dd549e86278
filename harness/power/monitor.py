"""What a power monitor is, and which ones there are.

A driver finds devices and opens one; an open monitor writes its samples into a waveform while a recording runs. A third
party adds a driver with an entry point in the group `harness.power_monitors` whose name is the driver's and whose value
is the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, Protocol

from harness.core.deadline import Deadline
from harness.core.suggest import did_you_mean
from harness.power.errors import MonitorError
from harness.power.waveform import Gap, Header, WaveformWriter

ENTRY_POINTS = "harness.power_monitors"

MONITORS: dict[str, str] = {
    "ppk2": "harness.power.ppk2:Ppk2Driver",
    "joulescope": "harness.power.joulescope:JoulescopeDriver",
    "otii": "harness.power.otii:OtiiDriver",
    "replay": "harness.power.replay:ReplayDriver",
}
"""Name -> class. A monitor is one file and one line here."""

ALIASES: dict[str, str] = {"js110": "joulescope", "js220": "joulescope", "js320": "joulescope"}

Delivery = Literal["samples", "statistics", "integral"]
Qualification = Literal["verified", "unverified", "emulated", "no device"]


@dataclass(frozen=True)
class Capabilities:
    """What a monitor can do.

    `rate_hz` is that of full-rate samples; `ranges` their full scales in amperes, empty when it has one or does not
    say. `clock` tells what counts samples: the monitor's own counter, or only the host's clock.
    """

    rate_hz: float
    ranges: tuple[float, ...] = ()
    logic_inputs: int = 0
    source_mode: bool = False
    volts: tuple[float, float] | None = None
    measures_volts: bool = False
    statistics: bool = False
    delivers: Delivery = "samples"
    clock: Literal["counter", "host"] = "counter"
    qualification: Qualification = "unverified"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}


@dataclass(frozen=True)
class MonitorInfo:
    """A device that could be opened."""

    driver: str
    address: str
    serial: str
    product: str


@dataclass(frozen=True)
class MonitorSettings:
    """How a monitor is to be used.

    `mode` source: it feeds the target with `volts`; ampere: the target is fed elsewhere, with `volts`, which a monitor
    that measures no voltage needs for energy. `source` labels the numbers. `keep_supply` leaves the target fed after
    the monitor is closed.
    """

    mode: Literal["source", "ampere"] = "source"
    volts: float | None = None
    gate_line: int = 0
    source: str = "silicon"
    keep_supply: bool = False
    rate_hz: float | None = None
    accuracy: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """What a monitor knows of a recording that only its end tells."""

    gaps: tuple[Gap, ...] = ()
    gone: str = ""
    notes: tuple[str, ...] = ()


class Monitor(Protocol):
    """An open monitor. Not for use from several threads at once."""

    capabilities: Capabilities

    def __enter__(self) -> Monitor:
        """Itself; leaving the context closes it."""

    def __exit__(self, *unused: object) -> None: ...

    def header(self) -> Header:
        """What the next waveform is of."""

    def start(self) -> None:
        """Begin to measure; what was measured before is forgotten."""

    def pump(self, writer: WaveformWriter, seconds: float) -> int:
        """Wait at most so long for samples and write what came; the number of samples.

        Raises:
            MonitorGoneError: it will not send any more.
        """

    def stop(self, writer: WaveformWriter) -> Ending:
        """End the measurement and write what is left."""

    def supply(self, on: bool) -> None:
        """Feed the target or stop feeding it; `MonitorError` without source mode."""

    def set_volts(self, volts: float) -> None:
        """Set the supply voltage; `MonitorError` without source mode or out of range."""

    def close(self) -> None:
        """Give the device back. Unless `keep_supply` was set the target is without supply afterwards. Idempotent."""


class MonitorDriver(Protocol):
    """Finds and opens monitors of one kind. Made without arguments; making one imports nothing heavy."""

    name: str
    title: str
    capabilities: Capabilities

    def find(self) -> tuple[MonitorInfo, ...]:
        """Devices on this host; opens none, and is empty when the driver's library is missing."""

    def open(self, address: str, settings: MonitorSettings, deadline: Deadline) -> Monitor:
        """Open the device at an address.

        Raises:
            MonitorError: not there, in use, or not what it claims to be; or an optional library is missing.
        """


def monitor_names() -> tuple[str, ...]:
    """All drivers, built in and from entry points, in order."""
    return tuple(sorted({*MONITORS, *(point.name for point in entry_points(group=ENTRY_POINTS))}))


def get_driver(name: str) -> MonitorDriver:
    """The driver of a name.

    Raises:
        MonitorError: unknown, or a third party's driver that cannot be imported.
    """
    wanted = ALIASES.get(name, name)
    target = MONITORS.get(wanted)
    if target is not None:
        module, _, attribute = target.partition(":")
        driver: MonitorDriver = getattr(import_module(module), attribute)()
        return driver
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == wanted:
            try:
                made: MonitorDriver = point.load()()
            except Exception as error:
                raise MonitorError(
                    f"The power monitor driver {name!r} cannot be loaded.",
                    why=f"{point.value}: {error}",
                    todo="Update or remove the package that registers it.",
                ) from error
            return made
    known = (*monitor_names(), *ALIASES)
    raise MonitorError(
        f"There is no power monitor {name!r}.",
        why=did_you_mean(name, known),
        todo="Use one of these, or install the package that brings it.",
    )


def missing_library(driver: str, package: str, extra: str, error: Exception) -> MonitorError:
    """The error of an optional library that is not installed."""
    return MonitorError(
        f"The {driver} driver needs the package {package}.",
        why=str(error),
        todo=f"Install it with: pip install 'harness-hil[{extra}]'.",
    )


def no_source_mode(name: str) -> MonitorError:
    """The error of a supply command to a monitor that feeds nothing."""
    return MonitorError(
        f"{name} cannot feed the target.",
        why="It has no source mode, or it is used in ampere mode.",
        todo="Use mode source on a monitor that has it, or switch the supply elsewhere.",
    )


def prepared_path(path: Path) -> Path:
    """The path of a new waveform; its folder exists afterwards.

    Raises:
        MonitorError: it exists already.
    """
    if path.exists():
        raise MonitorError(f"{path.name} exists already.", why=str(path), todo="Choose another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
