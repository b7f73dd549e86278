"""The directory of a capture: JSON records with canonical paths, checked key by key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from harness.core import strict_json
from harness.interop.captures.blobs import MAX_BLOB, Generation
from harness.interop.errors import ForeignFormatError

VERSION = 2
ARM_VENDOR = 0x13B5
_DEVICE = re.compile(r"Mali-(G[12])(?:[- ]|\Z)")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "capture.json": ("schema_version", "status", "error", "capture", "devices", "warnings", "pipelines"),
    "capture": (
        "layer_name", "layer_version", "commit_identity", "layer_implementation_version", "statistics_mode",
        "dispatch_filter",
    ),
    "device": ("id", "name", "vendor_id", "device_id", "driver_version", "api_version"),
    "pipeline": (
        "schema_version", "id", "friendly_name", "diagnostic_handle", "flags", "pipeline_layout_handle",
        "resource_bindings", "vendor_options", "identifier_only", "foreign_processing_engine", "statistics_enabled",
        "device_id", "shader", "artifacts", "sessions",
    ),
    "shader": (
        "module_id", "spirv_available", "friendly_name", "entry_point", "specialization_entries",
        "specialization_data_size",
    ),
    "session": (
        "schema_version", "id", "pipeline_id", "device_id", "friendly_name", "diagnostic_handle", "flags", "dispatches",
    ),
    "dispatch": (
        "schema_version", "id", "session_id", "executed_index", "diagnostic_command_buffer_handle", "artifacts",
    ),
    "artifact": ("path", "type", "size"),
    "reference": ("id", "path"),
}  # fmt: skip


@dataclass(frozen=True)
class Device:
    """The device that was captured, and the generation its name states."""

    id: int
    name: str
    vendor_id: int | None
    device_id: int | None
    generation: Generation


@dataclass(frozen=True)
class Dispatch:
    """One dispatch with everything needed to read its statistics."""

    directory: Path
    relative: str
    executed_index: int
    mode: int
    device: Device
    pipeline: int
    pipeline_name: str
    statistics: Path
    info: Path
    debug: Path
    shader: Path


@dataclass(frozen=True)
class CaptureTree:
    """A capture's dispatches in order of pipeline, session and dispatch id; warnings of the layer and of reading."""

    root: Path
    dispatches: tuple[Dispatch, ...]
    warnings: tuple[str, ...]


