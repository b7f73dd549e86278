"""The record of a build: which files it made, what they are, and everything re-verified when it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.core import strict_json
from harness.core.errors import EvidenceError, PlanError
from harness.core.hashing import semantic_hash, sha256_bytes, sha256_file
from harness.core.paths import relative_to_root, resolve_inside
from harness.image.build_header import FILE_NAME, Lifecycle, TimingScope, Variant, build_header
from harness.image.elf import REQUEST_SYMBOL, ElfFacts, MemoryUse, Region, read_elf
from harness.image.engine_facts import EngineFacts
from harness.plan.record import Plan

SCHEMA = "harness.compiled-build"
SCHEMA_VERSION = 1
RECORD_NAME = "build.json"
_AGAIN = "Build the plan again."


@dataclass(frozen=True)
class PinnedFile:
    """A file inside the build directory, pinned by its digest."""

    path: Path
    name: str
    sha256: str
    size_bytes: int

    @classmethod
    def of(cls, path: Path, root: Path) -> PinnedFile:
        """Pin a file as it is now."""
        return cls(path, relative_to_root(path, root), sha256_file(path), path.stat().st_size)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: `{root, path, sha256, size_bytes}`."""
        return {"root": "run", "path": self.name, "sha256": self.sha256, "size_bytes": self.size_bytes}


@dataclass(frozen=True)
class BuildInput:
    """Default bytes of one model input."""

    file: PinnedFile
    source: Literal["file", "zero"]


@dataclass(frozen=True)
class Build:
    """A verified build.

    `directory` may be moved as a unit; `sha256` is the digest of the ELF; `basis` names every source and flag that
    decided it.
    """

    directory: Path
    plan: Plan
    build_id: str
    lifecycle: Lifecycle
    timing_scope: TimingScope
    engine: EngineFacts
    inputs: tuple[BuildInput, ...]
    elf_facts: ElfFacts = field(repr=False)
    elf_file: PinnedFile
    flat_image: PinnedFile
    link_map: PinnedFile
    model_file: PinnedFile
    generated: tuple[PinnedFile, ...] = field(repr=False)
    basis: Mapping[str, Any] = field(repr=False)
    harness_version: str
    variant: Variant = "profile"

    @property
    def elf(self) -> Path:
        """The ELF image."""
        return self.elf_file.path

    @property
    def sha256(self) -> str:
        """Digest of the ELF image."""
        return self.elf_file.sha256

    @property
    def rtt_address(self) -> int | None:
        """Address of the RTT control block; None where the image's transport is another."""
        return self.elf_facts.rtt_address

    @property
    def memory(self) -> Mapping[str, MemoryUse]:
        """Bytes used by memory region."""
        return self.elf_facts.memory

    @property
    def model_path(self) -> Path:
        """The build's own copy of the model."""
        return self.model_file.path

    @property
    def record_path(self) -> Path:
        """`build.json`."""
        return self.directory / RECORD_NAME

    def input_bytes(self) -> tuple[bytes, ...]:
        """Default bytes of each model input, in the model's order."""
        return tuple(item.file.path.read_bytes() for item in self.inputs)

    def _content(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "plan": self.plan.to_dict(),
            "lifecycle": self.lifecycle,
            "timing_scope": self.timing_scope,
            "variant": self.variant,
            "build_id": self.build_id,
            "basis": dict(self.basis),
            "engine": self.engine.to_dict(),
            "files": {
                "elf": self.elf_file.to_dict(),
                "flat_image": self.flat_image.to_dict(),
                "link_map": self.link_map.to_dict(),
                "model": self.model_file.to_dict(),
            },
            "generated": [pin.to_dict() for pin in self.generated],
            "inputs": [{"file": item.file.to_dict(), "source": item.source} for item in self.inputs],
            "image": image_facts(self.elf_facts),
            "harness_version": self.harness_version,
        }

    @property
    def build_hash(self) -> str:
        """The build's identity, `harness.build/1:sha256:<hex>`: image, plan, model, inputs; no path, no version."""
        content = self._content()
        for key in ("harness_version", "generated"):
            del content[key]
        content["plan"] = self.plan.intent_hash
        content["files"] = {key: pin["sha256"] for key, pin in content["files"].items() if key != "link_map"}
        content["inputs"] = [[item.file.sha256, item.source] for item in self.inputs]
        return semantic_hash("build", content)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as saved."""
        return sealed({**self._content(), "build_hash": self.build_hash})


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with a hash over all of it, also over what is no part of the build's identity."""
    content = {key: value for key, value in record.items() if key != "record_hash"}
    return {**content, "record_hash": semantic_hash("record", content)}


