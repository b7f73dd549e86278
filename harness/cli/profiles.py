"""`harness profiles new|list|check`: comparison profiles."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Comparison profiles: write, list, check.")


@app.command()
def new(
    bundle: Path = typer.Argument(help="A bundle's directory."),
    out: Path | None = typer.Option(None, "-o", "--out", help="File to write; must not exist. Without it, print."),
    name: str = typer.Option("ci", "--name", help="The profile's name."),
) -> None:
    """Write a profile from a bundle: exact figures may not get worse, noisy ones and sizes by a little."""
    from harness.core.errors import UsageError
    from harness.core.files import atomic_write
    from harness.judge.profile_new import new_profile
    from harness.results.reader import read_bundle

    text = new_profile(read_bundle(bundle), name)
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise UsageError(f"There is something at {out} already.", todo="Name another file.")
    atomic_write(out, text)
    typer.echo(f"written: {out}")


@app.command("list")
def list_(json_: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the shipped profiles."""
    from harness.cli._output import emit_json, emit_table
    from harness.core.resources import data_dir
    from harness.judge.profile import ComparisonProfile

    loaded = [(path, ComparisonProfile.load(path)) for path in sorted(data_dir("profiles").glob("*.yml"))]
    entries = [
        {
            "name": path.stem,
            "path": str(path),
            "sha256": profile.sha256,
            "metrics": [*profile.metrics, *(profile.harness.metrics if profile.harness is not None else ())],
        }
        for path, profile in loaded
    ]
    if json_:
        emit_json({"profiles": entries})
    else:
        emit_table(("name", "metrics"), [(entry["name"], ", ".join(entry["metrics"])) for entry in entries])


@app.command()
def check(
    profile: str = typer.Argument(help="A file, or the name of a shipped profile."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check a profile; a fault names file, line and key. Exit 2 when it cannot be used."""
    from harness.cli._output import emit_json
    from harness.judge.profile import ComparisonProfile
    from harness.judge.profile_file import find_profile

    path = find_profile(profile)
    loaded = ComparisonProfile.load(path)
    if json_:
        emit_json({"path": str(path), "sha256": loaded.sha256, "profile": loaded.to_dict()})
    else:
        own = len(loaded.harness.metrics) if loaded.harness is not None else 0
        typer.echo(f"{path}: usable, {len(loaded.metrics)} metrics and {own} in its harness field")