class TreeReader:
    """Reads one capture. Without `strict`, unknown keys are warned about instead of refused."""

    def __init__(self, root: Path, *, strict: bool) -> None:
        self.root, self.strict = root, strict
        self.warnings: list[str] = []
        self.seen: set[tuple[str, int]] = set()

    def fail(self, what: str, file: str, field: str, why: str = "") -> ForeignFormatError:
        """The error of one field of one file."""
        return ForeignFormatError(what, file=str(self.root / file), field=field, why=why)

    def read(self) -> CaptureTree:
        """The whole tree.

        Raises:
            ForeignFormatError: with the file and the field.
        """
        if not self.root.is_dir() or self.root.is_symlink():
            raise self.fail("There is no capture directory.", "", "", str(self.root))
        top = self._json("capture.json", "capture.json")
        if top["status"] != "complete" or top["error"] is not None:
            raise self.fail("The capture is not complete.", "capture.json", "status", f"{top['status']!r}")
        facts = self._object(top, "capture", "capture", "capture.json")
        mode = facts["statistics_mode"]
        if type(mode) is not int or mode not in (0, 1):
            raise self.fail("The statistics mode is not 0 or 1.", "capture.json", "capture.statistics_mode", repr(mode))
        self._text(facts, "layer_name", "capture.json")
        self._number(facts, "layer_implementation_version", "capture.json")
        devices = self._devices(top)
        notes = top["warnings"]
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise self.fail("Warnings are not a list of texts.", "capture.json", "warnings")
        dispatches: list[Dispatch] = []
        for path in self._references(top, "pipelines", "pipeline", "", "capture.json"):
            dispatches += self._pipeline(path, mode, devices)
        return CaptureTree(self.root, tuple(dispatches), (*notes, *self.warnings))

    def _devices(self, top: Mapping[str, Any]) -> dict[int, Device]:
        items = top["devices"]
        if not isinstance(items, list) or not items:
            raise self.fail("The capture names no device.", "capture.json", "devices")
        out: dict[int, Device] = {}
        for index, item in enumerate(items):
            self._keys(item, "device", "capture.json", f"devices[{index}]")
            name = self._text(item, "name", "capture.json")
            key = self._number(item, "id", "capture.json")
            match = _DEVICE.match(name)
            if key in out:
                raise self.fail("Two devices have one id.", "capture.json", f"devices[{index}].id", str(key))
            if item["vendor_id"] != ARM_VENDOR or match is None:
                raise self.fail(
                    "The device is none whose layout is known.",
                    "capture.json",
                    f"devices[{index}]",
                    f"{name!r}, vendor {item['vendor_id']!r}; known are Mali-G1 and Mali-G2",
                )
            generation: Generation = "G1" if match.group(1) == "G1" else "G2"
            out[key] = Device(key, name, item["vendor_id"], item["device_id"], generation)
        return out

    def _pipeline(self, path: str, mode: int, devices: Mapping[int, Device]) -> list[Dispatch]:
        data = self._json(path, "pipeline")
        if data["statistics_enabled"] is not True:
            raise self.fail("Statistics were not enabled.", path, "statistics_enabled")
        device = devices.get(data["device_id"]) if type(data["device_id"]) is int else None
        if device is None:
            raise self.fail("The pipeline is of no device of the capture.", path, "device_id", repr(data["device_id"]))
        shader = self._object(data, "shader", "shader", path)
        if shader["spirv_available"] is not True:
            raise self.fail("The shader's SPIR-V is not available.", path, "shader.spirv_available")
        files = self._artifacts(data, path, ("debug_database", "statistics_info", "shader_module"))
        name = data["friendly_name"] if isinstance(data["friendly_name"], str) else ""
        out: list[Dispatch] = []
        own = str(PurePosixPath(path).parent)
        for session_path in self._references(data, "sessions", "session", own, path):
            session = self._json(session_path, "session")
            if session["pipeline_id"] != data["id"] or session["device_id"] != data["device_id"]:
                raise self.fail("The session is of another pipeline or device.", session_path, "pipeline_id")
            base = str(PurePosixPath(session_path).parent)
            for item_path in self._references(session, "dispatches", "dispatch", base, session_path):
                item = self._json(item_path, "dispatch")
                if item["session_id"] != session["id"]:
                    raise self.fail("The dispatch is of another session.", item_path, "session_id")
                found = self._artifacts(item, item_path, ("dispatch_statistics",))
                statistics = found["dispatch_statistics"]
                if statistics.name != f"statistics_mode{mode}.bin":
                    raise self.fail("The statistics are of another mode.", item_path, "artifacts", statistics.name)
                directory = str(PurePosixPath(item_path).parent)
                index = self._number(item, "executed_index", item_path)
                out.append(
                    Dispatch(
                        self.root / directory, directory, index, mode, device, data["id"], name, statistics,
                        files["statistics_info"], files["debug_database"], files["shader_module"],
                    )
                )  # fmt: skip
        return out

    def _json(self, path: str, kind: str) -> dict[str, Any]:
        data = strict_json.load(self._file(path))
        self._keys(data, kind, path, "")
        if data["schema_version"] != VERSION or isinstance(data["schema_version"], bool):
            raise self.fail("Unknown schema version.", path, "schema_version", repr(data["schema_version"]))
        assert isinstance(data, dict)
        if kind in ("pipeline", "session", "dispatch"):
            self._number(data, "id", path)
            expected = f"{kind}_{data['id']:06d}"
            if PurePosixPath(path).parent.name != expected:
                raise self.fail("The record's id is not that of its directory.", path, "id", expected)
        return data

    def _file(self, path: str) -> Path:
        pure = PurePosixPath(path)
        if "\\" in path or "\0" in path or ":" in path or pure.is_absolute() or ".." in pure.parts or str(pure) != path:
            raise self.fail("A path is not canonical.", path, "path")
        place = self.root
        for part in pure.parts:
            place = place / part
            if place.is_symlink():
                raise self.fail("A capture must not hold symbolic links.", path, "path", part)
        if not place.is_file():
            raise self.fail("A file of the capture is missing.", path, "path")
        return place

    def _keys(self, data: Any, kind: str, file: str, field: str) -> None:
        if not isinstance(data, dict):
            raise self.fail("This has to be an object.", file, field or kind)
        missing = [key for key in _KEYS[kind] if key not in data]
        unknown = [key for key in data if key not in _KEYS[kind]]
        if missing:
            raise self.fail("Keys are missing.", file, field or kind, ", ".join(missing))
        if unknown and self.strict:
            raise self.fail("Unknown keys.", file, field or kind, ", ".join(unknown[:8]))
        if unknown:
            self.warnings.append(f"{file}: unknown keys in {field or kind}: {', '.join(unknown[:8])}")

    def _object(self, data: Mapping[str, Any], key: str, kind: str, file: str) -> Mapping[str, Any]:
        self._keys(data[key], kind, file, key)
        value = data[key]
        assert isinstance(value, dict)
        return value

    def _text(self, data: Mapping[str, Any], key: str, file: str) -> str:
        value = data[key]
        if not isinstance(value, str) or not value:
            raise self.fail("This has to be a non-empty text.", file, key, repr(value)[:60])
        return value

    def _number(self, data: Mapping[str, Any], key: str, file: str) -> int:
        value = data[key]
        if type(value) is not int or value < 0:
            raise self.fail("This has to be a whole number from 0.", file, key, repr(value)[:60])
        return value

    def _references(self, data: Mapping[str, Any], key: str, kind: str, base: str, file: str) -> list[str]:
        items = data[key]
        if not isinstance(items, list):
            raise self.fail("This has to be a list.", file, key)
        out: list[str] = []
        for index, item in enumerate(items):
            self._keys(item, "reference", file, f"{key}[{index}]")
            number = self._number(item, "id", file)
            wanted = "/".join(part for part in (base, f"{kind}_{number:06d}", f"{kind}.json") if part)
            if item["path"] != wanted:
                raise self.fail("A path is not the canonical one.", file, f"{key}[{index}].path", f"not {wanted}")
            if (kind, number) in self.seen:
                raise self.fail("An id is used twice.", file, f"{key}[{index}].id", str(number))
            self.seen.add((kind, number))
            out.append(wanted)
        return out

    def _artifacts(self, data: Mapping[str, Any], file: str, wanted: tuple[str, ...]) -> dict[str, Path]:
        items = data["artifacts"]
        if not isinstance(items, list):
            raise self.fail("This has to be a list.", file, "artifacts")
        out: dict[str, Path] = {}
        for index, item in enumerate(items):
            field = f"artifacts[{index}]"
            self._keys(item, "artifact", file, field)
            kind, path = item["type"], item["path"]
            if kind not in wanted or kind in out:
                raise self.fail("An artifact is unexpected or there twice.", file, field, repr(kind))
            if not isinstance(path, str) or PurePosixPath(path).parent != PurePosixPath(file).parent:
                raise self.fail("An artifact is not beside its record.", file, f"{field}.path", repr(path)[:80])
            place = self._file(path)
            size = place.stat().st_size
            if type(item["size"]) is not int or item["size"] <= 0 or item["size"] != size:
                raise self.fail(
                    "An artifact has another size than stated.",
                    file,
                    f"{field}.size",
                    f"{item['size']!r}, it has {size}",
                )
            if size > MAX_BLOB:
                raise self.fail("An artifact is too large.", file, f"{field}.size", str(size))
            out[kind] = place
        missing = [kind for kind in wanted if kind not in out]
        if missing:
            raise self.fail("An artifact is missing.", file, "artifacts", ", ".join(missing))
        return out


def read_tree(root: Path, *, strict: bool = False) -> CaptureTree:
    """Read the tree of a capture; `ForeignFormatError` names file and field."""
    return TreeReader(root, strict=strict).read()
