"""A store of approved baselines: a directory, fit to be committed or shared.

    baselines/
      store.json                          what this directory is
      bundles/<sha256 of the manifest>/   the approved bundles, whole, by content
      approvals/<time>-<digest>.json      one file an approval: which bundle, for what, why, by whom, until when

Nothing is ever changed in place: an approval is a new file, so two people who approve at once do not collide and the
history is the directory itself. A baseline stands for a key: model, board type, engine, toolchain and the settings of
the plan. The youngest approval of a key counts until it expires.
"""

from __future__ import annotations

import getpass
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from harness.core.errors import EvidenceError, UsageError
from harness.core.files import atomic_write, published_dir
from harness.core.frozen import thaw
from harness.core.hashing import semantic_hash, sha256_bytes
from harness.core.strict_json import StrictJsonError, pretty
from harness.core.strict_json import loads as load_strict
from harness.results.manifest import MANIFEST_NAME, ResultValidity, RunStatus
from harness.results.reader import RunArtifacts, read_bundle

STORE_NAME = "store.json"
STORE_SCHEMA = "harness.baseline-store"
STORE_VERSION = 1
APPROVAL_SCHEMA = "harness.baseline-approval"
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class BaselineKey:
    """What a baseline stands for. `intent` is the digest of the plan's settings: what is measured and how it is built.

    Neither the firmware's sources nor the compiler's patch level are part of it beyond `toolchain`: what a merge
    changes must still find its baseline.
    """

    model: str
    board: str
    engine: str
    toolchain: str
    intent: str

    @classmethod
    def of_plan(cls, plan: Any) -> BaselineKey:
        """The key of a `harness.plan.record.Plan`."""
        return cls._of(plan.model.sha256, plan.settings, plan.toolchain.name, plan.toolchain.version)

    @classmethod
    def of_bundle(cls, run: RunArtifacts) -> BaselineKey:
        """The key of one of our bundles.

        Raises:
            UsageError: it holds no plan, as bundles of other producers.
        """
        path = run.path / "plan.json"
        try:
            plan = load_strict(path.read_bytes(), source=path.name)
            model, settings, toolchain = plan["model"]["sha256"], plan["settings"], plan["toolchain"]
            if not isinstance(model, str) or not isinstance(settings, dict):
                raise TypeError("another form of plan")
            return cls._of(model, settings, toolchain["name"], toolchain["version"])
        except (OSError, StrictJsonError, ValueError, KeyError, TypeError):
            raise UsageError(
                f"{run.path} cannot be a baseline: it holds no plan that can be read.",
                why="A baseline is found by the settings of its plan.",
                todo="Measure one with this harness.",
            ) from None

    @classmethod
    def _of(cls, model: str, settings: Mapping[str, Any], name: str, version: str) -> BaselineKey:
        plain = {key: thaw(value) for key, value in settings.items()}
        digest = semantic_hash("settings", plain)
        return cls(model, str(plain.get("board")), str(plain.get("engine")), f"{name} {version}", digest)

    def differences(self, other: BaselineKey) -> list[str]:
        """What another key has that differs from this one, as text."""
        mine, theirs = asdict(self), asdict(other)
        return [f"{name} is {theirs[name]}, not {value}" for name, value in mine.items() if theirs[name] != value]


