"""The frozen plan: every setting that decides the firmware and what it measures, with an identity of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.core import strict_json
from harness.core.errors import PlanError, SettingsError
from harness.core.files import atomic_write
from harness.core.frozen import freeze as deep_freeze
from harness.core.frozen import thaw
from harness.core.hashing import semantic_hash
from harness.plan.settings import IDENTITY_SETTINGS, PLAN_SETTINGS, check_value
from harness.plan.toolchain import ToolchainFacts

SCHEMA = "harness.frozen-run"
SCHEMA_VERSION = 1
_HEX64 = r"^[0-9a-f]{64}$"


@dataclass(frozen=True)
class PlanModel:
    """The model a plan was frozen from. Only its bytes are part of the plan's identity."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class PlanTree:
    """Sources from outside the package that the engine needs. Where they lie is no part of the plan's identity.

    `option` is the engine option that named the directory; empty when the engine finds it by itself, and then `path` is
    where it was found.
    """

    name: str
    option: str
    path: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Plan:
    """A frozen plan.

    `settings` is complete, by names with dashes; `board_facts` is what the board type's descriptor said about firmware;
    `baseline` is the fingerprint of the package's own firmware and generators; `trees` are the engine's further
    sources.
    """

    settings: Mapping[str, Any]
    model: PlanModel
    board_facts: Mapping[str, Any]
    toolchain: ToolchainFacts
    baseline: str
    harness_version: str
    trees: tuple[PlanTree, ...] = ()

    @property
    def board(self) -> str:
        """Name of the board type."""
        return str(self.settings["board"])

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self.settings["engine"])

    @property
    def cpu_clock_hz(self) -> int:
        """Rate of the chosen CPU clock in hertz."""
        return int(self.board_facts["clocks"][self.settings["cpu-clock"]])

    def intent_basis(self) -> dict[str, Any]:
        """What the identity is a hash of: no path, no time, nothing of this host."""
        return {
            "settings": {name: value for name, value in thaw(self.settings).items() if name in IDENTITY_SETTINGS},
            "model": [self.model.sha256, self.model.size_bytes],
            "board": thaw(self.board_facts),
            "baseline": self.baseline,
            "toolchain": [self.toolchain.name, self.toolchain.version, self.toolchain.libraries],
            "trees": [[tree.name, tree.sha256] for tree in self.trees],
        }

    @property
    def intent_hash(self) -> str:
        """The plan's identity, `harness.intent/1:sha256:<hex>`."""
        return semantic_hash("intent", self.intent_basis())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as saved."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "intent_hash": self.intent_hash,
            "settings": thaw(self.settings),
            "model": asdict(self.model),
            "board": thaw(self.board_facts),
            "toolchain": asdict(self.toolchain),
            "trees": [asdict(tree) for tree in self.trees],
            "baseline": self.baseline,
            "harness_version": self.harness_version,
        }

    def to_json(self) -> str:
        """The text that `save` writes."""
        return strict_json.pretty(self.to_dict())

    def save(self, path: Path | str) -> Path:
        """Write the plan in one step; returns the path. OSError when the directory does not exist."""
        target = Path(path)
        atomic_write(target, self.to_json())
        return target

    @classmethod
    def load(cls, path: Path | str) -> Plan:
        """Read a saved plan.

        Raises:
            PlanError: unreadable, not strict JSON, of another version, edited.
        """
        source = Path(path)
        try:
            value = strict_json.load(source)
        except strict_json.StrictJsonError as fault:
            raise PlanError(
                f"The plan {source} cannot be read.",
                why=f"{fault.what} {fault.why}",
                todo=_AGAIN if source.exists() else "Check the path.",
            ) from None
        return cls.from_dict(value, source=str(source))

    @classmethod
    def from_dict(cls, value: Any, *, source: str = "plan") -> Plan:
        """A plan from its JSON form; raises like `load`."""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            found = value.get("schema") if isinstance(value, dict) else type(value).__name__
            raise PlanError(f"{source} is not a plan.", why=f"Its schema is {found!r}, not {SCHEMA!r}.", todo=_AGAIN)
        version = value.get("schema_version")
        if type(version) is not int or version != SCHEMA_VERSION:
            raise PlanError(f"{source} is a plan of version {version!r}.", why=f"Known: {SCHEMA_VERSION}.", todo=_AGAIN)
        try:
            raw = _RawPlan.model_validate(value)
        except ValidationError as fault:
            first = fault.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise PlanError(
                f"{source} is not a plan of version 1.", why=f"{key}: {first['msg']}.", todo=_AGAIN
            ) from None
        plan = cls(
            settings=deep_freeze(_checked(raw.settings, source)),
            model=PlanModel(raw.model.path, raw.model.sha256, raw.model.size_bytes),
            board_facts=deep_freeze(raw.board),
            toolchain=ToolchainFacts(raw.toolchain.name, raw.toolchain.version, raw.toolchain.libraries),
            baseline=raw.baseline,
            harness_version=raw.harness_version,
            trees=tuple(PlanTree(**tree.model_dump()) for tree in raw.trees),
        )
        if plan.settings["cpu-clock"] not in plan.board_facts.get("clocks", {}):
            raise PlanError(f"{source} names a clock its board facts lack.", todo=_AGAIN)
        if plan.intent_hash != raw.intent_hash:
            raise PlanError(
                f"{source} was edited after it was frozen.",
                why=f"It states {raw.intent_hash}, its content gives {plan.intent_hash}.",
                todo=_AGAIN,
                context={"stated": raw.intent_hash, "computed": plan.intent_hash},
            )
        return plan


_AGAIN = "Freeze the plan again."


def _checked(settings: Mapping[str, Any], source: str) -> dict[str, Any]:
    if set(settings) != set(PLAN_SETTINGS):
        odd = sorted(set(settings) ^ set(PLAN_SETTINGS))
        raise PlanError(f"{source} does not hold the settings of a plan.", why=f"Odd: {', '.join(odd)}.", todo=_AGAIN)
    for name, value in settings.items():
        try:
            stored = check_value(name, value)
        except SettingsError as fault:
            raise PlanError(f"{source} holds a setting that is not allowed.", why=fault.what, todo=_AGAIN) from None
        if stored != value or type(stored) is not type(value):
            raise PlanError(f"{source} holds setting {name!r} in another form than frozen.", todo=_AGAIN)
    for name in ("board", "cpu-clock", "arena-location", "weights-location"):
        if settings[name] is None:
            raise PlanError(f"{source} leaves {name!r} open.", todo=_AGAIN)
    return dict(settings)


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _RawModel(_Raw):
    path: str
    sha256: str = Field(pattern=_HEX64)
    size_bytes: int = Field(ge=0)


class _RawToolchain(_Raw):
    name: str
    version: str
    libraries: str = Field(pattern=_HEX64)


class _RawTree(_Raw):
    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    option: str
    path: str
    version: str
    sha256: str = Field(pattern=_HEX64)


class _RawPlan(_Raw):
    schema_: str = Field(alias="schema")
    schema_version: int
    intent_hash: str
    settings: dict[str, Any]
    model: _RawModel
    board: dict[str, Any]
    toolchain: _RawToolchain
    trees: list[_RawTree] = []
    baseline: str = Field(pattern=_HEX64)
    harness_version: str
