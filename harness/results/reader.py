"""Reading a bundle from disk. The strict reader refuses whatever a faithful writer cannot have produced.

`read_bundle` gives the records that comparisons look at, `verify_bundle` the manifest alone. Both hash every declared
artifact and parse exactly the bytes they hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from harness.core.hashing import sha256_file
from harness.core.strict_json import StrictJsonError, is_pretty
from harness.core.strict_json import loads as load_strict
from harness.results.consistency import check_derived, check_identities, check_metadata, check_summary
from harness.results.errors import BundleError
from harness.results.layers import read_layers
from harness.results.manifest import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    ManifestError,
    ResultArtifact,
    ResultManifest,
    RunStatus,
    artifact_path,
    manifest_digest,
    resolved,
)

INCOMPLETE_MARKER = ".result-publication-incomplete"
SUMMARY_SCHEMA, SUMMARY_VERSION = "hpx.run-summary", 19
METADATA_SCHEMA, METADATA_VERSION = "hpx.run-metadata", 1
PRODUCER = "harness"
_SINGLE = ("hpx.summary", "hpx.run-metadata")
_OPTIONAL = frozenset({"source", "binary", "memory_regions", "power", "validity", "issues", "top_layers"})
_UNDERSTOOD = _OPTIONAL | {
    "schema", "schema_version", "engine", "layers", "total_cycles", "overflow_detected", "memory", "latency",
}  # fmt: skip
"""Fields of a summary that are looked at."""
_PARALLEL_BYTES = 8 << 20


@dataclass(frozen=True)
class RunArtifacts:
    """One bundle's records, read and verified. `layers` are the rows of the per-layer table in execution order.

    `notes` say what was not understood, as in a summary of another version.
    """

    path: Path
    summary: Mapping[str, Any]
    metadata: Mapping[str, Any]
    layers: tuple[Mapping[str, Any], ...]
    manifest: ResultManifest | None = None
    notes: tuple[str, ...] = ()

    @property
    def harness(self) -> Mapping[str, Any]:
        """What this harness states beyond the published schemas; empty for bundles of other producers."""
        own = self.manifest.extensions.get(PRODUCER) if self.manifest is not None else None
        return own if isinstance(own, Mapping) else {}

    @property
    def source(self) -> str | None:
        """`silicon`, `emulated` or `predicted`; None where the bundle does not say."""
        value = self.manifest.comparability.get("source") if self.manifest is not None else None
        return value if isinstance(value, str) else None


def find_manifest(path: str | Path) -> Path:
    """The manifest of a bundle given as its directory or as the manifest itself.

    Raises:
        EvidenceError: no manifest, or the publication never finished.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        path = path / MANIFEST_NAME
    if (path.parent / INCOMPLETE_MARKER).exists() or (path.parent / INCOMPLETE_MARKER).is_symlink():
        raise BundleError("incomplete_publication", f"Publication of {path.parent} never finished.")
    if not path.is_file():
        named = path.parent if path.name == MANIFEST_NAME else path
        raise BundleError(
            "invalid_evidence",
            f"{named} is not a result bundle.",
            artifact=MANIFEST_NAME,
            why=f"There is no {MANIFEST_NAME} in it." if named.is_dir() else "It does not exist.",
            todo="Check the path; `harness results list DIRECTORY` lists the bundles below a directory.",
        )
    return path


def read_bundle(path: str | Path, *, strict: bool = True) -> RunArtifacts:
    """Read one bundle and verify every artifact it declares.

    Args:
        path: the bundle's directory or its manifest.
        strict: refuse non-canonical paths, repeated keys, non-finite numbers and records that disagree. Without it,
            the bundle is read as leniently as hpx's comparison does.

    Raises:
        EvidenceError: the bundle is tampered with, incomplete, or of another schema; it names the artifact.
    """
    manifest_path = find_manifest(path)
    root = manifest_path.parent.resolve()
    raw = _bytes(manifest_path, MANIFEST_NAME)
    data = _parse(raw, MANIFEST_NAME, strict)
    if strict:
        _check_schema(data, MANIFEST_NAME, MANIFEST_SCHEMA, 1)
    manifest = _manifest(data)
    if strict:
        _check_manifest(manifest, data, raw, root)
    contents = _verified(manifest, root)
    summary, metadata = _documents(manifest, contents, strict)
    layers = _layers(manifest, contents, strict)
    if strict:
        _check_records(manifest, summary, metadata)
        _check_derived(manifest, summary, layers)
        if _bytes(manifest_path, MANIFEST_NAME) != raw:
            raise BundleError("publication_changed", "The bundle changed while it was read.", artifact=MANIFEST_NAME)
    return RunArtifacts(root, summary or {}, metadata or {}, layers, manifest, _notes(summary))


def records_of(manifest: ResultManifest, contents: Mapping[str, bytes], path: str | Path = "") -> RunArtifacts:
    """The records of a bundle that is not on disk yet, from the bytes of its artifacts by path."""
    summary, metadata = _documents(manifest, contents, True)
    layers = _layers(manifest, contents, True)
    return RunArtifacts(Path(path), summary or {}, metadata or {}, layers, manifest, _notes(summary))


