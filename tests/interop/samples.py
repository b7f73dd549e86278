"""Writers of the foreign formats, made from their descriptions: captures, ETDumps, ETRecords, VGF payloads."""

from __future__ import annotations

import base64
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import flatbuffers

Words = Sequence[Sequence[int]]
WIDTH = {(0, "G1"): 16, (0, "G2"): 16, (1, "G1"): 32, (1, "G2"): 64}
BLOCK = {(0, "G1"): 512, (0, "G2"): 1024, (1, "G1"): 256, (1, "G2"): 256}


def statistics(blocks: Mapping[int, Words], mode: int, generation: str) -> bytes:
    """Statistics of stripes by id; the last block is short, the others are padded with zero tasks."""
    width, tasks = WIDTH[mode, generation], BLOCK[mode, generation]
    last = max(blocks)
    out = b""
    for block in range(last + 1):
        rows = [[*row, *[0] * (width - len(row))] for row in blocks.get(block, ())]
        rows += [[0] * width] * ((tasks if block < last else max(1, len(rows))) - len(rows))
        out += b"".join(struct.pack(f"<{width}I", *row) for row in rows)
    return out


def framed(payload: bytes, magic: int) -> bytes:
    """A payload in its frame."""
    return struct.pack("<3I", magic, 1, len(payload)) + payload


def info(ids: Sequence[int]) -> bytes:
    """Framed stripe ids."""
    return framed(struct.pack(f"<{len(ids)}I", *ids), 0x2211EEFF)


def debug_database(
    chains: Mapping[int, Sequence[int]], operators: Mapping[int, Sequence[int]], cascade: int = 40
) -> bytes:
    """Stripes by chain, and SPIR-V ids by chain, in one cascade."""
    tosa, labels, fused, rows, stripes, index = [], [], [], [], [], []
    for chain in chains:
        ids = operators.get(chain, ())
        for spirv in ids:
            tosa.append(f"{1000 + spirv}\tConv2D\tTOSACONV2D_spirv_id_{spirv};")
            labels.append(f"{2000 + spirv}\tTOSACONV2D_spirv_id_{spirv}")
        fused.append(f"{3000 + chain}\t{''.join(f'{1000 + spirv};' for spirv in ids)}")
        rows.append(f"{chain}\t{3000 + chain};")
        for stripe in chains[chain]:
            stripes.append(f"{stripe}\t{chain}\t{cascade}")
            index.append(f"{stripe}\t{stripe}")
    sections = [
        ["id\ttosa_op\tapi_labels", *tosa],
        ["id\tapi_label", *labels],
        ["id\ttosa_op_ids", *fused],
        ["id\tfused_op_ids", *rows],
        ["id\tcascade_op_ids", f"{cascade}\t{''.join(f'{chain};' for chain in chains)}"],
        ["id\top_id\tcascade_op_id", *stripes],
        ["id\tstripe_op_id", *index],
    ]
    return ("\n----\n".join("\n".join(section) for section in sections) + "\n").encode()


def capture(
    root: Path,
    blocks: Mapping[int, Words],
    *,
    mode: int,
    generation: str = "G1",
    listed: Sequence[int] | None = None,
    chains: Mapping[int, Sequence[int]] | None = None,
    operators: Mapping[int, Sequence[int]] | None = None,
    extra: Mapping[str, Any] | None = None,
    dispatches: int = 1,
    shader: bytes = b"\x03\x02\x23\x07spirv-stub!!....",
) -> Path:
    """Write a capture with one pipeline and one session."""
    ids = list(listed if listed is not None else sorted(blocks))
    pipeline = root / "pipeline_000000"
    session = pipeline / "session_000000"
    files = {
        "debug_database.bin": debug_database(chains or {30: ids}, operators or {30: [530]}),
        "neural_statistics_info.bin": info(ids),
        "shader_module_0.spv": shader,
    }
    session.mkdir(parents=True)
    for name, data in files.items():
        (pipeline / name).write_bytes(data)
    types = ("debug_database", "statistics_info", "shader_module")
    artifacts = [
        {"path": f"pipeline_000000/{name}", "type": kind, "size": len(data)}
        for (name, data), kind in zip(files.items(), types, strict=True)
    ]
    data = statistics(blocks, mode, generation)
    references = []
    for number in range(dispatches):
        place = session / f"dispatch_{number:06d}"
        place.mkdir()
        (place / f"statistics_mode{mode}.bin").write_bytes(data)
        base = f"pipeline_000000/session_000000/dispatch_{number:06d}"
        references.append({"id": number, "path": f"{base}/dispatch.json"})
        artifact = {"path": f"{base}/statistics_mode{mode}.bin", "type": "dispatch_statistics", "size": len(data)}
        _json(
            place / "dispatch.json",
            {
                "schema_version": 2, "id": number, "session_id": 0, "executed_index": number,
                "diagnostic_command_buffer_handle": None, "artifacts": [artifact],
            },
        )  # fmt: skip
    _json(
        session / "session.json",
        {
            "schema_version": 2, "id": 0, "pipeline_id": 0, "device_id": 0, "friendly_name": "s",
            "diagnostic_handle": None, "flags": 0, "dispatches": references,
        },
    )  # fmt: skip
    _json(
        pipeline / "pipeline.json",
        {
            "schema_version": 2, "id": 0, "friendly_name": "net", "diagnostic_handle": None, "flags": 0,
            "pipeline_layout_handle": None, "resource_bindings": [], "vendor_options": None, "identifier_only": False,
            "foreign_processing_engine": False, "device_id": 0, "statistics_enabled": True,
            "shader": {
                "module_id": 0, "spirv_available": True, "friendly_name": "net", "entry_point": "main",
                "specialization_entries": [], "specialization_data_size": 0,
            },
            "artifacts": artifacts,
            "sessions": [{"id": 0, "path": "pipeline_000000/session_000000/session.json"}],
        },
    )  # fmt: skip
    _json(
        root / "capture.json",
        {
            "schema_version": 2, "status": "complete", "error": None,
            "capture": {
                "layer_name": "VK_LAYER_LGL_neural_statistics", "layer_version": "1", "commit_identity": "x",
                "layer_implementation_version": 1, "statistics_mode": mode, "dispatch_filter": "",
            },
            "devices": [
                {
                    "id": 0, "name": f"Mali-{generation}", "vendor_id": 0x13B5, "device_id": 1, "driver_version": 1,
                    "api_version": None,
                }
            ],
            "warnings": [], "pipelines": [{"id": 0, "path": "pipeline_000000/pipeline.json"}], **(extra or {}),
        },
    )  # fmt: skip
    return root


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