@dataclass(frozen=True)
class Approval:
    """One approval. `until` is the last day on which it counts, None for ever."""

    bundle: str
    key: BaselineKey
    reason: str
    by: str
    approved: str
    until: str | None = None
    run_id: str = ""

    def expired(self, today: date | None = None) -> bool:
        """Whether it no longer counts."""
        return self.until is not None and (today or datetime.now(UTC).date()) > date.fromisoformat(self.until)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as stored."""
        return {"schema": APPROVAL_SCHEMA, "schema_version": 1, **asdict(self)}

    @classmethod
    def load(cls, path: Path) -> Approval:
        """Read one file.

        Raises:
            EvidenceError: it is no approval.
        """
        try:
            data = load_strict(path.read_bytes(), source=path.name)
            if data.pop("schema") != APPROVAL_SCHEMA or data.pop("schema_version") != 1:
                raise ValueError("another schema")
            until = data.pop("until", None)
            if until is not None:
                date.fromisoformat(until)
            key = BaselineKey(**data.pop("key"))
            for name, value in {**data, **asdict(key)}.items():
                if not isinstance(value, str):
                    raise ValueError(f"{name} is no text")
            datetime.fromisoformat(data["approved"])
            if not _DIGEST.fullmatch(data["bundle"]):
                raise ValueError("bundle is no digest")
            return cls(**data, key=key, until=until)
        except (OSError, StrictJsonError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EvidenceError(
                f"{path} is no approval of a baseline.", why=str(error), todo="Restore it, or delete it."
            ) from None


class BaselineStore:
    """A store at a directory. With `create`, the first approval makes one where there is none.

    Raises:
        UsageError: there is none, or it is of a later version.
    """

    def __init__(self, path: Path | str, *, create: bool = False) -> None:
        self.path = Path(path)
        if is_store(self.path):
            version = _stated(self.path).get("schema_version")
            if type(version) is not int or version != STORE_VERSION:
                raise UsageError(
                    f"The baseline store at {path} is of version {version!r}; this harness reads {STORE_VERSION}.",
                    todo="Use the harness that wrote it, or a newer one.",
                )
        elif not create:
            raise UsageError(
                f"There is no baseline store at {path}.",
                todo="`harness baseline approve` makes one, or name another.",
            )

    def approve(self, bundle: Path | str, reason: str, *, until: date | None = None, by: str = "") -> Approval:
        """Copy a bundle into the store and approve it for its key.

        Raises:
            EvidenceError: the bundle is broken.
            UsageError: it is incomplete, invalid or holds no plan; no reason is given; the date has passed.
        """
        if not reason.strip():
            raise UsageError("An approval needs a reason.", todo="Say why these numbers are good: --reason TEXT.")
        if until is not None and until < datetime.now(UTC).date():
            raise UsageError(f"{until} has passed.", todo="Name a day to come, or leave out --until.")
        run = read_bundle(bundle)
        assert run.manifest is not None
        if run.manifest.status is not RunStatus.COMPLETE or run.manifest.validity is ResultValidity.INVALID:
            raise UsageError(
                f"{bundle} cannot be a baseline: it is {run.manifest.status.value} and {run.manifest.validity.value}.",
                todo="Approve a complete, valid run.",
            )
        key = BaselineKey.of_bundle(run)
        digest = sha256_bytes((run.path / MANIFEST_NAME).read_bytes())
        if not is_store(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic_write(self.path / STORE_NAME, pretty({"schema": STORE_SCHEMA, "schema_version": STORE_VERSION}))
        self._keep(run, digest)
        approval = Approval(
            digest,
            key,
            reason.strip(),
            by or getpass.getuser(),
            datetime.now(UTC).isoformat(timespec="microseconds"),
            until.isoformat() if until is not None else None,
            run.manifest.run_id,
        )
        folder = self.path / "approvals"
        folder.mkdir(exist_ok=True)
        stamp = approval.approved.replace("-", "").replace(":", "").replace("+0000", "Z")
        atomic_write(folder / f"{stamp}-{digest[:12]}.json", pretty(approval.to_dict()))
        return approval

    def _keep(self, run: RunArtifacts, digest: str) -> None:
        """Have the bundle in the store, whole: a damaged copy is replaced, one that somebody else makes is theirs."""
        assert run.manifest is not None
        place = self.bundle(digest)
        # Asked first: what somebody else publishes in the meantime is not damaged.
        there = place.is_dir()
        if _is_whole(place):
            return
        if there:
            shutil.rmtree(place, ignore_errors=True)
        try:
            with published_dir(place) as directory:
                for name in (MANIFEST_NAME, *(item.path for item in run.manifest.artifacts)):
                    (directory / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(run.path / name, directory / name)
        except OSError:
            if not _is_whole(place):
                raise

    def bundle(self, digest: str) -> Path:
        """Where the bundle of a digest lies."""
        return self.path / "bundles" / digest

    def approvals(self) -> tuple[Approval, ...]:
        """All approvals, oldest first."""
        found = [Approval.load(path) for path in (self.path / "approvals").glob("*.json")]
        return tuple(sorted(found, key=lambda item: (item.approved, item.bundle)))

    def current(self) -> tuple[Approval, ...]:
        """The approval that counts of each key, expired ones left out."""
        youngest = {item.key: item for item in self.approvals() if not item.expired()}
        return tuple(youngest.values())

    def find(self, key: BaselineKey, settings: Mapping[str, Any] | None = None) -> Path:
        """The baseline for a key. `settings` are those of the plan, to say which of them have no match.

        Raises:
            UsageError: there is none; it says what differs from the nearest.
            EvidenceError: its bundle is not in the store.
        """
        match = next((item for item in self.current() if item.key == key), None)
        if match is None:
            raise self._no_match(key, settings or {})
        place = self.bundle(match.bundle)
        if not (place / MANIFEST_NAME).is_file():
            raise EvidenceError(
                f"The baseline {match.bundle[:12]} is approved but its bundle is missing.",
                why=f"There is nothing at {place}.",
                todo="Restore the store, or approve again.",
            )
        if sha256_bytes((place / MANIFEST_NAME).read_bytes()) != match.bundle:
            raise EvidenceError(
                f"The baseline {match.bundle[:12]} is not the bundle that was approved.",
                why="Its manifest has another digest.",
                todo="Restore the store, or approve again.",
            )
        return place

    def _no_match(self, key: BaselineKey, settings: Mapping[str, Any]) -> UsageError:
        ranked = sorted(
            ((len(key.differences(item.key)), item.expired(), item) for item in self.approvals()),
            key=lambda row: row[:2],
        )
        if not ranked:
            why = "The store is empty."
        else:
            _, expired, nearest = ranked[0]
            told = [text for text in key.differences(nearest.key) if not text.startswith("intent ")]
            if nearest.key.intent != key.intent:
                told += [text for text in self._settings_that_differ(nearest, settings) if text not in told]
            told += [f"it expired after {nearest.until}"] if expired else []
            why = f"The nearest is {nearest.bundle[:12]} ({nearest.reason}): {'; '.join(told)}."
        return UsageError(
            f"No approved baseline in {self.path} fits.",
            why=why,
            todo="Measure one with these settings and approve it: harness baseline approve BUNDLE --reason TEXT.",
            context={"wanted": asdict(key)},
        )

    def _settings_that_differ(self, nearest: Approval, settings: Mapping[str, Any]) -> list[str]:
        try:
            theirs = json.loads((self.bundle(nearest.bundle) / "plan.json").read_bytes())["settings"]
        except (OSError, ValueError, KeyError, TypeError):
            theirs = {}
        mine = {name: thaw(value) for name, value in settings.items()}
        names = [name for name in sorted(mine.keys() & theirs.keys()) if mine[name] != theirs[name]]
        return [f"{name} is {theirs[name]}, not {mine[name]}" for name in names] or ["its settings differ"]


def is_store(path: Path) -> bool:
    """Whether a directory is a baseline store, of whatever version."""
    return _stated(path).get("schema") == STORE_SCHEMA


def _stated(path: Path) -> dict[str, Any]:
    try:
        data = load_strict((path / STORE_NAME).read_bytes())
    except (OSError, StrictJsonError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_whole(place: Path) -> bool:
    try:
        read_bundle(place)
    except EvidenceError:
        return False
    return True
