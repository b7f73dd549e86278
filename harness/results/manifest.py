"""The result manifest: the envelope that names, sizes and hashes every artifact of one bundle.

Schema `hpx.result-manifest` version 1. Fields that a later writer adds are kept in `extra` and written back, so a load
and a write lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from harness.core.errors import EvidenceError
from harness.core.files import atomic_write
from harness.core.frozen import EMPTY, freeze_fields, thaw
from harness.core.hashing import semantic_hash, sha256_file
from harness.core.strict_json import load as load_json
from harness.core.strict_json import pretty

MANIFEST_SCHEMA = "hpx.result-manifest"
MANIFEST_VERSION = 1
MANIFEST_NAME = "result_manifest.json"
REQUIRED_ARTIFACTS = frozenset({"hpx.summary", "hpx.run-metadata", "hpx.profile-layers"})
"""Artifact names that a complete profile bundle must declare as not optional."""


class ManifestError(EvidenceError):
    """A manifest is malformed, or an artifact is not what the manifest says; `context["artifact"]` names it."""

    code = "evidence.manifest"


def _bad(what: str, **context: Any) -> ManifestError:
    return ManifestError(
        what,
        why="The result manifest does not have the published form." if "artifact" not in context else "",
        todo="The bundle was edited or damaged; measure again or restore it from a copy.",
        context=context,
    )


class RunStatus(StrEnum):
    """Publication status of a result bundle."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


class ResultValidity(StrEnum):
    """Whether the measurements of a bundle count."""

    VALID = "valid"
    DEGRADED = "degraded"
    INVALID = "invalid"


def _known(cls: type, data: object, what: str) -> dict[str, Any]:
    """Split JSON into constructor arguments: known fields by name, everything else under `extra`."""
    if not isinstance(data, Mapping):
        raise _bad(f"A {what} must be a JSON object.")
    names = {item.name: item for item in fields(cls) if item.name != "extra"}
    values = {key: value for key, value in data.items() if key in names}
    values["extra"] = {key: value for key, value in data.items() if key not in names}
    return values


def _text(value: object, what: str, *, empty: bool = False) -> None:
    if not isinstance(value, str) or not (value or empty):
        raise _bad(f"{what} must be a {'' if empty else 'non-empty '}string.")


@dataclass(frozen=True)
class ResultIssue:
    """One machine-readable issue of a run, with open context."""

    code: str
    severity: str
    message: str
    context: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        _text(self.code, "Issue code")
        _text(self.severity, "Issue severity")
        _text(self.message, "Issue message", empty=True)
        for name in ("context", "extra"):
            if not isinstance(getattr(self, name), Mapping):
                raise _bad(f"Issue {name} must be an object.")
        freeze_fields(self, "context", "extra")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build from JSON data; unknown fields go to `extra`."""
        try:
            return cls(**_known(cls, data, "result issue"))
        except TypeError as error:
            raise _bad(f"Invalid result issue: {error}.") from None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, unknown fields included."""
        known = {"code": self.code, "severity": self.severity, "message": self.message, "context": thaw(self.context)}
        return {**thaw(self.extra), **known}


