"""Finding the bundle that a run is compared with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core.errors import EvidenceError, UsageError
from harness.judge.baseline_store import BaselineKey, BaselineStore, is_store
from harness.results.manifest import MANIFEST_NAME, ResultManifest, ResultValidity, RunStatus

_MATCHED = ("model_sha256", "board", "engine")
"""Dimensions in which a baseline must agree with the plan of the run."""


def find_baseline(path: str | Path, plan: Any, *, before: datetime | None = None) -> Path:
    """The baseline for a run: `path` itself when it is a bundle, else the newest fitting bundle below it.

    A store of approved baselines is asked for the plan's key. In any other directory a bundle fits when it is complete
    and not invalid, and its model, board type and engine are the plan's.

    Args:
        path: a bundle, or a directory of bundles.
        plan: `harness.plan.record.Plan` of the run.
        before: only bundles made earlier; else a run whose bundle lies below `path` would be compared with itself.

    Raises:
        UsageError: there is no such path, or no bundle fits; the message says what differs in the nearest.
    """
    path = Path(path)
    if (path / MANIFEST_NAME).is_file():
        return path
    if not path.is_dir():
        raise UsageError(f"There is no baseline at {path}.", todo="Name a bundle or a directory of bundles.")
    if is_store(path):
        return BaselineStore(path).find(BaselineKey.of_plan(plan), plan.settings)
    wanted = {"model_sha256": plan.model.sha256, "board": plan.board, "engine": plan.engine}
    fitting: list[tuple[str, Path]] = []
    nearest: tuple[int, Path, list[str]] | None = None
    for found in sorted(path.rglob(MANIFEST_NAME)):
        if any(part.startswith(".tmp-") for part in found.parts):
            continue
        try:
            manifest = ResultManifest.load(found)
        except EvidenceError:
            continue
        differing = _differences(manifest, wanted, before)
        if not differing:
            fitting.append((manifest.timestamp, found.parent))
        elif nearest is None or len(differing) < nearest[0]:
            nearest = (len(differing), found.parent, differing)
    if fitting:
        return max(fitting)[1]
    why = "There is no bundle in it." if nearest is None else f"The nearest is {nearest[1]}: {'; '.join(nearest[2])}."
    raise UsageError(
        f"No bundle below {path} fits as a baseline.",
        why=why,
        todo="Measure a baseline for this model, board and engine and put its bundle there.",
        context={"wanted": wanted},
    )


def _differences(manifest: ResultManifest, wanted: dict[str, str], before: datetime | None) -> list[str]:
    out = []
    if before is not None and not _made_before(manifest.timestamp, before):
        out.append("it was made in this session")
    if manifest.status is not RunStatus.COMPLETE:
        out.append(f"its status is {manifest.status.value}")
    if manifest.validity is ResultValidity.INVALID:
        out.append("it is invalid")
    for name in _MATCHED:
        stated = manifest.comparability.get(name)
        if stated != wanted[name]:
            out.append(f"{name} is {stated}, not {wanted[name]}")
    return out


def _made_before(timestamp: str, moment: datetime) -> bool:
    """Whether a bundle is older; one that does not say when it was made is not known to be."""
    try:
        made = datetime.fromisoformat(timestamp)
    except ValueError:
        return False
    return (made if made.tzinfo is not None else made.replace(tzinfo=UTC)) < moment