def verify_bundle(path: str | Path) -> ResultManifest:
    """Verify a bundle to the last byte and return its manifest; `EvidenceError` names the first artifact at fault."""
    manifest = read_bundle(path, strict=True).manifest
    assert manifest is not None
    return manifest


def _bytes(path: Path, artifact: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(
            "invalid_evidence", f"{artifact} cannot be read.", artifact=artifact, why=str(error)
        ) from None


def _parse(raw: bytes, artifact: str, strict: bool) -> dict[str, Any]:
    try:
        data = load_strict(raw, source=artifact) if strict else json.loads(raw)
    except StrictJsonError as error:
        raise BundleError(error.code, f"{artifact}: {error.what}", artifact=artifact, why=error.why) from None
    except (ValueError, RecursionError) as error:
        raise BundleError("invalid_json", f"{artifact} is not JSON.", artifact=artifact, why=str(error)[:200]) from None
    if not isinstance(data, dict):
        raise BundleError("invalid_json", f"{artifact} does not hold a JSON object.", artifact=artifact)
    return data


def _manifest(data: dict[str, Any]) -> ResultManifest:
    try:
        return ResultManifest.from_dict(data)
    except ManifestError as error:
        named = str(error.context.get("artifact", MANIFEST_NAME))
        raise BundleError("invalid_evidence", error.what, artifact=named, why=error.why) from None


def _check_schema(data: Mapping[str, Any], artifact: str, schema: str, version: Any) -> None:
    if data.get("schema") != schema or type(data.get("schema_version")) is not int or data["schema_version"] != version:
        raise BundleError(
            "unsupported_schema",
            f"{artifact} is not {schema} version {version}.",
            artifact=artifact,
            why=f"It says {data.get('schema')!r} version {data.get('schema_version')!r}.",
        )


def _check_manifest(manifest: ResultManifest, data: dict[str, Any], raw: bytes, root: Path) -> None:
    if manifest.bundle_type != "profile":
        raise BundleError(
            "unsupported_kind", f"Bundle type {manifest.bundle_type!r} is not 'profile'.", artifact=MANIFEST_NAME
        )
    if manifest.status is RunStatus.INCOMPLETE:
        raise BundleError("incomplete_result", "The bundle says that its run is incomplete.", artifact=MANIFEST_NAME)
    own = manifest.extensions.get(PRODUCER)
    if manifest.hpx_version.startswith(f"{PRODUCER}/"):
        stated = own.get("manifest_hash") if isinstance(own, Mapping) else None
        if stated != manifest_digest(data) or not is_pretty(raw, data):
            raise BundleError(
                "artifact_changed",
                f"{MANIFEST_NAME} was changed after it was written.",
                artifact=MANIFEST_NAME,
                why="It does not match the hash it carries of itself.",
            )
    _check_paths(manifest, root)


def _check_paths(manifest: ResultManifest, root: Path) -> None:
    seen: set[Path] = set()
    names: set[str] = set()
    for artifact in manifest.artifacts:
        text = artifact.path
        pure = PurePosixPath(text)
        drive = len(text) > 1 and text[1] == ":"
        if "\\" in text or "\0" in text or drive or pure.is_absolute() or ".." in pure.parts or str(pure) != text:
            raise BundleError("invalid_path", f"Artifact path {text!r} is not canonical.", artifact=text)
        place = resolved(root, text)
        if place in seen:
            raise BundleError("duplicate_artifact", f"Artifact {text} is declared twice.", artifact=text)
        seen.add(place)
        if artifact.name in _SINGLE:
            if artifact.name in names:
                raise BundleError("duplicate_artifact", f"Two artifacts are named {artifact.name}.", artifact=text)
            names.add(artifact.name)


def _verified(manifest: ResultManifest, root: Path) -> dict[str, bytes]:
    """Hash every artifact; returns the bytes of the core ones, by path."""
    try:
        manifest.check_declared()
        paths = {item.path: artifact_path(root, item) for item in manifest.artifacts}
    except ManifestError as error:
        named = str(error.context.get("artifact", MANIFEST_NAME))
        raise BundleError("invalid_evidence", error.what, artifact=named, why=error.why) from None
    contents: dict[str, bytes] = {}
    large: list[ResultArtifact] = []
    for item in manifest.artifacts:
        core = item.role == "core" or item.path in ("summary.json", "run_metadata.json", "profile_results.csv")
        if not core and item.size_bytes >= _PARALLEL_BYTES:
            large.append(item)
            continue
        data = _bytes(paths[item.path], item.path)
        _check_bytes(item, len(data), hashlib.sha256(data).hexdigest())
        if core:
            contents[item.path] = data
    _check_large(large, paths)
    return contents


def _check_large(items: list[ResultArtifact], paths: Mapping[str, Path]) -> None:
    for item in items:
        _check_size(item, paths[item.path].stat().st_size)
    if len(items) < 2:
        for item in items:
            _check_bytes(item, item.size_bytes, sha256_file(paths[item.path]))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=4) as pool:
        digests = pool.map(sha256_file, [paths[item.path] for item in items])
        for item, digest in zip(items, digests, strict=True):
            _check_bytes(item, item.size_bytes, digest)