Event = tuple[str, int, int, int, int]
"""Name, chain, instruction, start, end."""


def etdump(runs: Sequence[tuple[str, Sequence[Any]]], metadata: Mapping[int, bytes] | None = None) -> bytes:
    """A dump; events are `Event`, or with a sixth item the delegate's id. `metadata` by position in every run."""
    builder = flatbuffers.Builder(1024)

    def vector(items: list[int]) -> int:
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            builder.PrependUOffsetTRelative(item)
        return int(builder.EndVector())

    tables = []
    for name, events in runs:
        made = []
        for position, event in enumerate(events):
            title, chain, instruction, start, end, *delegate = event
            blob = (metadata or {}).get(position)
            note = builder.CreateByteVector(blob) if blob is not None else 0
            text = builder.CreateString(title)
            number = delegate[0] if delegate and isinstance(delegate[0], int) else None
            label = builder.CreateString(delegate[0]) if delegate and isinstance(delegate[0], str) else 0
            builder.StartObject(8)
            builder.PrependUOffsetTRelativeSlot(0, text, 0)
            builder.PrependInt32Slot(1, chain, 0)
            builder.PrependInt32Slot(2, instruction, -1)
            builder.PrependInt32Slot(3, -1 if number is None else number, -1)
            builder.PrependUOffsetTRelativeSlot(4, label, 0)
            builder.PrependUOffsetTRelativeSlot(5, note, 0)
            builder.PrependUint64Slot(6, start, 0)
            builder.PrependUint64Slot(7, end, 0)
            profile = builder.EndObject()
            builder.StartObject(3)
            builder.PrependUOffsetTRelativeSlot(0, profile, 0)
            made.append(builder.EndObject())
        events_at, name_at = vector(made), builder.CreateString(name)
        builder.StartObject(4)
        builder.PrependUOffsetTRelativeSlot(0, name_at, 0)
        builder.PrependUOffsetTRelativeSlot(3, events_at, 0)
        tables.append(builder.EndObject())
    runs_at = vector(tables)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(1, runs_at, 0)
    builder.FinishSizePrefixed(builder.EndObject(), file_identifier=b"ED00")
    return bytes(builder.Output())


def etrecord(
    path: Path, methods: Mapping[str, Mapping[int, Any]], nodes: Sequence[tuple[str, str, int | None]]
) -> Path:
    """A record: handles by instruction and method; nodes are (name, operator, handle)."""
    graph = [
        {
            "name": name,
            "target": f"executorch.exir.dialects.edge.ops.{target}",
            "metadata": {} if handle is None else {"debug_handle": str(handle), "stack_trace": "net.py:1"},
        }
        for name, target, handle in nodes
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr(
            "debug_handle_map", json.dumps({m: {str(k): v for k, v in h.items()} for m, h in methods.items()})
        )
        archive.writestr("delegate_map", json.dumps({method: {} for method in methods}))
        for method in methods:
            program = json.dumps({"graph_module": {"graph": {"nodes": graph}}})
            archive.writestr(f"edge_dialect_exported_program/{method}", program)
    return path


def vgf_payload(memory: bytes, ids: Sequence[int], *, cut: int = 0) -> bytes:
    """A VGF statistics payload with one segment; `cut` bytes are missing from the statistics."""

    def blob(data: bytes, size: int | None = None) -> dict[str, Any]:
        text = base64.b64encode(data).decode()
        return {
            "available": True, "is_text": False, "vulkan_result": 0, "size": len(data) if size is None else size,
            "encoding": "base64", "reason": "", "data": text,
        }  # fmt: skip

    segment = {
        "segment_id": 0,
        "is_data_graph_pipeline": True,
        "debug_database": blob(debug_database({30: ids}, {30: [530]})),
        "statistics_info": blob(info(ids)),
        "statistics_memory": blob(memory[: len(memory) - cut], len(memory)),
    }
    return json.dumps(
        {
            "schema": "executorch.vgf.neural_statistics", "version": 1, "backend": "vgf", "available": True,
            "event_name": "VGF_NEURAL_STATISTICS", "reason": "", "segments": [segment],
        }
    ).encode()  # fmt: skip


def mutated(data: bytes, rng: Any) -> bytes:
    """Bytes with a few flips, cuts, insertions or words replaced by extreme ones."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not out:
            break
        at = rng.randrange(len(out))
        kind = rng.randrange(5)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at : at + 4] = struct.pack("<I", rng.choice([0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(out)]))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        else:
            out[at] = rng.randrange(256)
    return bytes(out)
