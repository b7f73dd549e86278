"""`harness doctor`: what this host can do, and whether a probe answers every call of a run."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer()


@app.command()
def doctor(
    probe: int | None = typer.Option(
        None, "--probe", help="Also run the whole call sequence on the board of this serial."
    ),
    image: Path | None = typer.Option(None, "--image", help="With --probe: an ELF image to flash, boot and listen to."),
    bench: Path | None = typer.Option(
        None, "--bench", help="Bench file; default: bench.yaml here, else emulated boards."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check emulator, compilers, permissions and disk space. Exits 6 when something that runs need is missing."""
    from harness import __version__
    from harness.bench.doctor import host_checks
    from harness.bench.exercise import exercise
    from harness.bench.inventory import load_bench
    from harness.bench.provider import LeaseRequest
    from harness.cli._output import emit_json, emit_table
    from harness.core.deadline import Deadline
    from harness.core.errors import UsageError

    if image is not None and probe is None:
        raise UsageError("--image needs --probe.", todo="Name the serial of the probe to flash it with.")
    checks = host_checks()
    steps = None
    if probe is not None:
        deadline = Deadline(30.0, "a free board", f"serial {probe}")
        with load_bench(bench).lease(LeaseRequest(serial=probe, holder="harness doctor"), deadline) as lease:
            steps = exercise(lease, image)
    missing = any(check.level == "missing" for check in checks)
    failed = steps is not None and not all(step.ok for step in steps)
    if as_json:
        emit_json(
            {
                "version": __version__,
                "ok": not missing and not failed,
                "checks": [check.to_dict() for check in checks],
                "probe": None if steps is None else {"serial": probe, "steps": [step.to_dict() for step in steps]},
            }
        )
    else:
        emit_table(("check", "state", "found"), [(check.name, check.level, check.found) for check in checks])
        for check in checks:
            if check.level != "ok" and check.todo:
                typer.echo(f"{check.name}: {check.todo}")
        if steps is not None:
            typer.echo(f"\nProbe {probe}, with harness {__version__}; please report these lines when a step fails:")
            emit_table(
                ("step", "result", "ms", "found"),
                [(s.name, "ok" if s.ok else "FAILED", f"{s.milliseconds:.1f}", s.found) for s in steps],
            )
    if missing or failed:
        raise typer.Exit(6)
