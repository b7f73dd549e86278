"""Small dense graphs that make projection search: overlapping origins, no common kinds, sums that round."""

from __future__ import annotations

import random
from typing import Any

from tests.interop.graphs import document, metric, result


def dense_document(seed: int) -> dict[str, Any]:
    """A document around one dense random graph."""
    rng = random.Random(f"dense {seed}")
    count = rng.randint(4, 11)
    order = [f"e{index:02}" for index in range(count)]
    rng.shuffle(order)
    apart, share, link = rng.random() < 0.7, rng.choice((0.3, 0.5)), rng.choice((0.2, 0.3, 0.45))
    kind = {name: f"k{name}" if apart else rng.choice("abc") for name in order}
    below: dict[str, list[str]] = {name: [] for name in order}
    for index, name in enumerate(order):
        below[name] = [other for other in order[index + 1 : index + 5] if rng.random() < link]
    pairs = {(kind[name], kind[other]) for name in order for other in below[name]}
    kinds = [
        {"id": name, "child_kinds": sorted(lower for upper, lower in pairs if upper == name)}
        for name in sorted(set(kind.values()))
    ]
    values: tuple[float, ...] = (0.1, 0.2, 0.3, 0.7) if rng.random() < 0.3 else (1, 1, 2, 3)
    rows = []
    for name in sorted(order):
        if rng.random() < share:
            metrics = [metric("c", rng.choice(values))]
            if rng.random() < 0.3:
                metrics.append(metric("b", rng.choice((1, 2)), aggregation=rng.choice(("sum", "sum", "max"))))
            rows.append({"entity_id": name, "metrics": metrics})
    entities = [{"id": name, "kind": kind[name], "name": name, "child_ids": below[name]} for name in sorted(order)]
    return document(result(entities, kinds, rows))


def mutated_document(doc: Any, rng: random.Random) -> Any:
    """The document with one to three values dropped, replaced or repeated."""
    for _ in range(rng.randint(1, 3)):
        places: list[tuple[Any, Any]] = []
        pending = [doc]
        while pending:
            at = pending.pop()
            keys = list(at) if isinstance(at, dict) else range(len(at))
            places += [(at, key) for key in keys]
            pending += [at[key] for key in keys if isinstance(at[key], dict | list)]
        if not places:
            break
        at, key = rng.choice(places)
        what = rng.random()
        if what < 0.25:
            del at[key]
        elif what < 0.35 and isinstance(at, list):
            at.append(at[key])
        elif what < 0.45 and isinstance(at, dict):
            at["unknown"] = 1
        else:
            odd: list[Any] = [None, True, -1, 0, 1.5, 3.0, "", " ", "x", [], {}, ["x"], {"x": None}, "CPU", "sum"]
            at[key] = rng.choice(odd)
    return doc
