"""`harness history index|trend|outliers|compact`: figures over many runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from harness.judge.history_index import HistoryIndex

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Figures over many runs (extra `sql`).")
DEFAULT = Path("hil-history")


@app.command()
def index(
    roots: list[Path] = typer.Argument(help="Directories that hold bundles."),
    place: Path = typer.Option(DEFAULT, "--index", help="Directory of the index."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Add every complete, valid bundle below directories that is not in the index."""
    from harness.cli._output import emit_json
    from harness.core.errors import UsageError
    from harness.judge.history_index import HistoryIndex, bundles_below

    for root in roots:
        if not root.exists():
            raise UsageError(f"There is no {root}.", todo="Name a directory that holds bundles.")
    added, refused = HistoryIndex(place).index(path for root in roots for path in bundles_below(root))
    if json_:
        emit_json({"added": added, "refused": refused})
        return
    typer.echo(f"added {added} bundles, left out {len(refused)}")
    for text in refused:
        typer.echo(f"  {text}", err=True)


@app.command()
def compact(place: Path = typer.Option(DEFAULT, "--index", help="Directory of the index.")) -> None:
    """Merge the index's small files into one."""
    from harness.judge.history_index import existing

    existing(place).compact()


@app.command()
def trend(
    metric: str = typer.Argument(help="A metric, as in clean.us or layer[3].cycles."),
    place: Path = typer.Option(DEFAULT, "--index", help="Directory of the index."),
    board: str = typer.Option("", "--board", help="Only this board type."),
    store: Path | None = typer.Option(None, "--store", help="Baseline store: an approved step begins a new history."),
    last: int = typer.Option(1000, "--last", min=10, help="How many runs of each history to look at, the youngest."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show where a metric's level changed, for each board type, model and engine; each at 1 % by a permutation test."""
    from harness.cli._output import emit_json, emit_table
    from harness.judge.baseline_store import BaselineStore
    from harness.judge.history_index import existing
    from harness.judge.trends import change_points

    keys = "board, model, engine, engine_config, source, noise"
    rows = existing(place).query(
        f"SELECT {keys}, timestamp, run_id, value FROM runs WHERE metric = ? AND (? = '' OR board = ?) "
        f"QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY timestamp DESC, run_id DESC) <= ? "
        f"ORDER BY {keys}, timestamp, run_id",
        (metric, board, board, last),
    )
    if not rows:
        _must_be_known(existing(place), metric)
    approvals = BaselineStore(store).approvals() if store is not None else ()
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        groups.setdefault(row[:6], []).append(row[6:])
    entries = []
    for key, runs in groups.items():
        times = [item.approved for item in approvals if (item.key.board, item.key.model) == (key[0], key[1])]
        cuts = [sum(run[0] < time for run in runs) for time in times]
        values = [run[2] for run in runs]
        points = change_points(values, cuts=cuts)
        entries.append(
            {
                "board": key[0],
                "model": key[1],
                "engine": key[2],
                "engine_config": key[3],
                "source": key[4],
                "runs": len(runs),
                "last": values[-1],
                "changes": [
                    {
                        "run_id": runs[p.index][1],
                        "timestamp": runs[p.index][0],
                        "before": p.before,
                        "after": p.after,
                        "p": p.p,
                    }
                    for p in points
                ],
            }
        )
    if json_:
        emit_json({"metric": metric, "histories": entries})
        return
    table = []
    for entry in entries:
        shared = (entry["board"], str(entry["model"])[:12], entry["engine_config"], entry["runs"])
        changes: list[Any] = entry["changes"]
        table += [(*shared, c["timestamp"], f"{c['before']:g}", f"{c['after']:g}", f"{c['p']:.3f}") for c in changes]
        table += [] if changes else [(*shared, "no change", "-", f"{entry['last']:g}", "-")]
    emit_table(("board", "model", "configuration", "runs", "change at", "before", "after", "p"), table)


@app.command()
def outliers(
    metric: str = typer.Argument(help="A metric, as in clean.us."),
    place: Path = typer.Option(DEFAULT, "--index", help="Directory of the index."),
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show boards, by serial, that are unlike others of their type. Groups of fewer than 5 never gate."""
    from harness.cli._output import emit_json, emit_table
    from harness.judge.history_index import existing
    from harness.judge.trends import outliers as find

    rows = existing(place).query(
        "SELECT board, model, engine_config, serial, median(value) FROM runs "
        "WHERE metric = ? AND serial IS NOT NULL GROUP BY ALL ORDER BY ALL",
        (metric,),
    )
    if not rows:
        _must_be_known(existing(place), metric)
    groups: dict[tuple[Any, ...], dict[str, float]] = {}
    for *key, serial, value in rows:
        groups.setdefault(tuple(key), {})[serial] = value
    entries = [
        {"board": key[0], "model": key[1], "serial": item.name, "value": item.value, "z": item.z, "gates": item.gates}
        for key, values in groups.items()
        for item in find(values)
    ]
    if json_:
        emit_json({"metric": metric, "outliers": [{**e, "z": min(max(e["z"], -1e9), 1e9)} for e in entries]})
        return
    emit_table(
        ("board", "serial", "value", "robust z", "gates"),
        [(e["board"], e["serial"], f"{e['value']:g}", f"{e['z']:.1f}", "yes" if e["gates"] else "no") for e in entries],
    )
    if any(e["gates"] for e in entries):
        raise typer.Exit(1)


def _must_be_known(index: HistoryIndex, metric: str) -> None:
    from harness.core.errors import UsageError
    from harness.core.suggest import did_you_mean

    known = [row[0] for row in index.query("SELECT DISTINCT metric FROM runs ORDER BY metric")]
    if metric not in known:
        raise UsageError(
            f"No run in the index has the metric {metric!r}.",
            why=did_you_mean(metric, known) if known else "The index is empty.",
            todo="`harness metrics list` lists metrics, `harness history index DIRECTORY` adds bundles.",
        )
