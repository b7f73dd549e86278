"""The written form of a result: fields in the order of the format, without empty optional ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ORDER = (
    "kind", "status", "producer", "warnings", "errors", "metrics", "breakdowns", "mode", "checks", "entities",
    "entity_kinds", "advice",
)  # fmt: skip
_DROPPED_WHEN_EMPTY = frozenset(
    {"qualifiers", "details", "attributes", "parent_ids", "child_ids", "parent_kinds", "child_kinds", "stack_trace"}
    | {"warnings", "errors", "metrics", "breakdowns", "checks", "entities", "entity_kinds", "advice"}
    | {"affected_entity_ids"}
)


def plain_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without empty optional fields, as the reference writes what it changed."""

    def tidy(record: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in record.items()
            if not (key in _DROPPED_WHEN_EMPTY and not value)
            and not (value is None and key in ("placement", "entity_id"))
        }

    out = {key: result[key] for key in _ORDER if key in result}
    for key in ("metrics", "checks", "entities", "entity_kinds", "advice"):
        if key in out:
            out[key] = [tidy(item) for item in out[key]]
    if "breakdowns" in out:
        out["breakdowns"] = [
            {**tidy(item), "metrics": [tidy(metric) for metric in item["metrics"]]} for item in out["breakdowns"]
        ]
    return tidy(out)