def _check_size(item: ResultArtifact, size: int) -> None:
    if size != item.size_bytes:
        raise BundleError(
            "invalid_evidence",
            f"Artifact {item.path} has {size} bytes, the manifest says {item.size_bytes}.",
            artifact=item.path,
        )


def _check_bytes(item: ResultArtifact, size: int, digest: str) -> None:
    _check_size(item, size)
    if digest != item.sha256:
        raise BundleError(
            "invalid_evidence",
            f"Artifact {item.path} has other bytes than the manifest says.",
            artifact=item.path,
            why=f"Its SHA-256 is {digest[:12]}..., stated is {item.sha256[:12]}....",
        )


def _select(manifest: ResultManifest, name: str, path: str, strict: bool) -> ResultArtifact | None:
    for item in manifest.artifacts:
        if (item.name == name) if strict else (item.path == path):
            return item
    return None


def _documents(
    manifest: ResultManifest, contents: Mapping[str, bytes], strict: bool
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    out: list[dict[str, Any] | None] = []
    for name, path in (("hpx.summary", "summary.json"), ("hpx.run-metadata", "run_metadata.json")):
        item = _select(manifest, name, path, strict)
        if item is None or item.path not in contents:
            if not strict:
                raise BundleError("invalid_evidence", f"The manifest does not declare {path}.", artifact=path)
            out.append(None)
            continue
        data = _parse(contents[item.path], item.path, strict)
        if strict:
            _check_binding(item, data)
        out.append(data)
    summary, metadata = out
    if summary is not None:
        foreign = strict and not manifest.hpx_version.startswith(f"{PRODUCER}/")
        version = summary.get("schema_version")
        readable = foreign and type(version) is int and version >= 1
        _check_schema(summary, "summary.json", SUMMARY_SCHEMA, version if readable else SUMMARY_VERSION)
    return summary, metadata


def _notes(summary: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What a summary of another version than ours holds that was not understood, and what it lacks."""
    if summary is None or summary.get("schema_version") == SUMMARY_VERSION:
        return ()
    unknown, absent = sorted(summary.keys() - _UNDERSTOOD), sorted(_UNDERSTOOD - _OPTIONAL - summary.keys())
    told = [f"summary.json is version {summary.get('schema_version')}, read as version {SUMMARY_VERSION}"]
    told += [f"not understood: {', '.join(unknown)}"] if unknown else []
    told += [f"absent: {', '.join(absent)}"] if absent else []
    return ("; ".join(told) + ".",)


def _check_binding(item: ResultArtifact, data: Mapping[str, Any]) -> None:
    version = data.get("schema_version")
    wrong = (item.schema is not None and data.get("schema") != item.schema) or (
        item.schema_version is not None and (type(version) is not int or version != item.schema_version)
    )
    if wrong:
        raise BundleError(
            "schema_binding",
            f"{item.path} is of another schema or version than the manifest says.",
            artifact=item.path,
            why=f"It says {data.get('schema')!r} version {version!r}.",
        )


def _layers(manifest: ResultManifest, contents: Mapping[str, bytes], strict: bool) -> tuple[Mapping[str, Any], ...]:
    declared = {item.path for item in manifest.artifacts}
    if "profile_results.csv" in declared and "profile_results.csv" in contents:
        try:
            return tuple(read_layers(contents["profile_results.csv"]))
        except ValueError as error:
            raise BundleError(
                "invalid_evidence", f"profile_results.csv: {error}", artifact="profile_results.csv"
            ) from None
    for item in manifest.artifacts:
        if item.path == "profile_results.json" and item.path in contents:
            rows = _parse(contents[item.path], item.path, strict).get("layers")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise BundleError("invalid_evidence", f"{item.path} holds no array of layers.", artifact=item.path)
            return tuple(rows)
    if manifest.status is RunStatus.COMPLETE:
        raise BundleError(
            "invalid_evidence", "The manifest declares no per-layer table.", artifact="profile_results.csv"
        )
    return ()


def _check_records(
    manifest: ResultManifest, summary: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> None:
    if summary is not None:
        check_summary(manifest, summary)
    if metadata is not None:
        _check_schema(metadata, "run_metadata.json", METADATA_SCHEMA, METADATA_VERSION)
        check_metadata(manifest, metadata)
    check_identities(manifest, summary, metadata)
    if manifest.status is RunStatus.COMPLETE and (summary is None or metadata is None):
        missing = "summary.json" if summary is None else "run_metadata.json"
        raise BundleError("incomplete_result", f"A complete bundle lacks {missing}.", artifact=missing)


def _check_derived(
    manifest: ResultManifest, summary: Mapping[str, Any] | None, layers: tuple[Mapping[str, Any], ...]
) -> None:
    if summary is not None and manifest.hpx_version.startswith(f"{PRODUCER}/"):
        check_derived(manifest, summary, layers)


__all__ = ["BundleError", "RunArtifacts", "find_manifest", "read_bundle", "verify_bundle"]
