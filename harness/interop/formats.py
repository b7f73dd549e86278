"""Foreign formats, recognised by what they hold, never by their names. Adding one is one entry in `FORMATS`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import HarnessError
from harness.interop.errors import ForeignFormatError

HEAD_BYTES = 4096


@dataclass(frozen=True)
class ImportOptions:
    """Choices that a format may need."""

    strict: bool = False
    method: str | None = None
    model: Path | None = None
    ticks_per_ms: float = 1e6
    statistics_mode: int | None = None
    generation: Any = None


Reader = Callable[[Sequence[Path], ImportOptions], dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """One foreign format: how it is told from others, and how it becomes a standardized document."""

    name: str
    title: str
    recognises: Callable[[Path, bytes], bool]
    read: Reader


@dataclass(frozen=True)
class Imported:
    """A document, and the format its source was taken for."""

    format: str
    title: str
    document: dict[str, Any]


def _bundle(path: Path, head: bytes) -> bool:
    place = path / "result_manifest.json" if path.is_dir() else path
    return place.name == "result_manifest.json" and place.is_file() and b"hpx.result-manifest" in place.read_bytes()


def _read_bundle(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    from harness.interop.bundle import standardized
    from harness.results.operators import operators_of
    from harness.results.reader import read_bundle

    run = read_bundle(_one(paths), strict=True)
    return standardized(run, operators_of(run))


def _capture(path: Path, head: bytes) -> bool:
    return path.is_dir() and any((place / "capture.json").is_file() for place in (path, *path.resolve().parents[:4]))


def _read_capture(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    from harness.interop.captures.standard import standard_document

    return standard_document(paths, strict=options.strict, model=options.model)


def _etdump(path: Path, head: bytes) -> bool:
    from harness.interop.etdump.dump import looks_like_etdump

    return looks_like_etdump(head) or _etrecord(path, head)


def _etrecord(path: Path, head: bytes) -> bool:
    # The marker is the archive's first member; its name follows the local file header.
    return head.startswith(b"PK\x03\x04") and b"ETRECORD_V0" in head


def _read_etdump(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    from harness.interop.etdump.dump import read_etdump, read_etdump_file
    from harness.interop.etdump.record import read_etrecord
    from harness.interop.etdump.standard import standard_document

    dumps = [path for path in paths if not _etrecord(path, _head(path))]
    records = [path for path in paths if path not in dumps]
    if len(dumps) != 1 or len(records) > 1:
        raise ForeignFormatError(
            "An import takes exactly one ETDump, with at most one ETRecord.",
            why=f"{len(dumps)} dumps and {len(records)} records were named",
            todo="Name the dump, and the record that belongs to it.",
        )
    record = read_etrecord(records[0], options.method) if records else None
    read_etdump_file(dumps[0])
    raw = dumps[0].read_bytes()
    return standard_document(
        read_etdump(raw, str(dumps[0])),
        record,
        raw=raw,
        ticks_per_ms=options.ticks_per_ms,
        mode=options.statistics_mode,
        generation=options.generation,
    )


def _vela(path: Path, head: bytes) -> bool:
    from harness.interop.vela.tables import looks_like_vela

    return looks_like_vela(head) if path.is_file() else any(path.glob("*_summary_*.csv"))


def _read_vela(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    from harness.interop.vela.standard import standard_document
    from harness.interop.vela.tables import find_tables, read_tables
    from harness.model.load import load_model

    model = load_model(options.model) if options.model is not None else None
    return standard_document(read_tables(*find_tables(paths[0])), model)


def _mlia(path: Path, head: bytes) -> bool:
    return path.is_file() and head.lstrip()[:1] == b"{"


def _read_mlia(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    from harness.interop.mlia.validate import read_document

    return read_document(_one(paths))


def _one(paths: Sequence[Path]) -> Path:
    if len(paths) != 1:
        raise ForeignFormatError(
            "This format is imported one at a time.",
            why=f"{len(paths)} paths were named",
            todo="Name one of them.",
        )
    return paths[0]


FORMATS: Mapping[str, Format] = {
    item.name: item
    for item in (
        Format("hpx", "result bundle", _bundle, _read_bundle),
        Format("capture", "neural-statistics capture, schema version 2", _capture, _read_capture),
        Format("etdump", "ExecuTorch ETDump", _etdump, _read_etdump),
        Format("vela", "Vela tables", _vela, _read_vela),
        Format("mlia", "standardized output 1.2.0", _mlia, _read_mlia),
    )
}
"""Every format, in the order in which it is asked whether a path is one of its own."""


def _head(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise ForeignFormatError("The file cannot be read.", file=str(path), why=str(error)) from None


def _seen(path: Path, head: bytes) -> str:
    if path.is_dir():
        return "it is a directory without a result_manifest.json, a capture.json or Vela's tables"
    return f"it begins with {head[:12].hex()}" if head else "it is empty"


def recognise(path: Path) -> Format:
    """The format of a path by its content; `ForeignFormatError` lists what is known."""
    if not path.exists():
        raise ForeignFormatError("There is no such file or directory.", file=str(path), todo="Check the path.")
    head = _head(path)
    for item in FORMATS.values():
        if item.recognises(path, head):
            return item
    raise ForeignFormatError(
        "This is no format that can be imported.",
        file=str(path),
        why=_seen(path, head),
        todo=f"Known are: {', '.join(f'{item.name} ({item.title})' for item in FORMATS.values())}.",
    )


def import_paths(paths: Sequence[Path], options: ImportOptions | None = None) -> Imported:
    """Import one result; several paths only where the format takes several.

    Raises:
        ForeignFormatError: no known format, or paths of different formats.
        HarnessError: the file is damaged; typed, with file and field.
    """
    found = {recognise(path).name for path in paths}
    if len(found) != 1:
        raise ForeignFormatError(
            "The paths are of different formats.", why=", ".join(sorted(found)), todo="Import them one by one."
        )
    item = FORMATS[found.pop()]
    return Imported(item.name, item.title, item.read(paths, options or ImportOptions()))


def failed_document(error: HarnessError, paths: Sequence[Path]) -> dict[str, Any]:
    """A document of status failed for an import that did not succeed: failure is data."""
    from harness.interop.mlia.build import document

    digest = hashlib.sha256("\0".join(map(str, paths)).encode("utf-8", "backslashreplace")).hexdigest()
    return document(
        run_id=f"failed:{digest}",
        timestamp="1970-01-01T00:00:00+00:00",
        target={
            "profile_name": "unknown",
            "target_type": "unknown",
            "components": [{"type": "soc", "family": "unknown"}],
            "configuration": {},
        },
        model={"name": "unknown", "format": "unknown", "hash": "0" * 64},
        backends=[{"id": "harness", "name": "harness import", "version": "1", "configuration": {}}],
        results=[
            {
                "kind": "performance",
                "status": "failed",
                "producer": "harness",
                "errors": [f"{error.code}: {' '.join(str(error).split())}"],
            }
        ],
    )
