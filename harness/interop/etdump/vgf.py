"""VGF neural-statistics payloads inside delegate metadata: JSON around the blobs of a capture."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.core import strict_json
from harness.core.strict_json import StrictJsonError
from harness.interop.captures.blobs import Generation, read_info, read_statistics
from harness.interop.captures.debug import read_debug_database
from harness.interop.captures.standard import Segment
from harness.interop.errors import ForeignFormatError

SCHEMA = "executorch.vgf.neural_statistics"
EVENT = "VGF_NEURAL_STATISTICS"


@dataclass(frozen=True)
class VgfStatistics:
    """Decoded segments, and for each that is not available the layer's reason."""

    segments: tuple[Segment, ...]
    missing: tuple[str, ...]
    mode: int
    assumptions: tuple[str, ...]


def looks_like_vgf(metadata: bytes | None) -> bool:
    """Whether delegate metadata carries such a payload."""
    return bool(metadata) and metadata is not None and SCHEMA.encode() in metadata[:512]


def read_vgf(
    metadata: bytes, file: str, *, mode: int | None = None, generation: Generation | None = None
) -> VgfStatistics:
    """Decode one payload.

    The payload names neither the statistics mode nor the device's generation for certain. What is not given is assumed
    (mode 1, G1) and listed in `assumptions`.

    Raises:
        ForeignFormatError: not such a payload, or a blob that is cut short or damaged.
    """
    try:
        data = strict_json.loads(metadata.rstrip(b"\0"), source=f"{file}: delegate metadata")
    except StrictJsonError as error:
        raise ForeignFormatError("The VGF payload is not JSON.", file=file, field=EVENT, why=error.why) from None
    if not isinstance(data, dict) or SCHEMA not in (data.get("schema"), data.get("schema_name")):
        raise ForeignFormatError("This is no VGF statistics payload.", file=file, field="schema")
    version = data.get("schema_version", data.get("version", 1))
    if version != 1 or isinstance(version, bool):
        raise ForeignFormatError("Unknown VGF payload version.", file=file, field="schema_version", why=repr(version))
    assumptions: list[str] = []
    if mode is None:
        mode = 1
        assumptions.append("statistics mode 1")
    if generation is None:
        generation = "G1"
        assumptions.append("device generation G1")
    items = data.get("segments", [])
    if not isinstance(items, list):
        raise ForeignFormatError("Segments are not a list.", file=file, field="segments")
    segments: list[Segment] = []
    missing: list[str] = []
    if data.get("available") is False:
        missing.append(str(data.get("reason") or "the payload says it is not available"))
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise ForeignFormatError("A segment is not an object.", file=file, field=f"segments[{index}]")
        segment = _segment(item, index, mode, generation, file, missing)
        if segment is not None:
            segments.append(segment)
    return VgfStatistics(tuple(segments), tuple(missing), mode, tuple(assumptions))


def _segment(
    item: Mapping[str, Any], index: int, mode: int, generation: Generation, file: str, missing: list[str]
) -> Segment | None:
    blobs: dict[str, tuple[bytes, bool]] = {}
    for name in ("debug_database", "statistics_info", "statistics_memory"):
        blob = _blob(item.get(name), file, f"segments[{index}].{name}")
        if isinstance(blob, str):
            missing.append(f"segment {index}, {name}: {blob}")
            return None
        blobs[name] = blob
    number = item.get("segment_id", index)
    if type(number) is not int or number < 0:
        raise ForeignFormatError("A segment id is not a number.", file=file, field=f"segments[{index}].segment_id")
    info = read_info(blobs["statistics_info"][0], file, is_text=blobs["statistics_info"][1])
    stripes = read_statistics(blobs["statistics_memory"][0], mode, generation, info, file)
    return Segment(number, f"segment_{number}", stripes, read_debug_database(blobs["debug_database"][0], file))


def _blob(value: Any, file: str, field: str) -> tuple[bytes, bool] | str:
    if not isinstance(value, dict):
        raise ForeignFormatError("A blob is missing.", file=file, field=field)
    if value.get("available") is not True:
        return str(value.get("reason") or "not available")
    if value.get("encoding") != "base64" or not isinstance(value.get("data"), str):
        raise ForeignFormatError("A blob is not base64 text.", file=file, field=f"{field}.encoding")
    try:
        data = base64.b64decode(value["data"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ForeignFormatError("A blob is damaged.", file=file, field=f"{field}.data", why=str(error)) from None
    if value.get("size") != len(data):
        raise ForeignFormatError(
            "A blob is cut short.", file=file, field=f"{field}.size", why=f"{value.get('size')!r}, it has {len(data)}"
        )
    return data, value.get("is_text") is True
