"""Captures: aggregation against hand-made numbers, both generations, and what is refused with file and field."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HarnessError
from harness.interop.captures.blobs import MODE1_COUNTERS, read_info, read_statistics
from harness.interop.captures.debug import read_debug_database
from harness.interop.captures.standard import read_segment, select, standard_document
from harness.interop.errors import ForeignFormatError
from harness.interop.mlia.postprocess import compat
from tests.interop.peer import Peer
from tests.interop.samples import capture, debug_database, info, mutated, statistics
from tests.interop.shared import cases

SESSION = "pipeline_000000/session_000000"


def stripes(root: Path) -> list[tuple[int, int, dict[str, int]]]:
    found = read_segment(select([root])[0][0]).stripes
    return [(s.stripe, s.op_cycles, {k: v for k, v in s.counters.items() if v}) for s in found]


@pytest.mark.parametrize("generation", ["G1", "G2"])
def test_mode_0_sums_sections_over_tasks(tmp_path: Path, generation: str) -> None:
    root = capture(tmp_path / "c", {0: [[1, 2], [10, 0, 5]], 1: [[7]]}, mode=0, generation=generation)
    assert stripes(root) == [(0, 18, {"section_0": 11, "section_1": 2, "section_2": 5}), (1, 7, {"section_0": 7})]


def test_mode_1_takes_the_maximum_over_cores_counter_by_counter(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[0, 10, 1], [0, 5], [1, 12, 50]]}, mode=1)
    assert stripes(root) == [(0, 15, {"nx_active": 15, "dl_active": 50})]
    stripe = read_segment(select([root])[0][0]).stripes[0]
    assert {core: (t["nx_active"], t["dl_active"]) for core, t in stripe.cores.items()} == {0: (15, 1), 1: (12, 50)}


def test_generation_2_has_two_more_counters_and_ignores_word_30(tmp_path: Path) -> None:
    row = [3, *range(1, 30), 999, 31, 32]
    root = capture(tmp_path / "c", {0: [row]}, mode=1, generation="G2")
    counters = read_segment(select([root])[0][0]).stripes[0].counters
    assert counters == {
        **{name: i + 1 for i, name in enumerate(MODE1_COUNTERS)},
        "me_src0_stall": 31,
        "me_src1_stall": 32,
    }


def test_zero_activity_stays_zero_and_the_order_is_the_lists(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[2, 0, 9]], 1: [[0, 4]]}, mode=1, listed=[1, 0])
    assert stripes(root) == [(1, 4, {"nx_active": 4}), (0, 0, {"dl_active": 9})]


def test_sums_are_wider_than_32_bits(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[0xFFFFFFFF]] * 5}, mode=0)
    assert stripes(root)[0][1] == 5 * 0xFFFFFFFF


def test_chains_cascades_groups_and_projection(tmp_path: Path) -> None:
    root = capture(
        tmp_path / "c",
        {0: [[0, 10]], 1: [[0, 9]], 2: [[0, 1]]},
        mode=1,
        chains={30: [0, 1], 31: [2]},
        operators={30: [530], 31: [531, 532]},
    )
    doc = standard_document([root])
    with Peer() as peer:
        answer = peer.ask(doc)
        assert answer["errors"] == [] and answer["kept"] == doc and answer["processed"] == compat(doc)
    rows = {
        b["entity_id"]: {m["name"]: m["value"] for m in b["metrics"]}["nx_active_cycles"]
        for b in compat(doc)["results"][0]["breakdowns"]
    }
    assert rows == {
        "chain/segment_0/30": 19,
        "chain/segment_0/31": 1,
        "cascade/segment_0/40": 20,
        "segment/0": 20,
        "source_operator/segment_0/spirv-530": 19,
        "performance_group/segment_0/chain_31/0": 1,
    }
    assert doc["extensions"]["harness"]["stripes"][0]["cores"]["0"]["nx_active"] == 10


def test_a_stripe_without_mapping_gets_made_up_ids(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[5]]}, mode=0, chains={30: [9]})
    assert read_segment(select([root])[0][0]).database.placement(0).chain == "chain_0"
    assert standard_document([root])["extensions"]["harness"]["stripes"][0]["synthetic"] is True


def test_which_dispatch_has_to_be_clear(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[5]]}, mode=0, dispatches=2)
    with pytest.raises(ForeignFormatError, match="Which dispatch") as caught:
        select([root])
    assert "dispatch_000000" in caught.value.why
    places = [root / SESSION / f"dispatch_{i:06d}" for i in (1, 0)]
    assert [d.executed_index for d in select(places)[0]] == [1, 0]
    assert len(standard_document(places)["results"][0]["breakdowns"]) == 4


def test_unknown_keys_warn_or_with_strict_refuse(tmp_path: Path) -> None:
    root = capture(tmp_path / "c", {0: [[5]]}, mode=0, extra={"new_key": 1})
    assert any("new_key" in note for note in standard_document([root])["results"][0]["warnings"])
    with pytest.raises(ForeignFormatError, match="Unknown keys"):
        select([root], strict=True)


def _edit(path: str, *steps: Any) -> Callable[[Path], None]:
    *keys, last, value = steps

    def change(root: Path) -> None:
        data = json.loads((root / path).read_text())
        at = data
        for key in keys:
            at = at[key]
        at[last] = value
        (root / path).write_text(json.dumps(data))

    return change


def _link(root: Path) -> None:
    shader = root / "pipeline_000000/shader_module_0.spv"
    shader.rename(root / "elsewhere")
    shader.symlink_to(root / "elsewhere")


P = "pipeline_000000/pipeline.json"
BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "incomplete": (_edit("capture.json", "status", "incomplete"), "status"),
    "error": (_edit("capture.json", "error", "x"), "status"),
    "version": (_edit("capture.json", "schema_version", 3), "schema_version"),
    "mode is a bool": (_edit("capture.json", "capture", "statistics_mode", True), "capture.statistics_mode"),
    "vendor": (_edit("capture.json", "devices", 0, "vendor_id", 1), "devices[0]"),
    "device name": (_edit("capture.json", "devices", 0, "name", "Mali-G10"), "devices[0]"),
    "no device": (_edit("capture.json", "devices", []), "devices"),
    "escaping path": (_edit("capture.json", "pipelines", 0, "path", "../x/pipeline.json"), "pipelines[0].path"),
    "size": (_edit(P, "artifacts", 0, "size", 1), "artifacts[0].size"),
    "artifact elsewhere": (_edit(P, "artifacts", 0, "path", "x.bin"), "artifacts[0].path"),
    "disabled": (_edit(P, "statistics_enabled", False), "statistics_enabled"),
    "other device": (_edit(P, "device_id", 4), "device_id"),
    "no shader": (_edit(P, "shader", "spirv_available", False), "shader.spirv_available"),
    "session's pipeline": (_edit(f"{SESSION}/session.json", "pipeline_id", 5), "pipeline_id"),
    "dispatch index": (_edit(f"{SESSION}/dispatch_000000/dispatch.json", "executed_index", -1), "executed_index"),
    "symbolic link": (_link, "path"),
    "missing file": (lambda root: (root / P).unlink(), "path"),
    "not json": (lambda root: (root / P).write_text("{"), ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_trees_are_refused_with_file_and_field(tmp_path: Path, name: str) -> None:
    root = capture(tmp_path / "c", {0: [[5]]}, mode=0)
    change, field = BAD[name]
    change(root)
    with pytest.raises(HarnessError) as caught:
        select([root])
    if field:
        assert caught.value.context["field"] == field and caught.value.context["file"].startswith(str(root))


@pytest.mark.parametrize(
    ("data", "ids", "field"),
    [
        (b"", (0,), "statistics_mode0"),
        (bytes(68), (0,), "statistics_mode0"),
        (bytes(64), (7,), "statistics_info"),
        (statistics({0: [[1]], 1: [[1]]}, 0, "G1"), (0,), "statistics_info"),
    ],
)
def test_bad_statistics(data: bytes, ids: tuple[int, ...], field: str) -> None:
    with pytest.raises(ForeignFormatError) as caught:
        read_statistics(data, 0, "G1", ids, "f")
    assert caught.value.context["field"] == field


def test_info_as_text_and_bad_info() -> None:
    assert read_info(b"0 0x1f,\n3;\0", "f", is_text=True) == (0, 31, 3)
    for bad in (b"1 1", b"x", b"0x1ffffffff", b"", b"-1"):
        with pytest.raises(ForeignFormatError):
            read_info(bad, "f", is_text=True)
    for raw in (b"abc", info([1, 1]), struct.pack("<3I", 0x2211EEFF, 2, 0), struct.pack("<3I", 0x2211EEFF, 1, 8)):
        with pytest.raises(ForeignFormatError):
            read_info(raw, "f")


def test_labels_with_semicolons() -> None:
    label = "a;b_spirv_id_7"
    text = debug_database({30: [0]}, {30: [530]}).decode().replace("TOSACONV2D_spirv_id_530", label)
    operators = read_debug_database(text.encode(), "f").operators_of_chain("30")
    assert [(o.labels, o.spirv_ids) for o in operators] == [((label,), (7,))]


def test_mutated_blobs_give_a_result_or_a_typed_error() -> None:
    rng = random.Random(5)
    seeds = (
        statistics({0: [[1, 2, 3]], 1: [[4]]}, 1, "G1"),
        info([0, 1]),
        debug_database({30: [0, 1]}, {30: [530, 531]}),
    )
    for _ in range(400):
        memory, ids, database = (mutated(seed, rng) for seed in seeds)
        for attempt in (
            lambda ids=ids: read_info(ids, "f"),
            lambda memory=memory: read_statistics(memory, 1, "G1", (0, 1), "f"),
            lambda database=database: read_debug_database(database, "f"),
        ):
            try:
                attempt()
            except HarnessError as error:
                assert error.what


@pytest.mark.parametrize("root", [p for p in cases("captures", "*") if p.is_dir()], ids=lambda path: path.name)
def test_kept_captures(root: Path) -> None:
    answer = json.loads((root.parent / "ANSWERS.json").read_text())[root.name]
    if "error" in answer:
        with pytest.raises(ForeignFormatError) as caught:
            standard_document([root])
        assert caught.value.context["file"] and caught.value.context["field"]
        return
    segment = read_segment(select([root])[0][0])
    rows = [
        {
            "stripe": s.stripe,
            "op": s.op_cycles,
            "total": s.total_cycles,
            "nonzero": {k: v for k, v in s.counters.items() if v},
            "n_counters": len(s.counters),
        }
        for s in segment.stripes
    ]
    assert rows == answer["rows"]
    for stripe, chains in answer["stripe_to_chain"].items():
        assert [segment.database.placement(int(stripe)).chain] == chains
    if "full" in answer:
        res = compat(standard_document([root]))["results"][0]
        assert {m["name"]: m.get("value", m.get("reason")) for m in res["metrics"]} == answer["full"]["metrics"]
        found = [
            [b["entity_id"], {m["name"]: m["value"] for m in b["metrics"] if m["value"]}] for b in res["breakdowns"]
        ]
        assert found == answer["full"]["post_bd"]
