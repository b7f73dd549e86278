"""Advice in the form of the standardized output."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from harness.advice.advise import Advice


def to_standard(item: Advice, known: Container[str] | None = None) -> dict[str, Any]:
    """One entry of a result's advice; entities that are not among `known` ones are left out."""
    told = item.to_dict()
    entities = [f"source_operator/operator/{index}" for index in item.finding.operators]
    return {
        "id": item.id,
        "category": "optimization",
        "severity": item.rule.severity,
        "message": item.finding.message,
        "affected_entity_ids": [entity for entity in entities if known is None or entity in known],
        "details": {name: told[name] for name in ("rule", "evidence", "thresholds", "source")},
    }
