"""Turns pydantic's validation errors into one line that names file, line, key and the nearest known key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.core.errors import UsageError
from harness.core.strict_yaml import YamlDocument
from harness.core.suggest import did_you_mean


def explain(
    fault: ValidationError,
    model: type[BaseModel],
    documents: Sequence[YamlDocument],
    error: type[UsageError],
    subject: str,
) -> UsageError:
    """The error to raise for a validation fault; `documents` are searched in order for the line."""
    lines = [_line(item, model, documents) for item in fault.errors()]
    first, rest = lines[0], lines[1:]
    return error(
        f"{subject} cannot be used: {first}",
        why="\n".join(rest),
        todo="Correct the descriptor; the shipped ones in boards/ are examples.",
        context={"problems": lines},
    )


def _line(item: Any, model: type[BaseModel], documents: Sequence[YamlDocument]) -> str:
    location: tuple[str | int, ...] = tuple(item["loc"])
    where = next((d.where(location) for d in documents if location in d.lines), documents[0].where(location))
    key = ".".join(str(part) for part in location)
    if item["type"] == "extra_forbidden":
        return f"{where}: unknown key {key!r}. {did_you_mean(str(location[-1]), known_keys(model, location[:-1]))}"
    if item["type"] == "missing":
        return f"{where}: {key!r} is missing."
    message = item["msg"].removeprefix("Value error, ")
    return f"{where}: {key}: {message}." if key else f"{where}: {message}."


def known_keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys a nested mapping of `model` may hold."""
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current is not None else None
        current = next(_models(field.annotation), None) if field is not None else None
    return [name for name in current.model_fields if name != "path"] if current is not None else []


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