def image_facts(facts: ElfFacts) -> dict[str, Any]:
    """What a record states of an image, JSON-ready."""
    return {
        "entry": facts.entry,
        "rtt_address": facts.rtt_address,
        "memory": {
            name: {
                "length": use.length,
                "text": use.text,
                "data": use.data,
                "bss": use.bss,
                "initial_values": use.initial_values,
                "used": use.used,
            }
            for name, use in facts.memory.items()
        },
    }


def board_regions(plan: Plan) -> tuple[Region, ...]:
    """The memory of a plan's board."""
    return tuple(Region(m["name"], m["kind"], m["origin"], m["length"]) for m in plan.board_facts["memory"])


def code_region(plan: Plan) -> Region:
    """The memory that the board boots from: the first of kind code."""
    return next(region for region in board_regions(plan) if region.kind == "code")


def compute_build_id(plan: Plan, lifecycle: str, timing_scope: str, basis: Mapping[str, Any]) -> str:
    """32 hexadecimal digits derived from everything that decides the image."""
    value = {"intent": plan.intent_hash, "lifecycle": lifecycle, "timing_scope": timing_scope, "basis": dict(basis)}
    return sha256_bytes(strict_json.canonical(value))[:32]


def load_build(path: Path | str) -> Build:
    """Read a build directory (or its `build.json`) and verify all of it: digests, plan, build id, ELF, inputs.

    Raises:
        EvidenceError: a file is missing, changed, or contradicts another; the message names it.
    """
    given = Path(path)
    record_path = given / RECORD_NAME if given.is_dir() else given
    value = strict_json.load(record_path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise _broken(f"{record_path} is not the record of a build.", f"Its schema is not {SCHEMA!r}.")
    if type(value.get("schema_version")) is not int or value["schema_version"] != SCHEMA_VERSION:
        raise _broken(f"{record_path} is of version {value.get('schema_version')!r}.", f"Known: {SCHEMA_VERSION}.")
    if record_path.read_text("utf-8") != strict_json.pretty(value):
        raise _broken(f"{record_path.name} was edited.", "Its text is not in the form the harness writes.")
    try:
        raw = _RawBuild.model_validate(value)
        plan = Plan.from_dict(raw.plan, source=f"The plan inside {record_path.name}")
        engine = EngineFacts.from_dict(raw.engine)
        regions = board_regions(plan)
    except ValidationError as fault:
        first = fault.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise _broken(f"{record_path.name} is malformed.", f"{key}: {first['msg']}.") from None
    except PlanError as fault:
        raise _broken(f"{record_path.name} holds a plan that cannot be used.", str(fault)) from None
    except (KeyError, TypeError) as fault:
        raise _broken(f"{record_path.name} is malformed.", f"{type(fault).__name__}: {fault}") from None
    root = record_path.parent.absolute()
    elf_file = _open_pin(raw.files.elf, root)
    build = Build(
        directory=root,
        plan=plan,
        build_id=raw.build_id,
        lifecycle=raw.lifecycle,
        timing_scope=raw.timing_scope,
        engine=engine,
        inputs=tuple(BuildInput(_open_pin(item.file, root), item.source) for item in raw.inputs),
        elf_facts=read_elf(elf_file.path, regions),
        elf_file=elf_file,
        flat_image=_open_pin(raw.files.flat_image, root),
        link_map=_open_pin(raw.files.link_map, root),
        model_file=_open_pin(raw.files.model, root),
        generated=tuple(_open_pin(pin, root) for pin in raw.generated),
        basis=raw.basis.model_dump(),
        harness_version=raw.harness_version,
        variant=raw.variant,
    )
    verify(build)
    if image_facts(build.elf_facts) != raw.image:
        raise _broken(f"{elf_file.name} is not the image that {record_path.name} describes.", "Its memory use differs.")
    if sealed(value)["record_hash"] != raw.record_hash:
        raise _broken(f"{record_path.name} was edited.", "Its hash over itself does not hold.")
    if build.build_hash != raw.build_hash:
        raise _broken(f"{record_path.name} was edited.", f"States {raw.build_hash}, content gives {build.build_hash}.")
    return build


def verify(build: Build) -> None:
    """Check that the parts of a build agree with each other; `EvidenceError` names the first that does not."""
    plan = build.plan
    expected = compute_build_id(plan, build.lifecycle, build.timing_scope, build.basis)
    pins = {pin.name: pin for pin in build.generated}
    header = pins.get(f"generated/{FILE_NAME}")
    text = build_header(plan, build.build_id, build.lifecycle, build.timing_scope)
    generated = {name: digest for name, digest in build.basis["sources"].items() if name.startswith("generated/")}
    sizes = [(item.file.size_bytes, item.file.name) for item in build.inputs]
    checks = (
        (
            build.build_id == expected,
            f"{RECORD_NAME}: the build id",
            f"It is {build.build_id}, sources give {expected}.",
        ),
        (
            (build.elf_facts.symbol(REQUEST_SYMBOL) is not None) == (build.variant == "power"),
            build.elf_file.name,
            f"It is no image of the variant {build.variant}.",
        ),
        (build.elf_facts.build_id == build.build_id, build.elf_file.name, "It carries the id of another build."),
        (
            build.model_file.sha256 == plan.model.sha256 and build.model_file.size_bytes == plan.model.size_bytes,
            build.model_file.name,
            "It is not the model of the plan.",
        ),
        (build.engine.name == plan.engine, f"{RECORD_NAME}: the engine", f"The plan asks for {plan.engine!r}."),
        (
            [size for size, _ in sizes] == [tensor.nbytes for tensor in build.engine.input_tensors],
            f"{RECORD_NAME}: the inputs",
            "Their number or sizes are not those of the model's inputs.",
        ),
        (header is not None and header.path.read_text("utf-8") == text, f"generated/{FILE_NAME}", "Not of this build."),
        (
            all(name in pins and pins[name].sha256 == digest for name, digest in generated.items()),
            "generated/",
            "The sources are not those the build id was derived from.",
        ),
        (
            build.flat_image.path.read_bytes() == build.elf_facts.flat_image(code_region(plan)),
            build.flat_image.name,
            f"It is not the content of {build.elf_file.name}.",
        ),
    )
    for holds, what, why in checks:
        if not holds:
            raise _broken(f"{what} does not belong to this build.", why)


def _broken(what: str, why: str) -> EvidenceError:
    return EvidenceError(what, why=why, todo=_AGAIN)


def _open_pin(raw: _RawPin, root: Path) -> PinnedFile:
    path = resolve_inside(root, raw.path)
    try:
        size = path.stat().st_size
        digest = sha256_file(path) if size == raw.size_bytes else ""
    except OSError as fault:
        raise _broken(f"{raw.path} cannot be read.", fault.strerror or str(fault)) from None
    if size != raw.size_bytes:
        raise _broken(f"{raw.path} was changed.", f"It has {size} bytes, {raw.size_bytes} were recorded.")
    if digest != raw.sha256:
        raise _broken(f"{raw.path} was changed.", f"Its sha256 is {digest}, {raw.sha256} was recorded.")
    return PinnedFile(path, raw.path, raw.sha256, raw.size_bytes)


class _Raw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _RawPin(_Raw):
    root: Literal["run"]
    path: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size_bytes: int = Field(ge=0)


class _RawInput(_Raw):
    file: _RawPin
    source: Literal["file", "zero"]


class _RawFiles(_Raw):
    elf: _RawPin
    flat_image: _RawPin
    link_map: _RawPin
    model: _RawPin


class _RawBasis(_Raw):
    sources: dict[str, str]
    units: list[str]
    cflags: list[str]
    app_flags: list[str]
    ldflags: list[str]
    trees: dict[str, str]
    tree_flags: list[str]
    libraries: dict[str, str]


class _RawBuild(_Raw):
    schema_: str = Field(alias="schema")
    schema_version: int
    plan: dict[str, Any]
    lifecycle: Lifecycle
    timing_scope: TimingScope
    variant: Variant
    build_id: str = Field(pattern=r"^[0-9a-f]{32}$")
    basis: _RawBasis
    engine: dict[str, Any]
    files: _RawFiles
    generated: list[_RawPin]
    inputs: list[_RawInput]
    image: dict[str, Any]
    harness_version: str
    build_hash: str
    record_hash: str