@dataclass(frozen=True)
class ResultArtifact:
    """One content-addressed file of a bundle: where it is, how long, its digest, and what it is for."""

    path: str
    media_type: str
    size_bytes: int
    sha256: str
    role: str | None = None
    name: str | None = None
    schema: str | None = None
    schema_version: int | None = None
    producer: str | None = None
    optional: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path or self.path.startswith("/"):
            raise _bad(f"Artifact path {self.path!r} must be a non-empty relative path.", artifact=str(self.path))
        _text(self.media_type, f"Media type of {self.path}")
        if not isinstance(self.size_bytes, int) or isinstance(self.size_bytes, bool) or self.size_bytes < 0:
            raise _bad(f"Size of {self.path} must be a non-negative integer.", artifact=self.path)
        digest = self.sha256
        if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise _bad(f"SHA-256 of {self.path} must be 64 lowercase hex characters.", artifact=self.path)
        for name in ("role", "name", "schema", "producer"):
            if getattr(self, name) is not None:
                _text(getattr(self, name), f"Field {name} of {self.path}")
        version = self.schema_version
        if version is not None and (not isinstance(version, int) or isinstance(version, bool) or version < 1):
            raise _bad(f"Schema version of {self.path} must be a positive integer.", artifact=self.path)
        if self.optional is not None and not isinstance(self.optional, bool):
            raise _bad(f"Field optional of {self.path} must be a boolean.", artifact=self.path)
        if not isinstance(self.extra, Mapping):
            raise _bad(f"Extra fields of {self.path} must be an object.", artifact=self.path)
        freeze_fields(self, "extra")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build from JSON data; unknown fields go to `extra`."""
        try:
            return cls(**_known(cls, data, "result artifact"))
        except TypeError as error:
            raise _bad(f"Invalid result artifact: {error}.") from None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form without absent fields, unknown fields included."""
        known = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "extra"}
        return {**thaw(self.extra), **{key: value for key, value in known.items() if value is not None}}


