"""`harness results list|show|verify`: bundles on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="List, show and verify bundles.")


def _bundles(roots: list[Path]) -> list[Path]:
    from harness.core.errors import UsageError
    from harness.results.manifest import MANIFEST_NAME

    found: set[Path] = set()
    for root in roots:
        if not root.exists():
            raise UsageError(f"There is no {root}.", todo="Name a directory that holds bundles.")
        found |= {
            path.parent
            for path in root.rglob(MANIFEST_NAME)
            if not any(part.startswith(".tmp-") for part in path.parts)
        }
    return sorted(found)


@app.command("list")
def list_(
    roots: list[Path] = typer.Argument(None, help="Directories to search; the current one by default."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List bundles below directories with status, validity, source and totals. Artifacts are not verified."""
    from harness.cli._output import emit_json, emit_table
    from harness.core.errors import EvidenceError
    from harness.results.manifest import MANIFEST_NAME, ResultManifest

    entries: list[dict[str, Any]] = []
    for path in _bundles(roots or [Path()]):
        try:
            manifest = ResultManifest.load(path / MANIFEST_NAME)
        except EvidenceError as error:
            entries.append({"path": str(path), "status": "broken", "error": error.what})
            continue
        stated = manifest.comparability
        entries.append(
            {
                "path": str(path),
                "run_id": manifest.run_id,
                "timestamp": manifest.timestamp,
                "status": manifest.status.value,
                "validity": manifest.validity.value,
                "board": stated.get("board"),
                "source": stated.get("source"),
                "issues": [item.code for item in manifest.issues],
            }
        )
    if json_:
        emit_json({"bundles": entries})
        return
    columns = ("timestamp", "board", "source", "status", "validity", "path")
    emit_table(columns, [[entry.get(name) or "-" for name in columns] for entry in entries])


@app.command()
def show(
    bundle: Path = typer.Argument(help="A bundle's directory."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Verify a bundle and show what it holds: figures, layers, issues."""
    from harness.cli._output import emit_json
    from harness.judge.show import bundle_text, bundle_to_dict
    from harness.results.reader import read_bundle

    run = read_bundle(bundle)
    if json_:
        emit_json(bundle_to_dict(run))
    else:
        typer.echo(bundle_text(run))


@app.command()
def verify(
    bundles: list[Path] = typer.Argument(help="Bundle directories."),
    recompute: bool = typer.Option(False, "--recompute", help="Also derive every figure again from the raw samples."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Verify bundles to the last byte. Exit 5 when one is broken; the artifact at fault is named."""
    from harness.cli._output import emit_json
    from harness.core.errors import EvidenceError
    from harness.results.reader import verify_bundle

    entries: list[dict[str, Any]] = []
    broken: list[EvidenceError] = []
    for path in bundles:
        try:
            manifest = verify_bundle(path)
            if recompute:
                from harness.results.recompute import check_recomputed

                check_recomputed(path)
        except EvidenceError as error:
            broken.append(error)
            entries.append({"path": str(path), "verified": False, "error": error.to_dict()})
        else:
            entries.append(
                {
                    "path": str(path),
                    "verified": True,
                    "status": manifest.status.value,
                    "validity": manifest.validity.value,
                    "artifacts": len(manifest.artifacts),
                }
            )
    if json_:
        emit_json({"bundles": entries})
    else:
        for entry in entries:
            if entry["verified"]:
                text = f"verified, {entry['artifacts']} artifacts, {entry['status']}, {entry['validity']}"
            else:
                fault = entry["error"]
                text = " ".join(part for part in ("BROKEN:", fault["what"], fault["why"]) if part)
            typer.echo(f"{entry['path']}: {text}")
    raise typer.Exit(broken[0].exit_code if broken else 0)
