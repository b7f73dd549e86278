"""`harness baseline approve|list|history|diff`: approved baselines."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Approve baselines, and see what is approved.")
DEFAULT = Path("baselines")


@app.command()
def approve(
    bundle: Path = typer.Argument(help="A bundle's directory."),
    reason: str = typer.Option(..., "--reason", help="Why these numbers are good."),
    until: str = typer.Option("", "--until", help="Last day on which it counts, as YYYY-MM-DD."),
    store: Path = typer.Option(DEFAULT, "--store", help="The store; made when there is none."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Copy a bundle into the store and approve it for its model, board, engine, toolchain and settings."""
    from datetime import date

    from harness.cli._output import emit_json
    from harness.core.errors import UsageError
    from harness.judge.baseline_store import BaselineStore

    try:
        day = date.fromisoformat(until) if until else None
    except ValueError:
        raise UsageError(f"--until {until!r} is no day.", todo="For example: --until 2026-12-31") from None
    if not reason.strip():
        raise UsageError("An approval needs a reason.", todo="Say why these numbers are good: --reason TEXT.")
    approval = BaselineStore(store, create=True).approve(bundle, reason, until=day)
    if json_:
        emit_json(approval.to_dict())
    else:
        typer.echo(f"approved {approval.bundle[:12]} for {approval.key.board}, {approval.key.engine}")


@app.command("list")
def list_(
    store: Path = typer.Option(DEFAULT, "--store", help="The store."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the baselines that count now."""
    _show(store, json_, everything=False)


@app.command()
def history(
    store: Path = typer.Option(DEFAULT, "--store", help="The store."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List every approval there has been, oldest first."""
    _show(store, json_, everything=True)


def _show(path: Path, as_json: bool, *, everything: bool) -> None:
    from harness.cli._output import emit_json, emit_table
    from harness.judge.baseline_store import BaselineStore

    store = BaselineStore(path)
    current = store.current()
    items = store.approvals() if everything else current
    if as_json:
        emit_json({"approvals": [{**item.to_dict(), "counts": item in current} for item in items]})
        return
    rows = [
        (
            item.approved[:19],
            item.bundle[:12],
            item.key.board,
            item.key.engine,
            item.key.model[:12],
            "expired" if item.expired() else "counts" if item in current else "replaced",
            item.until or "-",
            item.by,
            item.reason,
        )
        for item in items
    ]
    emit_table(("approved", "bundle", "board", "engine", "model", "state", "until", "by", "reason"), rows)


@app.command()
def diff(
    bundle: Path = typer.Argument(help="A bundle's directory."),
    store: Path = typer.Option(DEFAULT, "--store", help="The store."),
    profile: str = typer.Option("", "--profile", "-p", help="Also judge by this profile."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compare a bundle with the baseline that counts for it. Exit codes as for `harness compare`."""
    import json

    from harness.cli.compare import judge
    from harness.judge.baseline_store import BaselineKey, BaselineStore
    from harness.results.reader import read_bundle

    run = read_bundle(bundle)
    key = BaselineKey.of_bundle(run)
    settings = json.loads((run.path / "plan.json").read_bytes())["settings"]
    found = BaselineStore(store).find(key, settings)
    raise typer.Exit(judge(found, bundle, profile, as_json=json_, metrics=not json_))
