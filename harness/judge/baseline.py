"""The bundle to compare with, found in a directory of bundles by model, board type and engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import HarnessError, NotComparableError
from harness.results.manifest import MANIFEST_NAME, ResultManifest, ResultValidity, RunStatus, load_result_manifest

KEYS = ("model_sha256", "board", "engine")


class NoBaselineError(NotComparableError):
    """No bundle in the directory belongs to this run."""

    code = "compare.no_baseline"


@dataclass(frozen=True)
class Candidate:
    """A bundle that might be the baseline."""

    path: Path
    timestamp: str
    facts: Mapping[str, Any]

    def differences(self, wanted: Mapping[str, Any]) -> list[str]:
        """Facts that differ, each as `name: theirs, not ours`."""
        return [
            f"{key}: {self.facts.get(key)}, not {value}"
            for key, value in wanted.items()
            if self.facts.get(key) != value
        ]


def find_baseline(path: Path, *, model_sha256: str, board: str, engine: str) -> Path:
    """The newest complete and not invalid bundle for a model, board type and engine.

    Args:
        path: a bundle, which is taken as it is, or a directory whose children are bundles.

    Raises:
        NoBaselineError: there is none; says what differs from the nearest.
    """
    if (path / MANIFEST_NAME).is_file():
        return path
    wanted = {"model_sha256": model_sha256, "board": board, "engine": engine}
    candidates = sorted(_candidates(path), key=lambda item: (-len(item.differences(wanted)), item.timestamp))
    if candidates and not candidates[-1].differences(wanted):
        return candidates[-1].path
    if candidates:
        why = f"Nearest is {candidates[-1].path.name}: {'; '.join(candidates[-1].differences(wanted))}."
    else:
        why = "It holds no complete, valid bundle."
    raise NoBaselineError(
        f"No baseline for {board} in {path}.",
        why=why,
        todo="Run the tests once on the good version and keep its bundles there.",
    )


def _candidates(directory: Path) -> Iterator[Candidate]:
    for manifest_path in sorted(directory.glob(f"*/{MANIFEST_NAME}")):
        try:
            manifest = load_result_manifest(manifest_path)
        except HarnessError:
            continue
        if manifest.status is RunStatus.COMPLETE and manifest.validity is not ResultValidity.INVALID:
            yield Candidate(manifest_path.parent, manifest.timestamp, _facts(manifest))


def _facts(manifest: ResultManifest) -> dict[str, Any]:
    return {key: manifest.comparability.get(key) for key in KEYS}
