"""Dense graphs, sums that round, long paths, and documents broken at random, against the reference."""

from __future__ import annotations

import copy
import json
import random
import time

import pytest

from harness.core.errors import HarnessError
from harness.interop.mlia.postprocess import compat
from harness.interop.mlia.project import project
from harness.interop.mlia.validate import check, validation_errors
from tests.interop.dense import dense_document, mutated_document
from tests.interop.graphs import metric, random_document, result
from tests.interop.peer import Peer


def test_dense_graphs_equal_the_reference() -> None:
    with Peer() as peer:
        for seed in range(250):
            doc = dense_document(seed)
            answer = peer.ask(doc)
            if not answer.get("late"):
                assert compat(doc) == answer["processed"], seed


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_paths_of_20000_entities_take_under_two_seconds(share: float) -> None:
    rng = random.Random(1)
    count = 20_000
    entities = [
        {"id": f"n{i}", "kind": "node", "name": "n", "child_ids": [f"n{i + 1}"] if i + 1 < count else []}
        for i in range(count)
    ]
    rows = [{"entity_id": f"n{i}", "metrics": [metric("c", i % 9)]} for i in range(count) if rng.random() < share]
    res = result(entities, [{"id": "node", "child_kinds": ["node"]}], rows)
    start = time.process_time()
    found = project(res)
    assert time.process_time() - start < 2.0
    assert len(found.projected) + len(found.withheld) + len(rows) == count


def test_broken_documents_are_refused_exactly_where_the_reference_refuses() -> None:
    rng = random.Random(5)
    base = [random_document(3), dense_document(4)]
    with Peer() as peer:
        for number in range(400):
            doc = mutated_document(copy.deepcopy(base[number % 2]), rng)
            errors = validation_errors(doc)
            answer = peer.ask(doc)
            # The reference's validation ends in an exception on some of these, which is no acceptance.
            assert bool(errors) == ("kept" not in answer), (errors, answer, json.dumps(doc))


def test_broken_documents_end_in_a_result_or_a_typed_error() -> None:
    rng = random.Random(6)
    for number in range(1500):
        doc = mutated_document(random_document(number % 5), rng)
        try:
            check(doc)
            compat(doc)
        except HarnessError as error:
            assert error.what
