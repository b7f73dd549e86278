"""Projection answers as the reference does, and says what the reference leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.interop.errors import ForeignFormatError
from harness.interop.mlia.direct import BUDGET, NOT_ADDITIVE
from harness.interop.mlia.postprocess import CollapseRule, compat, postprocess
from harness.interop.mlia.project import project
from tests.interop.graphs import document, metric, random_document, result
from tests.interop.peer import Peer
from tests.interop.shared import cases

CHAIN = [{"id": "chain", "child_kinds": ["source_operator"]}]


def tree(figures: dict[str, list[dict[str, Any]]], operators: int = 2, chains: int = 1) -> dict[str, Any]:
    ops = [{"id": f"op/{i}", "kind": "source_operator", "name": "o"} for i in range(operators)]
    tops = [
        {"id": f"chain/{i}", "kind": "chain", "name": "c", "child_ids": [op["id"] for op in ops]} for i in range(chains)
    ]
    rows = [{"entity_id": key, "metrics": metrics} for key, metrics in figures.items()]
    return result([*tops, *ops], CHAIN, rows)


def projected(res: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        item.entity_id: {m["name"]: m.get("value") for b in item.figures.breakdowns("x") for m in b["metrics"]}
        for item in project(res).projected
    }


def test_children_are_summed_and_given_figures_stay() -> None:
    assert projected(tree({"op/0": [metric("c", 10)], "op/1": [metric("c", 32)]})) == {"chain/0": {"c": 42}}
    kept = tree({"op/0": [metric("c", 10)], "op/1": [metric("c", 32)], "chain/0": [metric("c", 999)]})
    assert projected(kept) == {}


def test_partial_coverage_is_stated() -> None:
    found = project(tree({"op/0": [metric("c", 10)]})).projected
    assert [(p.entity_id, p.coverage, p.missing, p.origins) for p in found] == [("chain/0", 0.5, ("op/1",), ("op/0",))]
    assert found[0].to_dict()["projected"] is True


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        (metric("c", 1, aggregation="mean"), metric("c", 2), "aggregation"),
        (metric("c", None), metric("c", 2), "unavailable"),
        (metric("c", 1, samples=3), metric("c", 2), "sample"),
        (metric("c", 1e308), metric("c", 1e308), "finite"),
        (metric("c", 1, unit="ms"), metric("c", 2), "unit"),
        (metric("c", 1, qualifiers={"phase": "after"}), metric("c", 2), "qualifiers"),
    ],
)
def test_what_cannot_be_combined_says_why(left: dict[str, Any], right: dict[str, Any], why: str) -> None:
    alone = project(tree({"op/0": [left], "op/1": [right]}))
    assert alone.projected == () and alone.withheld == {"chain/0": NOT_ADDITIVE}
    assert any(why in dropped.reason for dropped in alone.withheld_metrics["chain/0"])
    beside = project(tree({"op/0": [left, metric("d", 1)], "op/1": [right, metric("d", 2)]})).projected[0]
    assert any(why in dropped.reason for dropped in beside.dropped)
    assert [m["value"] for b in beside.figures.breakdowns("x") for m in b["metrics"]] == [3]


def test_copies_are_verbatim_and_parents_are_never_split() -> None:
    figures = [metric("p", 7, aggregation="p90"), metric("x", None)]
    assert projected(tree({"chain/0": figures}, operators=1)) == {"op/0": {"p": 7, "x": None}}
    assert projected(tree({"chain/0": figures}, operators=2)) == {}


def test_two_parents_of_one_operator_add_up() -> None:
    figures = {"chain/0": [metric("c", 5)], "chain/1": [metric("c", 7)]}
    assert projected(tree(figures, operators=1, chains=2)) == {"op/0": {"c": 12}}


def test_source_lines_are_derived_and_never_supplied() -> None:
    stack = {
        "id": "s",
        "kind": "code_stack",
        "name": "f",
        "child_ids": ["op/0"],
        "attributes": {"file": "a\\net.py", "line": 12},
    }
    op = {"id": "op/0", "kind": "source_operator", "name": "o"}
    doc = document(result([stack, op], [], [{"entity_id": "op/0", "metrics": [metric("c", 4)]}]))
    lines = [e for e in compat(doc)["results"][0]["entities"] if e["kind"] == "code_line"]
    assert [line["name"] for line in lines] == ["net.py:12"]
    with pytest.raises(ForeignFormatError):
        compat(document(result([{"id": "l", "kind": "code_line", "name": "x"}, op], [], [])))


def test_collapse_joins_and_refuses() -> None:
    kinds = [{"id": "a", "child_kinds": ["b"]}, {"id": "b", "child_kinds": ["source_operator"]}]
    entities = [
        {"id": "a/0", "kind": "a", "name": "a", "child_ids": ["b/0"]},
        {"id": "b/0", "kind": "b", "name": "b", "child_ids": ["op/0"], "attributes": {"t": "Aten_x"}},
        {"id": "op/0", "kind": "source_operator", "name": "o"},
    ]
    rows = [{"entity_id": "b/0", "metrics": [metric("c", 4)]}]
    rule = {"kind": "b", "attribute": "t", "globs": ["Aten_*"]}
    rules = [CollapseRule("b", "t", ("Aten_*",))]
    refused = document(result(entities, kinds, rows))
    done = document(result(entities, [{"id": "a", "child_kinds": ["b", "source_operator"]}, kinds[1]], rows))
    assert postprocess(refused, rules).warnings
    assert [e["id"] for e in compat(done, rules)["results"][0]["entities"]] == ["a/0", "op/0"]
    with Peer() as peer:
        for doc in (refused, done):
            assert peer.ask(doc, rules=[rule])["processed"] == compat(doc, rules)


def test_random_graphs_equal_the_reference() -> None:
    """A part of the campaign of 500; ordering of breakdowns included."""
    with Peer() as peer:
        for seed in range(10_000, 10_080):
            doc = random_document(seed)
            answer = peer.ask(doc)
            if not answer.get("late"):
                assert compat(doc) == answer["processed"], seed


def test_extensions_leave_the_schema_valid() -> None:
    with Peer() as peer:
        for seed in range(20_000, 20_010):
            view = postprocess(random_document(seed)).extended()
            answer = peer.ask(view)
            assert answer["errors"] == [] and answer["kept"]["extensions"] == view["extensions"]


def forest(n: int, most: int, share: float, seed: int) -> dict[str, Any]:
    import random

    rng = random.Random(seed)
    kids: dict[str, list[str]] = {"n0": []}
    depth, queue = {"n0": 0}, ["n0"]
    while len(kids) < n:
        parent = queue.pop(rng.randrange(len(queue)) if rng.random() < 0.5 else 0)
        for _ in range(rng.choice([1, 2, 3, rng.randint(1, most)])):
            if len(kids) < n:
                key = f"n{len(kids)}"
                kids[key], depth[key] = [], depth[parent] + 1
                kids[parent].append(key)
                queue.append(key)
    deep = max(depth.values())
    kinds = [{"id": f"d{i}", "child_kinds": [f"d{i + 1}"] if i < deep else []} for i in range(deep + 1)]
    entities = [{"id": k, "kind": f"d{depth[k]}", "name": k, "child_ids": kids[k]} for k in kids]
    rows = [
        {"entity_id": key, "metrics": [metric("c", rng.randint(1, 99))]}
        for key in kids
        if (not kids[key] if share == 1 else rng.random() < share)
    ]
    return result(entities, kinds, rows)


def two_parents(n: int, each: int, measured: str) -> dict[str, Any]:
    count = 2 * n // 3
    ops = [f"op/{i}" for i in range(count)]
    chains = max(1, count // each)
    modules = n - count - chains
    entities = [{"id": f"chain/{i}", "kind": "chain", "name": "c", "child_ids": ops[i::chains]} for i in range(chains)]
    entities += [
        {"id": f"m/{i}", "kind": "m", "name": "m", "child_ids": ops[i * count // modules : (i + 1) * count // modules]}
        for i in range(modules)
    ]
    entities += [{"id": op, "kind": "source_operator", "name": op} for op in ops]
    rows = [
        {"entity_id": entity["id"], "metrics": [metric("c", 3)]} for entity in entities if entity["kind"] == measured
    ]
    return result(entities, [*CHAIN, {"id": "m", "child_kinds": ["source_operator"]}], rows)


@pytest.mark.parametrize("most", [5, 2000])
@pytest.mark.parametrize("share", [0.1, 0.5, 1])
def test_forests_of_20000_entities_are_answered_whole(share: float, most: int) -> None:
    res = forest(20_000, most, share, 3)
    found = project(res)
    assert len(found.projected) + len(found.withheld) + len({b["entity_id"] for b in res["breakdowns"]}) == 20_000


@pytest.mark.parametrize("each", [2, 2000])
@pytest.mark.parametrize("measured", ["source_operator", "chain"])
def test_two_parent_graphs_of_20000_entities_are_answered(measured: str, each: int) -> None:
    found = project(two_parents(20_000, each, measured))
    assert found.projected or found.withheld


@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_answers_without_search_equal_those_with(seed: int, share: float) -> None:
    """The short cuts against the exhaustive search, on small forests."""
    from harness.interop.mlia import project as module
    from harness.interop.mlia.direct import resolve_frontiers
    from harness.interop.mlia.figures import extract
    from harness.interop.mlia.graph import build_graph, declared_edges
    from harness.interop.mlia.scene import Scene
    from harness.interop.mlia.search import BudgetError, Search

    res = forest(14, 4, share, seed)
    fast = {item.entity_id: item.figures.key for item in module.project(res).projected}
    graph, _ = build_graph(res["entities"])
    assert graph is not None
    kinds = {e["id"]: e["kind"] for e in res["entities"]}
    figures = {b["entity_id"]: extract([b]) for b in res["breakdowns"]}
    known = {key: value for key, value in sorted(figures.items()) if value is not None}
    scene = Scene(graph, graph.order, kinds, frozenset(figures), known, declared_edges(res))
    resolve_frontiers(scene)
    try:
        slow = Search(scene, 500_000).run()
    except BudgetError:
        return
    wanted = {key: found.record.figures.key for key, found in slow.items() if found.record is not None}
    wanted |= {key: f.figures.key for key, f in scene.frontiers.items() if f.figures is not None}
    assert fast == wanted


def test_a_search_beyond_its_budget_is_unavailable() -> None:
    doc = random_document(0)
    for seed in range(200):
        doc = random_document(seed)
        reasons = project(doc["results"][0], budget=0).withheld.values()
        if BUDGET in reasons:
            break
    else:
        raise AssertionError("no graph needed a search")
    assert BUDGET not in project(doc["results"][0]).withheld.values()


@pytest.mark.parametrize(
    "path", [p for p in cases("mlia", "p*.json") if not p.name.endswith(".out.json")], ids=lambda path: path.stem
)
def test_kept_cases(path: Path) -> None:
    doc = json.loads(path.read_text())
    rules = [CollapseRule(r["kind"], r["attribute"], tuple(r["globs"])) for r in doc.pop("_collapse_rules", ())]
    answer = json.loads(path.with_name(f"{path.stem}.out.json").read_text())
    if not answer.get("ok", True):
        with pytest.raises(ForeignFormatError):
            compat(doc, rules)
        return
    assert compat(doc, rules)["results"] == answer["results"]
