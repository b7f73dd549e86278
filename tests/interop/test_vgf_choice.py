"""A VGF model chooses the dispatches of a capture whose SPIR-V it holds, byte for byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from harness.cli._main import run_cli
from harness.interop.captures.standard import standard_document
from harness.interop.errors import ForeignFormatError
from tests.interop.peer import Peer
from tests.interop.samples import capture

MAGIC = b"\x03\x02\x23\x07"
ONE, OTHER = MAGIC + b"first module 16.", MAGIC + b"another module.."
HEAD = b"container head, 24 bytes"


def two_pipelines(root: Path, shaders: tuple[bytes, bytes] = (ONE, OTHER), dispatches: int = 1) -> Path:
    """One capture with a second pipeline; ids are unique across the capture."""
    capture(root, {0: [[5]]}, mode=0, shader=shaders[0], dispatches=dispatches)
    more = capture(root.with_name("more"), {0: [[7]]}, mode=0, shader=shaders[1], dispatches=dispatches)
    for file in sorted(more.rglob("*.json")):
        text = (
            file.read_text().replace("pipeline_000000", "pipeline_000001").replace("session_000000", "session_000001")
        )
        for number in reversed(range(dispatches)):
            text = text.replace(f"dispatch_{number:06d}", f"dispatch_{number + 10:06d}")
        data = json.loads(text)
        if file.name in ("pipeline.json", "session.json"):
            data["id"] = 1
            children = data["sessions"] if file.name == "pipeline.json" else data["dispatches"]
            for child in children:
                child["id"] += 1 if file.name == "pipeline.json" else 10
            data |= {"pipeline_id": 1} if file.name == "session.json" else {}
        elif file.name == "dispatch.json":
            data |= {"id": data["id"] + 10, "session_id": 1}
        file.write_text(json.dumps(data))
    pipeline = more / "pipeline_000000"
    for number in range(dispatches):
        place = pipeline / "session_000000" / f"dispatch_{number:06d}"
        place.rename(place.with_name(f"dispatch_{number + 10:06d}"))
    (pipeline / "session_000000").rename(pipeline / "session_000001")
    pipeline.rename(root / "pipeline_000001")
    top = json.loads((root / "capture.json").read_text())
    top["pipelines"].append({"id": 1, "path": "pipeline_000001/pipeline.json"})
    (root / "capture.json").write_text(json.dumps(top))
    return root


def vgf(path: Path, *modules: bytes) -> Path:
    path.write_bytes(HEAD + b"".join(b"pad4" + module for module in modules))
    return path


def totals(document: dict[str, object]) -> list[object]:
    results = document["results"]
    assert isinstance(results, list)
    chains = [item for item in results[0]["breakdowns"] if item["entity_id"].startswith("chain/")]
    return [next(m["value"] for m in item["metrics"] if m["name"] == "total_cycles") for item in chains]


def test_segments_are_in_the_order_of_the_model(tmp_path: Path) -> None:
    root = two_pipelines(tmp_path / "c")
    forward = vgf(tmp_path / "a.vgf", ONE, OTHER)
    document = standard_document([root], model=forward)
    assert totals(document) == [5, 7]
    assert totals(standard_document([root], model=vgf(tmp_path / "b.vgf", OTHER, ONE))) == [7, 5]
    digest = hashlib.sha256(forward.read_bytes()).hexdigest()
    size = forward.stat().st_size
    assert document["model"] == {"name": "a.vgf", "format": "vgf", "hash": digest, "size_bytes": size}
    with Peer() as peer:
        assert peer.ask(document)["errors"] == []


def test_pipelines_of_other_models_are_left_out(tmp_path: Path) -> None:
    root = two_pipelines(tmp_path / "c")
    document = standard_document([root], model=vgf(tmp_path / "a.vgf", OTHER, MAGIC + b"never dispatched"))
    assert totals(document) == [7]
    assert "1 SPIR-V modules of a.vgf have no dispatch" in " ".join(document["results"][0]["warnings"])


def test_one_changed_byte_is_another_model(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[5]]}, mode=0, shader=ONE)
    changed = ONE[:-1] + b"!"
    with pytest.raises(ForeignFormatError, match="No pipeline of the capture"):
        standard_document([root], model=vgf(tmp_path / "a.vgf", changed))
    shifted = tmp_path / "shifted.vgf"
    shifted.write_bytes(HEAD + b"x" + ONE + MAGIC + bytes(20))
    with pytest.raises(ForeignFormatError):
        standard_document([root], model=shifted)


def test_an_execution_is_named_by_one_dispatch(tmp_path: Path) -> None:
    root = two_pipelines(tmp_path / "c", dispatches=2)
    model = vgf(tmp_path / "a.vgf", ONE, OTHER)
    with pytest.raises(ForeignFormatError, match="Which dispatch"):
        standard_document([root], model=model)
    session = root / "pipeline_000000/session_000000"
    document = standard_document([session / "dispatch_000001"], model=model)
    chosen = document["context"]["runtime_configuration"]["profiling_data"]
    assert [path.rsplit("/", 1)[-1] for path in chosen] == ["dispatch_000001", "dispatch_000011"]


def test_what_is_not_clear_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = two_pipelines(tmp_path / "c", (ONE, ONE))
    model = vgf(tmp_path / "a.vgf", ONE)
    with pytest.raises(ForeignFormatError, match="Several pipelines have the same SPIR-V"):
        standard_document([root], model=model)
    single = capture(tmp_path / "d", {0: [[5]]}, mode=0, shader=ONE)
    with pytest.raises(ForeignFormatError, match="twice"):
        standard_document([single], model=vgf(tmp_path / "b.vgf", ONE, ONE))
    (tmp_path / "none.vgf").write_bytes(b"no module in here")
    assert run_cli(["import", str(single), "--model", str(tmp_path / "none.vgf")]) == 5
    assert "no SPIR-V" in capsys.readouterr().err
