"""An index of many bundles: one row a metric and run, as Parquet, through DuckDB (extra `sql`).

    index/
      parts/<time>-<pid>-<random>.ndjson   what one process added (`history_parts`)
      merged/<time>-<random>.parquet       what compaction made of closed parts
      current.json                         which merged files count, and which parts they have absorbed
      lock                                 held while compacting

A merged file appears in one step and is never changed. A reader takes what `current.json` names and every part that it
does not; so it sees each row once, whether a compaction is under way, was killed, or never ran.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import EvidenceError, ToolMissingError, UsageError
from harness.core.files import atomic_write
from harness.core.strict_json import StrictJsonError
from harness.core.strict_json import loads as load_strict
from harness.judge.history_parts import SUFFIX, PartWriter, is_closed, whole_batches
from harness.judge.metrics import METRICS, repeatability
from harness.judge.numbers import to_float
from harness.results.dimensions import nested
from harness.results.manifest import MANIFEST_NAME, ResultValidity, RunStatus
from harness.results.reader import RunArtifacts, read_bundle

if TYPE_CHECKING:
    import duckdb

COLUMNS = {
    "run_id": "VARCHAR", "bundle": "VARCHAR", "timestamp": "VARCHAR", "board": "VARCHAR", "serial": "VARCHAR",
    "source": "VARCHAR", "model": "VARCHAR", "engine": "VARCHAR", "engine_config": "VARCHAR", "toolchain": "VARCHAR",
    "intent": "VARCHAR", "image": "VARCHAR", "noise": "VARCHAR", "metric": "VARCHAR", "unit": "VARCHAR",
    "repeatability": "VARCHAR", "value": "DOUBLE",
}  # fmt: skip
"""Columns of the table `runs` and their types."""
COMPACT_AT = 256
"""Parts after which a process that begins another tries to compact."""
_MERGED_AT = 16
_LISTS = {"merged": ".parquet", "absorbed": SUFFIX}
_TRIES = 20
Row = Mapping[str, Any]


def rows_of(run: RunArtifacts) -> list[Row]:
    """Every figure of a complete, valid run; none of any other."""
    manifest = run.manifest
    if manifest is None or manifest.status is not RunStatus.COMPLETE or manifest.validity is ResultValidity.INVALID:
        return []
    stated = manifest.comparability
    serial = nested(run.harness, ("bench", "serial"))
    common = {
        "run_id": manifest.run_id,
        "bundle": str(run.path),
        "timestamp": manifest.timestamp,
        "serial": None if serial is None else str(serial),
        "model": stated.get("model_sha256"),
        "intent": nested(run.harness, ("identity", "intent_hash")),
        "image": nested(run.harness, ("identity", "image_sha256")),
        **{name: stated.get(name) for name in ("board", "source", "engine", "engine_config", "toolchain", "noise")},
    }
    rows: list[Row] = []
    for metric in METRICS.values():
        value = to_float(metric.read(run), finite=True)
        if value is not None:
            repeats = repeatability(run, metric)
            rows.append(
                {**common, "metric": metric.name, "unit": metric.unit, "repeatability": repeats, "value": value}
            )
    repeats = repeatability(run, METRICS["total_cycles"])
    for index, layer in enumerate(run.layers):
        value = to_float(layer.get("cycles"), finite=True)
        if value is not None:
            name = f"layer[{index}].cycles"
            rows.append({**common, "metric": name, "unit": "cycles", "repeatability": repeats, "value": value})
    return rows


class HistoryIndex:
    """An index at a directory, made when the first rows are appended."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._writer = PartWriter(self.path / "parts")

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows, all or none of them; compacts when much has gathered and nobody else does."""
        if not rows:
            return
        lines = "".join(json.dumps(_stored(row), allow_nan=False) + "\n" for row in rows)
        begun, closed = self._writer.add(lines.encode())
        if closed or (begun and sum(1 for _ in self._parts()) >= COMPACT_AT):
            # The rows are safe already. Without DuckDB they wait for somebody who has it, and whoever asks a broken
            # index is told so.
            with suppress(ToolMissingError, EvidenceError):
                self.compact(wait=False)

    def index(self, bundles: Iterable[Path], *, batch: int = 500) -> tuple[int, list[str]]:
        """Add bundles that are not in the index; returns how many, and why others were left out."""
        known = {row[0] for row in self.query("SELECT DISTINCT bundle FROM runs")}
        added, refused, rows = 0, [], []
        for path in bundles:
            if _text(str(path.resolve())) in known:
                continue
            try:
                found = rows_of(read_bundle(path))
            except EvidenceError as error:
                refused.append(f"{path}: {error.what}")
                continue
            if not found:
                refused.append(f"{path}: not complete and valid")
                continue
            rows += found
            added += 1
            if added % batch == 0:
                self.append(rows)
                rows = []
        self.append(rows)
        self.compact(wait=False)
        return added, refused

    def compact(self, *, wait: bool = True) -> bool:
        """Merge parts into one file; False when somebody else is doing so and `wait` is false.

        Raises:
            EvidenceError: a file of the index is damaged; nothing is changed.
        """
        from filelock import FileLock, Timeout

        _duckdb()
        self._writer.close()
        if not (self.path / "parts").is_dir():
            return True
        try:
            with FileLock(self.path / "lock", timeout=-1 if wait else 0):
                self._compact()
        except Timeout:
            return False
        return True

    def _compact(self) -> None:
        current = self._current()
        absorbed = set(current["absorbed"])
        # What an interrupted compaction left behind has been absorbed already.
        for name in absorbed:
            (self.path / "parts" / name).unlink(missing_ok=True)
        fresh = [path for path in self._parts() if path.name not in absorbed and is_closed(path)]
        if not fresh:
            return
        merged = [self.path / "merged" / name for name in current["merged"]]
        again = _worth_merging(merged)
        (self.path / "merged").mkdir(exist_ok=True)
        for stale in (self.path / "merged").glob(".*.parquet"):
            # Of a compaction that was killed: the lock is ours.
            stale.unlink(missing_ok=True)
        name = f"{time.time_ns()}-{secrets.token_hex(4)}.parquet"
        temp = self.path / "merged" / f".{name}"
        try:
            with _connect() as connection, _gathered([*fresh, *again]) as files:
                rows = f"SELECT * FROM ({_union(files)}) ORDER BY metric, board, timestamp"
                connection.execute(f"COPY ({rows}) TO '{_quoted(temp)}' (FORMAT PARQUET)")
        except _duckdb().Error as error:
            temp.unlink(missing_ok=True)
            raise _damage([*fresh, *again]) or self._unreadable(str(error)) from None
        temp.rename(self.path / "merged" / name)
        kept = [path.name for path in merged if path not in again]
        state = {"merged": [*kept, name], "absorbed": [path.name for path in fresh]}
        atomic_write(self.path / "current.json", json.dumps(state))
        for path in fresh:
            path.unlink(missing_ok=True)
        for old in self._all("merged", ".parquet"):
            if old.name not in state["merged"]:
                old.unlink(missing_ok=True)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows that a SQL query over the view `runs` gives.

        Raises:
            UsageError: the query is wrong.
            EvidenceError: a file of the index is damaged or missing.
            ToolMissingError: DuckDB is not installed.
        """
        return self.table(sql, parameters)[1]

    def table(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Like `query`, with the names of the columns."""
        duckdb = _duckdb()
        why = ""
        for _ in range(_TRIES):
            listed = self._files()
            try:
                with _connect() as connection, _gathered(listed) as files:
                    connection.execute(f"CREATE VIEW runs AS {_union(files)}")
                    connection.execute(sql, list(parameters))
                    return [item[0] for item in connection.description or ()], connection.fetchall()
            except (FileNotFoundError, duckdb.Error) as error:
                gone = [path for path in listed if not path.exists()]
                if gone:
                    # A compaction removed a file between the listing and the reading.
                    why = f"{gone[0]} is missing."
                    continue
                if broken := _damage(listed):
                    raise broken from None
                raise UsageError(
                    "The query cannot be answered.",
                    why=str(error).splitlines()[0],
                    todo="Columns of runs: " + ", ".join(COLUMNS),
                ) from None
        raise self._unreadable(why)

    def _unreadable(self, why: str) -> EvidenceError:
        return EvidenceError(
            f"The index at {self.path} cannot be read.", why=why, todo="Delete the index and make it again."
        )

    def _files(self) -> list[Path]:
        # Parts first: what is absorbed after this listing is named by the state that is read after it.
        parts = list(self._parts())
        current = self._current()
        absorbed = set(current["absorbed"])
        merged = [self.path / "merged" / name for name in current["merged"]]
        return [*merged, *(path for path in parts if path.name not in absorbed)]

    def _current(self) -> dict[str, list[str]]:
        try:
            state = load_strict((self.path / "current.json").read_bytes(), source="current.json")
            return {name: _names(state[name], suffix) for name, suffix in _LISTS.items()}
        except FileNotFoundError:
            return {name: [] for name in _LISTS}
        except (OSError, StrictJsonError, ValueError, KeyError, TypeError) as error:
            raise EvidenceError(
                f"{self.path / 'current.json'} is broken.", why=str(error), todo="Delete the index and make it again."
            ) from None

    def _parts(self) -> Iterator[Path]:
        return self._all("parts", SUFFIX)

    def _all(self, folder: str, suffix: str) -> Iterator[Path]:
        place = self.path / folder
        if place.is_dir():
            for entry in os.scandir(place):
                if entry.name.endswith(suffix) and not entry.name.startswith("."):
                    yield Path(entry.path)


def existing(path: Path) -> HistoryIndex:
    """The index at a directory.

    Raises:
        UsageError: there is none, so an answer would be about nothing.
    """
    if not any((path / name).exists() for name in ("parts", "merged", "current.json")):
        raise UsageError(
            f"There is no history at {path}.", todo="`harness history index` makes one; --index names another place."
        )
    return HistoryIndex(path)


def bundles_below(root: Path) -> list[Path]:
    """Bundle directories below a directory."""
    return sorted(
        path.parent for path in root.rglob(MANIFEST_NAME) if not any(part.startswith(".tmp-") for part in path.parts)
    )


def _stored(row: Row) -> dict[str, Any]:
    plain = {name: row.get(name) for name in COLUMNS}
    return {name: _text(value) if isinstance(value, str) else value for name, value in plain.items()}


def _text(text: str) -> str:
    """Text that UTF-8 can hold: one row that DuckDB cannot read would spoil the whole index."""
    return text.encode("utf-8", "backslashreplace").decode()


def _names(value: object, suffix: str) -> list[str]:
    """Names of files of the index. Absorbed ones are deleted, so they must not lead anywhere else."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError("it must hold lists of names")
    if bad := [name for name in value if Path(name).name != name or not name.endswith(suffix)]:
        raise ValueError(f"{bad[0]!r} is no name of a file of the index")
    return value


def _damage(files: Sequence[Path]) -> EvidenceError | None:
    """The first file that cannot be read as rows; None when all can."""
    duckdb = _duckdb()
    for path in files:
        try:
            with _connect() as connection, _gathered([path]) as one:
                connection.execute(f"CREATE TABLE found AS {_union(one)}")
        except FileNotFoundError:
            continue
        except duckdb.Error as error:
            return EvidenceError(
                f"{path} is damaged: it does not hold rows of a history.",
                why=str(error).splitlines()[0],
                todo=f"Delete {path.parent.name}/{path.name} and current.json, then index the bundles again.",
            )
    return None


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ToolMissingError(
            "DuckDB is not installed.", why="History is an extra.", todo="pip install harness-hil[sql]"
        ) from None
    return duckdb


def _connect() -> duckdb.DuckDBPyConnection:
    connection: duckdb.DuckDBPyConnection = _duckdb().connect(config={"threads": 2})
    connection.execute("SET enable_progress_bar = false")
    return connection


@contextmanager
def _gathered(files: Sequence[Path]) -> Iterator[list[Path]]:
    """The same files with all small ones gathered in one: DuckDB takes milliseconds to open each."""
    whole = [path for path in files if path.suffix == ".parquet"]
    lines = [path for path in files if path.suffix == SUFFIX]
    if not lines:
        yield whole
        return
    with tempfile.NamedTemporaryFile(suffix=SUFFIX) as file:
        for path in lines:
            file.write(whole_batches(path))
        file.flush()
        yield [*whole, Path(file.name)]


def _worth_merging(merged: Sequence[Path]) -> list[Path]:
    """Old merged files that a compaction takes in again once there are many: all but those larger than the rest."""
    if len(merged) < _MERGED_AT:
        return []
    sized = sorted(merged, key=lambda path: path.stat().st_size)
    total = 0
    chosen: list[Path] = []
    for path in sized:
        size = path.stat().st_size
        if chosen and size > total:
            break
        total += size
        chosen.append(path)
    return chosen


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _union(files: Sequence[Path]) -> str:
    parquet = [path for path in files if path.suffix == ".parquet"]
    lines = [path for path in files if path.suffix == SUFFIX]
    sources = []
    if parquet:
        names = ", ".join(f"'{_quoted(path)}'" for path in parquet)
        sources.append(f"SELECT {', '.join(COLUMNS)} FROM read_parquet([{names}])")
    if lines:
        names = ", ".join(f"'{_quoted(path)}'" for path in lines)
        types = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
        sources.append(
            f"SELECT {', '.join(COLUMNS)} FROM read_json([{names}], format='newline_delimited', columns={{{types}}})"
        )
    if not sources:
        return "SELECT " + ", ".join(f"NULL::{kind} AS {name}" for name, kind in COLUMNS.items()) + " WHERE false"
    return " UNION ALL ".join(sources)
