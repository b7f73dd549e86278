"""ETDumps: grouping, warm-up, wrappers, shared and unmapped events, VGF payloads, damage."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.core.errors import HarnessError
from harness.interop.errors import ForeignFormatError
from harness.interop.etdump.dump import read_etdump, read_etdump_file
from harness.interop.etdump.record import read_etrecord
from harness.interop.etdump.standard import standard_document
from harness.interop.etdump.statistics import group_runs, outermost
from harness.interop.mlia.postprocess import compat, postprocess
from tests.interop.peer import Peer
from tests.interop.samples import etdump, etrecord, mutated, statistics, vgf_payload
from tests.interop.shared import cases


def run(*times: int, extra: tuple[Any, ...] = ()) -> tuple[str, list[Any]]:
    """One execution: two operators, each a wrapper around its kernel, inside the whole method."""
    events: list[Any] = []
    at = 1000
    for instruction, ticks in enumerate(times):
        events.append(("native_call_x", 0, instruction, at + 10, at + 10 + ticks))
        events.append(("OPERATOR_CALL", 0, instruction, at, at + 20 + ticks))
        at += 100 + ticks
    return "Execute", [*events, *extra, ("Method::execute", -1, 0, 900, at)]


def record(tmp_path: Path, handles: dict[int, Any], nodes: list[tuple[str, str, int | None]]) -> Any:
    return read_etrecord(etrecord(tmp_path / "r.etrecord", {"forward": handles}, nodes))


TWO = [("mul", "aten.mul.Tensor", 1), ("add", "aten.add.Tensor", 2)]


def test_events_come_back_as_written() -> None:
    runs = [("Default", [("Method::init", -1, 0, 5, 9)]), run(50, 60)]
    dump = read_etdump(etdump(runs))
    assert [(r.name, [(e.name, e.chain, e.instruction, e.start, e.end) for e in r.events]) for r in dump.runs] == runs
    assert not dump.runs[0].events[0].maps_to_operator
    plain = etdump(runs)[4:]
    assert read_etdump(plain).runs == dump.runs
    # Read from a target's memory, the buffer may be larger than the dump.
    assert read_etdump(etdump(runs) + bytes(64)).runs == dump.runs


def test_runs_are_grouped_by_signature_and_statistics_are_numpys() -> None:
    runs = [run(50, 60), run(1), run(70, 80), run(90, 100), run(2)]
    groups = group_runs(read_etdump(etdump(runs)))
    assert [group.runs for group in groups] == [(0, 2, 3), (1, 4)]
    series = groups[0].series[0]
    samples = [50e-6, 70e-6, 90e-6]
    assert series.samples == pytest.approx(samples) and series.all.p90 == pytest.approx(np.percentile(samples, 90))


def test_the_first_execution_is_kept_marked_and_left_out() -> None:
    series = group_runs(read_etdump(etdump([run(9000), run(10), run(20)])))[0].series[0]
    assert series.first_is_warmup and series.steady.count == 2 and series.steady.avg == pytest.approx(15e-6)
    assert series.all.max == pytest.approx(9e-3)
    assert not group_runs(read_etdump(etdump([run(9)])))[0].series[0].first_is_warmup


def test_a_wrapper_is_never_added_to_what_it_contains(tmp_path: Path) -> None:
    raw = etdump([run(50, 60), run(50, 60)])
    dump = read_etdump(raw)
    assert {key: s.event.name for key, s in outermost(group_runs(dump)[0]).items()} == {
        (0, 0): "OPERATOR_CALL",
        (0, 1): "OPERATOR_CALL",
    }
    doc = standard_document(dump, record(tmp_path, {0: 1, 1: 2}, TWO), raw=raw)
    rows = {b["entity_id"]: b["metrics"][0] for b in doc["results"][0]["breakdowns"]}
    assert {key: round(m["value"] * 1e6) for key, m in rows.items()} == {
        "source_operator/mul": 70,
        "source_operator/add": 80,
    }
    assert all(m["aggregation"] == "sum" for m in rows.values())
    with Peer() as peer:
        answer = peer.ask(doc)
        assert answer["errors"] == [] and answer["kept"] == doc and answer["processed"] == compat(doc)


def test_averages_of_different_runs_never_meet_in_a_sum(tmp_path: Path) -> None:
    raw = etdump([run(50, 60), run(50), run(50, 60), run(50)])
    doc = standard_document(read_etdump(raw), record(tmp_path, {0: 1, 1: 2}, TWO), raw=raw)
    marks = [b["metrics"][0]["qualifiers"]["executions"] for b in doc["results"][0]["breakdowns"]]
    assert marks == ["runs 0", "runs 0", "runs 1"]
    time = next(m for m in doc["results"][0]["metrics"] if m["name"] == "inference_time")
    assert time["availability"] == "unavailable" and "different" in time["reason"]


@pytest.mark.parametrize(
    ("handles", "nodes"),
    [
        ({0: 1, 1: 1}, [("mul", "aten.mul.Tensor", 1)]),
        ({0: [1, 2], 1: 3}, [*TWO, ("neg", "aten.neg.default", 3)]),
    ],
)
def test_shared_observations_are_not_additive(tmp_path: Path, handles: dict[int, Any], nodes: Any) -> None:
    raw = etdump([run(50, 60)])
    doc = standard_document(read_etdump(raw), record(tmp_path, handles, nodes), raw=raw)
    shared = [e["id"] for e in doc["results"][0]["entities"] if e.get("attributes", {}).get("mapping") == "shared"]
    rows = {b["entity_id"]: b["metrics"] for b in doc["results"][0]["breakdowns"]}
    assert shared and all(m["aggregation"] != "sum" for key in shared for m in rows[key])


def test_an_unmapped_event_stands_alone_with_a_warning(tmp_path: Path) -> None:
    raw = etdump([run(50, 60)])
    doc = standard_document(read_etdump(raw), record(tmp_path, {0: 1}, TWO), raw=raw)
    assert any("instruction 1" in note for note in doc["results"][0]["warnings"])
    assert "runtime_observation/0/1" in {b["entity_id"] for b in doc["results"][0]["breakdowns"]}
    assert postprocess(doc).projections[0] is not None


def test_delegate_events_are_read_and_do_not_become_operators() -> None:
    extra = (("CONV", 0, 0, 1010, 1030, "node_3"), ("CONV", 0, 0, 1030, 1040, 7))
    dump = read_etdump(etdump([run(50, extra=extra)]))
    assert [e.delegate_id for e in dump.runs[0].events if e.delegate_id is not None] == ["node_3", 7]
    assert {s.event.name for s in outermost(group_runs(dump)[0]).values()} == {"OPERATOR_CALL"}


def test_vgf_payloads_are_decoded_and_assumptions_stated() -> None:
    memory = statistics({0: [[0, 10, 1], [1, 12, 50]]}, 1, "G1")
    raw = etdump([run(50)], {0: vgf_payload(memory, [0])})
    doc = standard_document(read_etdump(raw), raw=raw)
    rows = {b["entity_id"]: b["metrics"] for b in doc["results"][0]["breakdowns"]}
    chain = {m["name"]: m["value"] for m in rows["chain/segment_0/30"]}
    assert chain["nx_active_cycles"] == 12 and chain["dl_active_cycles"] == 50
    assert doc["extensions"]["harness"]["assumptions"] == ["statistics mode 1", "device generation G1"]
    known = standard_document(read_etdump(raw), raw=raw, mode=1, generation="G1")
    assert known["extensions"]["harness"]["assumptions"] == []


def test_a_truncated_vgf_blob_is_reported_and_the_times_stay() -> None:
    memory = statistics({0: [[0, 10]]}, 1, "G1")
    raw = etdump([run(50)], {0: vgf_payload(memory, [0], cut=32)})
    res = standard_document(read_etdump(raw), raw=raw)["results"][0]
    assert any("cut short" in note for note in res["warnings"])
    assert [b["entity_id"] for b in res["breakdowns"]] == ["runtime_observation/0/0"]


def test_several_methods_need_a_choice(tmp_path: Path) -> None:
    path = etrecord(tmp_path / "r", {"encode": {0: 1}, "decode": {0: 2}}, TWO)
    with pytest.raises(ForeignFormatError, match="Which method") as caught:
        read_etrecord(path)
    assert "decode, encode" in caught.value.why
    assert [o.name for o in read_etrecord(path, "decode").operators_of(0)] == ["add"]


def test_damage_is_named() -> None:
    raw = etdump([run(50)])
    for data, what in (
        (b"", "not an ETDump"),
        (raw[:40], "cut short"),
        (raw[:8] + b"XXXX" + raw[12:], "not an ETDump"),
    ):
        with pytest.raises(ForeignFormatError, match=what):
            read_etdump(data)
    backwards = etdump([("Execute", [("x", 0, 0, 9, 5)])])
    with pytest.raises(ForeignFormatError) as caught:
        read_etdump(backwards)
    assert "end_time" in caught.value.context["field"]


def test_mutated_dumps_and_records_give_a_result_or_a_typed_error(tmp_path: Path) -> None:
    rng = random.Random(9)
    raw = etdump([run(50, 60), run(50, 60)], {0: vgf_payload(statistics({0: [[0, 10]]}, 1, "G1"), [0])})
    packed = etrecord(tmp_path / "r", {"forward": {0: 1, 1: [1, 2]}}, TWO).read_bytes()
    other = tmp_path / "m"
    tracemalloc.start()
    for _ in range(300):
        data = mutated(raw, rng)
        other.write_bytes(mutated(packed, rng))
        found: Any = None
        try:
            found = read_etrecord(other)
        except HarnessError as error:
            assert error.what
        try:
            standard_document(read_etdump(data), found, raw=data)
        except HarnessError as error:
            assert error.what
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


@pytest.mark.parametrize("path", cases("etdump", "*.etdp"), ids=lambda path: path.name)
def test_kept_dumps_equal_the_sdk(path: Path) -> None:
    dump = read_etdump_file(path)
    written = json.loads(path.with_suffix(".etdp.json").read_text())["run_data"]
    assert [(r.name, [(e.name, e.chain, e.instruction, e.start, e.end) for e in r.events]) for r in dump.runs] == [
        (r["name"], [(e["name"], e["chain"], e["inst"], e["start"], e["end"]) for e in r["events"]]) for r in written
    ]
    known = read_etrecord(path.with_suffix(".etrecord"))
    events = json.loads((path.parent / "inspector.json").read_text())["events"]
    series = [(group.name, item) for group in group_runs(dump) for item in group.series]
    assert len(series) == len(events)
    for (block, item), event in zip(series, events, strict=True):
        assert (block, item.event.name, list(item.samples)) == (event["block"], event["name"], event["raw"])
        for name in ("avg", "p10", "p50", "p90", "min", "max"):
            assert getattr(item.all, name) == pytest.approx(event[name], rel=1e-12)
        if item.event.maps_to_operator:
            assert [o.target for o in known.operators_of(item.event.instruction)] == event["op_types"]
