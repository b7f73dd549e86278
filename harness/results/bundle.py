"""Publishing a bundle: every artifact into a hidden sibling, the manifest last, one rename.

A reader never sees half a bundle, and a crash at any moment leaves nothing that verifies as complete.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError
from harness.core.files import copy_synced, fsync_dir, published_dir, write_synced
from harness.core.frozen import EMPTY, freeze_fields
from harness.core.hashing import sha256_bytes, sha256_file
from harness.core.paths import check_relative
from harness.core.strict_json import pretty
from harness.results.manifest import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    MANIFEST_VERSION,
    ResultArtifact,
    ResultManifest,
    RunStatus,
    sealed,
)
from harness.results.reader import BundleError, RunArtifacts, find_manifest, read_bundle, verify_bundle
from harness.results.types import RunEvaluation


@dataclass(frozen=True)
class BundleFile:
    """One artifact to publish: its path in the bundle, its bytes, and what the manifest says of it.

    The bytes of a large one stay in the file `source` and are copied from there.
    """

    path: str
    data: bytes = b""
    media_type: str = "application/octet-stream"
    role: str = "extension"
    name: str | None = None
    schema: str | None = None
    schema_version: int | None = None
    optional: bool = True
    source: Path | None = None

    def artifact(self) -> ResultArtifact:
        """The manifest's entry, size and digest included."""
        return ResultArtifact(
            path=check_relative(self.path),
            media_type=self.media_type,
            size_bytes=len(self.data) if self.source is None else self.source.stat().st_size,
            sha256=sha256_bytes(self.data) if self.source is None else sha256_file(self.source),
            role=self.role,
            name=self.name,
            schema=self.schema,
            schema_version=self.schema_version,
            producer="harness",
            optional=self.optional,
        )


@dataclass(frozen=True)
class BundleContent:
    """Everything that becomes one bundle. A failed run has issues and logs, and no measurements."""

    run_id: str
    timestamp: str
    hpx_version: str
    status: RunStatus
    evaluation: RunEvaluation
    files: tuple[BundleFile, ...]
    provenance: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    comparability: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    extensions: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        freeze_fields(self, "provenance", "comparability", "extensions")

    def manifest(self) -> ResultManifest:
        """The manifest over all files, its own hash included."""
        manifest = ResultManifest(
            schema=MANIFEST_SCHEMA,
            schema_version=MANIFEST_VERSION,
            run_id=self.run_id,
            timestamp=self.timestamp,
            hpx_version=self.hpx_version,
            status=self.status,
            validity=self.evaluation.validity,
            issues=self.evaluation.issues,
            provenance=self.provenance,
            comparability=self.comparability,
            artifacts=tuple(file.artifact() for file in self.files),
            bundle_type="profile",
            extensions={"harness": {}, **self.extensions},
        )
        return ResultManifest.from_dict(sealed(manifest.to_dict()))


class _Disk:
    """A disk that is full after so many bytes: what fits is written, as a real one does."""

    def __init__(self, room: int) -> None:
        self._room = room

    def write(self, path: Path, data: bytes) -> None:
        fits = data[: self._room]
        write_synced(path, fits)
        self._room -= len(fits)
        if len(fits) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def publish(final_dir: str | Path, content: BundleContent, *, room: int | None = None) -> Path:
    """Publish a bundle at `final_dir` in one step and return its path.

    Args:
        final_dir: where; nothing may be there.
        content: what.
        room: for tests, how many bytes the disk takes before it is full; None for as many as it has.

    Raises:
        OSError: the disk is full, or refuses; nothing is left at `final_dir`.
        UsageError: something exists at `final_dir` already; it is left as it was.
        EvidenceError: the content cannot be a bundle (an escaping path, two files of one name).
    """
    final = Path(final_dir)
    paths = [file.path for file in content.files]
    if len(set(paths)) != len(paths) or MANIFEST_NAME in paths:
        raise BundleError("duplicate_artifact", "Two artifacts of the bundle have the same path.")
    manifest = content.manifest()
    manifest.check_declared()
    write = write_synced if room is None else _Disk(room).write
    try:
        with published_dir(final) as hidden:
            for file in content.files:
                target = hidden / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                if file.source is None:
                    write(target, file.data)
                else:
                    copy_synced(file.source, target)
            for directory in {(hidden / path).parent for path in paths} - {hidden}:
                fsync_dir(directory)
            write(hidden / MANIFEST_NAME, pretty(manifest.to_dict()).encode("utf-8"))
    except FileExistsError:
        raise UsageError(
            f"There is something at {final} already.",
            why="A bundle is never overwritten.",
            todo="Name another directory.",
        ) from None
    return final


__all__ = [
    "BundleContent",
    "BundleError",
    "BundleFile",
    "RunArtifacts",
    "find_manifest",
    "publish",
    "read_bundle",
    "verify_bundle",
]
