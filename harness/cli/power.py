"""`harness power`: list monitors, capture a waveform, look at one, calibrate a monitor."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.power.monitor import MonitorSettings
    from harness.power.report import PowerReport
    from harness.power.waveform import Waveform

app = typer.Typer(no_args_is_help=True, help="Power monitors and waveforms.")

_MONITOR = typer.Option("ppk2", "--monitor", help="Driver; `harness power list` shows them.")
_ADDRESS = typer.Option(..., "--address", help="Port path, serial number, host:port/device or file.")
_VOLTS = typer.Option(None, "--volts", help="Supply voltage; needed by monitors that measure none.")
_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command("list")
def list_monitors(as_json: bool = _JSON) -> None:
    """List the monitor drivers and the devices they find; opens none."""
    from harness.cli._output import emit_json, emit_table
    from harness.power.monitor import get_driver, monitor_names

    drivers = [get_driver(name) for name in monitor_names()]
    found = [info for driver in drivers for info in driver.find()]
    if as_json:
        emit_json(
            {
                "drivers": [
                    {"name": d.name, "title": d.title, "capabilities": d.capabilities.to_dict()} for d in drivers
                ],
                "devices": [vars(info) for info in found],
            }
        )
        return
    emit_table(
        ("driver", "samples/s", "gates", "source", "hardware", "title"),
        [
            (
                d.name,
                f"{d.capabilities.rate_hz:.0f}" if d.capabilities.rate_hz else "-",
                d.capabilities.logic_inputs,
                "yes" if d.capabilities.source_mode else "no",
                d.capabilities.qualification,
                d.title,
            )
            for d in drivers
        ],
    )
    typer.echo()
    if found:
        emit_table(
            ("driver", "address", "serial", "product"), [(i.driver, i.address, i.serial, i.product) for i in found]
        )
    else:
        typer.echo("No device found.")


@app.command()
def capture(
    out: Path = typer.Argument(..., help="Waveform file to write."),
    monitor: str = _MONITOR,
    address: str = _ADDRESS,
    volts: float | None = _VOLTS,
    mode: str = typer.Option("source", "--mode", help="source: the monitor feeds the target; ampere: it does not."),
    gate: int = typer.Option(0, "--gate", min=0, max=7, help="Logic input of the gate."),
    seconds: float = typer.Option(10.0, "--seconds", min=0.01, help="Longest capture."),
    windows: int = typer.Option(1, "--windows", min=0, help="End after so many windows; 0: capture all seconds."),
    inferences: int = typer.Option(1, "--inferences", min=1, help="Inferences in each window."),
    keep_supply: bool = typer.Option(False, "--keep-supply", help="Leave the target fed afterwards."),
    as_json: bool = _JSON,
) -> None:
    """Record until the gate has fallen often enough, and show the energy of each window."""
    from harness.core.deadline import Deadline
    from harness.core.errors import DeadlineError
    from harness.power.monitor import get_driver
    from harness.power.recording import Recording

    settings = _settings(mode, volts, gate, keep_supply)
    driver = get_driver(monitor)
    with driver.open(address, settings, Deadline(10.0, f"the {monitor} to answer", address)) as device:
        if driver.capabilities.source_mode and mode == "source":
            device.supply(True)
        with Recording(device, out) as recording:
            deadline = Deadline(seconds, "the windows", address)
            # Should it pass, the report says what is missing.
            with suppress(DeadlineError):
                recording.wait_windows(windows or 1 << 62, deadline)
            waveform = recording.finish()
    _show(waveform, windows, inferences, driver.capabilities.ranges, as_json)


@app.command()
def show(
    file: Path = typer.Argument(..., help="Waveform file."),
    windows: int = typer.Option(1, "--windows", min=0, help="Windows that were planned."),
    inferences: int = typer.Option(1, "--inferences", min=1, help="Inferences in each window."),
    as_json: bool = _JSON,
) -> None:
    """Show the windows, energies and faults of a stored waveform."""
    from harness.power.waveform import Waveform

    _show(Waveform(file), windows, inferences, (), as_json)


@app.command()
def calibrate(
    out: Path = typer.Argument(..., help="Waveform file to keep as evidence."),
    monitor: str = _MONITOR,
    address: str = _ADDRESS,
    volts: float = typer.Option(..., "--volts", help="Voltage across the resistor."),
    ohms: float = typer.Option(..., "--ohms", help="The resistor's value."),
    tolerance: float = typer.Option(0.01, "--tolerance", help="Of resistor and voltage together, as 0.01."),
    mode: str = typer.Option("source", "--mode", help="source or ampere."),
    seconds: float = typer.Option(2.0, "--seconds", min=0.1, help="Length of the capture."),
    as_json: bool = _JSON,
) -> None:
    """Measure a known resistor and state how far the monitor may be off."""
    from harness.cli._output import emit_json
    from harness.core.deadline import Deadline
    from harness.power import calibrate as calibration
    from harness.power.monitor import get_driver
    from harness.power.recording import Recording

    driver = get_driver(monitor)
    settings = _settings(mode, volts, 0, False)
    with driver.open(address, settings, Deadline(10.0, f"the {monitor} to answer", address)) as device:
        if driver.capabilities.source_mode and mode == "source":
            device.supply(True)
        with Recording(device, out) as recording:
            wanted = int(seconds * device.header().rate_hz)
            recording.wait_samples(wanted, Deadline(10.0 + 3 * seconds, "samples", address))
            waveform = recording.finish()
    found = calibration.calibrate(waveform, volts=volts, ohms=ohms, tolerance=tolerance)
    if as_json:
        emit_json(found.to_dict())
        return
    typer.echo(f"expected {found.expected_a * 1e3:.4f} mA, measured {found.measured_a * 1e3:.4f} mA")
    typer.echo(f"put into the power settings: accuracy: {{relative: {found.accuracy['relative']:g}, "
               f"basis: \"{found.accuracy['basis']}\"}}")  # fmt: skip


@app.command()
def supply(
    state: str = typer.Argument(..., help="on, off or cycle."),
    monitor: str = _MONITOR,
    address: str = _ADDRESS,
    volts: float | None = typer.Option(None, "--volts", help="Voltage to set; needed for on and cycle."),
) -> None:
    """Feed the target, stop feeding it, or take its supply away for a moment. It stays so afterwards."""
    from harness.core.deadline import Deadline
    from harness.core.errors import UsageError
    from harness.power.monitor import get_driver
    from harness.runner.power import cycle

    if state not in ("on", "off", "cycle"):
        raise UsageError(f"There is no state {state!r}.", todo="Use on, off or cycle.")
    if volts is None and state != "off":
        raise UsageError("A voltage is needed to feed the target.", todo="Add --volts, as in --volts 1.8.")
    mode = "ampere" if volts is None else "source"
    settings = _settings(mode, volts if volts is not None else 1.0, 0, True)
    with get_driver(monitor).open(address, settings, Deadline(10.0, f"the {monitor} to answer", address)) as device:
        if state == "cycle":
            cycle(device)
        else:
            device.supply(state == "on")
    typer.echo(f"supply {'on' if state == 'cycle' else state}" + (f", {volts:g} V" if volts is not None else ""))


def _settings(mode: str, volts: float | None, gate: int, keep_supply: bool) -> MonitorSettings:
    from harness.core.errors import UsageError
    from harness.power.monitor import MonitorSettings

    if mode == "source":
        return MonitorSettings("source", volts, gate, keep_supply=keep_supply)
    if mode == "ampere":
        return MonitorSettings("ampere", volts, gate, keep_supply=keep_supply)
    raise UsageError(f"There is no mode {mode!r}.", todo="Use source or ampere.")


def _show(waveform: Waveform, windows: int, inferences: int, ranges: tuple[float, ...], as_json: bool) -> None:
    from harness.cli._output import emit_json
    from harness.power.gating import GatePlan
    from harness.power.report import analyse

    report = analyse(waveform, GatePlan(windows=windows, inferences=inferences), ranges[-1] if ranges else None)
    if as_json:
        emit_json(report.to_dict())
    else:
        _print(report)
    if windows and not report.per_inference:
        raise typer.Exit(1)


def _print(report: PowerReport) -> None:
    from harness.cli._output import emit_table

    header = report.header
    typer.echo(
        f"{header.monitor} {header.serial}, {header.source}: {report.samples} samples at {header.rate_hz:g} a second"
    )
    if report.idle_a is not None:
        typer.echo(f"floor outside of the windows: {report.idle_a * 1e3:.4f} mA (not subtracted)")
    if report.windows:
        emit_table(
            ("window", "ms", "mean mA", "median", "p95", "p99", "peak", "energy mJ", "+- 95 %"),
            [
                (
                    w.number,
                    f"{w.duration_s * 1e3:.3f}",
                    *(f"{a * 1e3:.3f}" for a in (w.mean_a, w.median_a, w.p95_a, w.p99_a, w.peak_a)),
                    f"{w.energy_j * 1e3:.5f}",
                    f"{w.energy_u95_j * 1e3:.5f}",
                )
                for w in report.windows
            ],
        )
    for line in report.per_inference:
        label = f"{line.label}: " if line.label else ""
        typer.echo(f"{label}{line.energy_j * 1e6:.4f} +- {line.u95_j * 1e6:.4f} uJ per inference ({header.source})")
    if not report.calibrated:
        typer.echo("The monitor is not calibrated: its own error is not in the interval.")
    for issue in report.issues:
        typer.echo(f"{issue.severity}: {issue.message} [{issue.code}]")
    if report.suppressed:
        typer.echo(f"per inference: suppressed because of {', '.join(report.suppressed)}")
