"""Read-only collections: lists become tuples, dictionaries become mapping views, all the way down."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_LEAVES = (str, int, float, type(None))
EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of every mapping field: empty and read-only."""


def freeze(value: Any) -> Any:
    """A read-only copy of JSON-like data: mappings as views over private copies, sequences as tuples."""
    if isinstance(value, _LEAVES):
        return value
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Plain dictionaries and lists again, ready for JSON."""
    if isinstance(value, _LEAVES):
        return value
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def freeze_fields(record: object, *names: str) -> None:
    """Replace the named fields of a frozen dataclass by read-only copies; for `__post_init__` only."""
    for name in names:
        object.__setattr__(record, name, freeze(getattr(record, name)))