@dataclass(frozen=True)
class ResultManifest:
    """The envelope of one bundle, with open provenance, comparability and extension data."""

    schema: str
    schema_version: int
    run_id: str
    timestamp: str
    hpx_version: str
    status: RunStatus
    validity: ResultValidity
    issues: tuple[ResultIssue, ...]
    provenance: Mapping[str, Any]
    comparability: Mapping[str, Any]
    artifacts: tuple[ResultArtifact, ...]
    bundle_type: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY, repr=False)

    def __post_init__(self) -> None:
        if self.schema != MANIFEST_SCHEMA:
            raise _bad(f"Unsupported result manifest schema {self.schema!r}.")
        if isinstance(self.schema_version, bool) or self.schema_version != MANIFEST_VERSION:
            raise _bad(f"Unsupported result manifest schema version {self.schema_version!r}.")
        _text(self.run_id, "Manifest run_id")
        _text(self.timestamp, "Manifest timestamp")
        _text(self.hpx_version, "Manifest hpx_version", empty=True)
        if self.bundle_type is not None:
            _text(self.bundle_type, "Manifest bundle_type")
        try:
            object.__setattr__(self, "status", RunStatus(self.status))
            object.__setattr__(self, "validity", ResultValidity(self.validity))
        except ValueError as error:
            raise _bad(f"Invalid result manifest: {error}.") from None
        for name in ("issues", "artifacts"):
            if not isinstance(getattr(self, name), list | tuple):
                raise _bad(f"Manifest {name} must be an array.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("provenance", "comparability", "extensions", "extra"):
            if not isinstance(getattr(self, name), Mapping):
                raise _bad(f"Manifest {name} must be an object.")
        freeze_fields(self, "provenance", "comparability", "extensions", "extra")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build from JSON data; unknown fields go to `extra`.

        Raises:
            EvidenceError: a field is missing or has the wrong type, or the schema is another one.
        """
        values = _known(cls, data, "result manifest")
        for name, item in (("issues", ResultIssue), ("artifacts", ResultArtifact)):
            if not isinstance(values.get(name), list | tuple):
                raise _bad(f"Manifest {name} must be an array.")
            values[name] = tuple(item.from_dict(entry) for entry in values[name])
        try:
            return cls(**values)
        except TypeError as error:
            raise _bad(f"Invalid result manifest: {error}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a manifest file, keeping unknown fields; `EvidenceError` when it is unreadable or malformed."""
        return cls.from_dict(load_json(Path(path)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, unknown fields included."""
        known: dict[str, Any] = {
            "schema": self.schema,
            "schema_version": self.schema_version,
            "run_id": self.run_id,
            "timestamp": self.timestamp,
            "hpx_version": self.hpx_version,
            "status": self.status.value,
            "validity": self.validity.value,
            "issues": [issue.to_dict() for issue in self.issues],
            "provenance": thaw(self.provenance),
            "comparability": thaw(self.comparability),
            "artifacts": [artifact.to_dict() for artifact in self.artifacts],
            "extensions": thaw(self.extensions),
        }
        if self.bundle_type is not None:
            known["bundle_type"] = self.bundle_type
        return {**thaw(self.extra), **known}

    def write(self, path: str | Path) -> Path:
        """Write the manifest atomically, keeping unknown fields; its own digest is taken anew where it has one."""
        path = Path(path)
        atomic_write(path, pretty(sealed(self.to_dict())))
        return path

    def verify(self, bundle_dir: str | Path) -> None:
        """Check that every declared artifact lies inside the bundle with the stated size and SHA-256.

        Raises:
            EvidenceError: the first artifact that does not; `context["artifact"]` is its path.
        """
        root = Path(bundle_dir).resolve()
        self.check_declared()
        for artifact in self.artifacts:
            check_artifact(root, artifact)

    def check_declared(self) -> None:
        """Refuse a complete profile bundle that does not declare its core artifacts."""
        if self.status is not RunStatus.COMPLETE or self.bundle_type != "profile":
            return
        required = set(REQUIRED_ARTIFACTS)
        if "dependencies" in self.provenance:
            required.add("hpx.nsx-lock")
        missing = sorted(required - {item.name for item in self.artifacts if item.optional is False})
        if missing:
            raise _bad("The manifest does not declare the core artifacts " + ", ".join(missing) + ".", missing=missing)


def resolved(root: Path, text: str) -> Path:
    """A path below a resolved directory with symbolic links followed, as `Path.resolve` has it but sooner."""
    path = root / text
    plain = "/" not in text and text not in ("", ".", "..") and not path.is_symlink()
    return path if plain else path.resolve()


def artifact_path(root: Path, artifact: ResultArtifact) -> Path:
    """Where an artifact lies, symbolic links followed; `EvidenceError` when missing or outside the bundle."""
    try:
        path = resolved(root, artifact.path)
    except (OSError, ValueError, RuntimeError):
        raise _bad(f"Result artifact path cannot be resolved: {artifact.path!r}.", artifact=artifact.path) from None
    if not path.is_relative_to(root):
        raise _bad(f"Result artifact escapes the bundle directory: {artifact.path}.", artifact=artifact.path)
    if not path.is_file():
        raise _bad(f"Result artifact is missing: {artifact.path}.", artifact=artifact.path)
    return path


def check_artifact(root: Path, artifact: ResultArtifact) -> None:
    """Check one artifact's place, size and digest; `EvidenceError` names it."""
    path = artifact_path(root, artifact)
    try:
        if path.stat().st_size != artifact.size_bytes:
            raise _bad(f"Result artifact has another size than stated: {artifact.path}.", artifact=artifact.path)
        digest = sha256_file(path)
    except OSError as error:
        raise _bad(f"Result artifact cannot be read: {artifact.path}: {error}.", artifact=artifact.path) from None
    if digest != artifact.sha256:
        raise _bad(f"Result artifact has other bytes than stated: {artifact.path}.", artifact=artifact.path)


def manifest_digest(data: Mapping[str, Any]) -> str:
    """Hash of a whole manifest but for the place where this hash is kept (`extensions.harness.manifest_hash`)."""
    plain = dict(data)
    extensions = plain.get("extensions", {})
    own = extensions.get("harness")
    if isinstance(own, Mapping):
        bare = {key: value for key, value in own.items() if key != "manifest_hash"}
        plain["extensions"] = {**extensions, "harness": bare}
    return semantic_hash("manifest", thaw(plain))


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """The manifest with its own hash renewed, when it is one of ours; any other manifest unchanged."""
    own = data.get("extensions", {}).get("harness")
    if isinstance(own, dict):
        own["manifest_hash"] = manifest_digest(data)
    return data


def load_result_manifest(path: str | Path, *, verify: bool = False) -> ResultManifest:
    """Load a result manifest and, when asked, verify the artifacts beside it."""
    manifest = ResultManifest.load(path)
    if verify:
        manifest.verify(Path(path).parent)
    return manifest
