"""Random documents for projection: layered graphs with overlaps, several kinds, qualifiers, conflicts, source lines."""

from __future__ import annotations

import random
from typing import Any

RUN_ID = "0b0f6c8e-4c1e-4f0e-9a55-5a7c2b1d0001"


def document(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A valid document around results."""
    return {
        "schema_version": "1.2.0",
        "run_id": RUN_ID,
        "timestamp": "2026-11-29T12:00:00+00:00",
        "tool": {"name": "harness", "version": "0.1.0"},
        "target": {
            "profile_name": "m55",
            "target_type": "cortex-m",
            "components": [{"type": "cpu", "family": "cortex-m"}],
            "configuration": {},
        },
        "model": {"name": "net.tflite", "format": "tflite", "hash": "ab" * 32, "size_bytes": 4},
        "context": {},
        "backends": [{"id": "b", "name": "b", "version": "1", "configuration": {}}],
        "results": list(results),
        **fields,
    }


def result(
    entities: list[dict[str, Any]], kinds: list[dict[str, Any]], breakdowns: list[dict[str, Any]], **fields: Any
) -> dict[str, Any]:
    """A measured performance result."""
    return {
        "kind": "performance",
        "status": "ok",
        "producer": "b",
        "mode": "measured",
        "entities": entities,
        "entity_kinds": kinds,
        "breakdowns": breakdowns,
        **fields,
    }


def metric(name: str, value: float | None, **fields: Any) -> dict[str, Any]:
    """A metric in cycles; unavailable when the value is None."""
    if value is None:
        return {"name": name, "unit": "cycles", "availability": "unavailable", "reason": "not measured"}
    return {"name": name, "unit": "cycles", "value": value, "aggregation": "sum", **fields}


def _figures(rng: random.Random, value: int) -> list[dict[str, Any]]:
    metrics = [metric("op_cycles", value)]
    if rng.random() < 0.2:
        metrics.append(metric("p90", value, aggregation="p90"))
    if rng.random() < 0.1:
        metrics.append(metric("stalls", None))
    if rng.random() < 0.15:
        metrics.append(metric("reads", value, samples=rng.choice([1, 2, 3])))
    if rng.random() < 0.1:
        metrics.append(metric("op_cycles", value + 1, qualifiers={"phase": "after"}))
    return metrics


def random_document(seed: int) -> dict[str, Any]:
    """A random small document; the same for the same seed."""
    rng = random.Random(seed)
    operators = [f"source_operator/operator/{i}" for i in range(rng.randint(1, 8))]
    layers: list[tuple[str, list[str]]] = [("source_operator", operators)]
    children: dict[str, set[str]] = {key: set() for key in operators}
    kinds: dict[str, set[str]] = {}
    shape = rng.choice(["tree", "overlap", "two", "free"])
    for view in range(2 if shape == "two" else 1 if shape == "tree" else rng.randint(1, 3)):
        below, below_kind = operators, "source_operator"
        for depth in range(rng.randint(1, 3)):
            kind = rng.choice(["chain", "cascade", "segment", "module"]) if shape == "free" else f"k{view}_{depth}"
            if kind in kinds and shape == "free":
                kind = f"{kind}{view}{depth}"
            kinds.setdefault(kind, set()).add(below_kind)
            count = rng.randint(1, min(10, max(1, len(below))))
            names = [f"{kind}/{i}" for i in range(count)]
            for name in names:
                children[name] = set()
            for child in below:
                for _ in range(1 if shape in ("tree", "two") else rng.choice([1, 1, 1, 2, 0])):
                    children[rng.choice(names)].add(child)
            if shape == "free" and rng.random() < 0.3:
                kinds[kind].add("source_operator")
                children[rng.choice(names)].add(rng.choice(operators))
            layers.append((kind, names))
            below, below_kind = names, kind
    if rng.random() < 0.3:
        stacks = [f"code_stack/{i}" for i in range(rng.randint(1, 3))]
        for index, name in enumerate(stacks):
            children[name] = set(rng.sample(operators, rng.randint(1, len(operators))))
            if index and rng.random() < 0.5:
                children[stacks[index - 1]].add(name)
        layers.append(("code_stack", stacks))
    entities: list[dict[str, Any]] = []
    for kind, names in layers:
        for name in names:
            entity: dict[str, Any] = {"id": name, "kind": kind, "name": name, "child_ids": sorted(children[name])}
            if kind == "code_stack" and rng.random() < 0.7:
                entity["attributes"] = {"file": "a/net.py", "line": rng.randint(1, 3)}
            entities.append(entity)
    rng.shuffle(entities)
    share = rng.choice([0.2, 0.4, 0.6])
    breakdowns: list[dict[str, Any]] = []
    for entity in entities:
        if rng.random() < share:
            value = rng.choice([1, 2, 3, 5, 8, 13])
            breakdown = {"entity_id": entity["id"], "metrics": _figures(rng, value)}
            if rng.random() < 0.05:
                breakdown["qualifiers"] = {"placement": "CPU"}
            breakdowns.append(breakdown)
            if rng.random() < 0.08:
                breakdowns.append(
                    {"entity_id": entity["id"], "metrics": [metric("op_cycles", value + rng.choice([0, 1]))]}
                )
            if rng.random() < 0.05:
                breakdowns.append(breakdown)
    declared = [{"id": kind, "child_kinds": sorted(below)} for kind, below in kinds.items()]
    return document(result(entities, declared, breakdowns))
