"""Records of the standardized output, version 1.2.0. Field names, order and defaults are those of the format.

Objects that the format leaves open (`configuration`, `attributes`, `details`, `qualifiers`, `extensions`, ...) stay
plain mappings. An absent list and an empty one are the same; an absent optional text is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = "1.2.0"
WELL_KNOWN_KINDS = frozenset({"source_operator", "model", "code_stack", "code_line"})
WELL_KNOWN_EDGES = frozenset(
    {("code_line", "code_stack"), ("code_stack", "code_stack"), ("code_stack", "source_operator")}
)
"""(parent kind, child kind) pairs that need no declaration."""

Open = Mapping[str, Any]
NOTHING: Open = {}


def _put(out: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Add what is present: neither None nor empty."""
    out.update({name: value for name, value in values.items() if value not in (None, (), {}, [], "")})
    return out


def _texts(data: Open, name: str) -> tuple[str, ...]:
    return tuple(data.get(name, ()))


@dataclass(frozen=True)
class Metric:
    """A figure with its unit, or the reason why there is none. Exactly one of `value` and `reason` is set."""

    name: str
    unit: str
    value: int | float | None = None
    aggregation: str | None = None
    samples: int | None = None
    qualifiers: Open = field(default_factory=dict)
    reason: str | None = None

    @classmethod
    def from_dict(cls, data: Open) -> Metric:
        """From a validated object."""
        get = data.get
        return cls(
            data["name"],
            data["unit"],
            get("value"),
            get("aggregation"),
            get("samples"),
            get("qualifiers", NOTHING),
            get("reason"),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out: dict[str, Any] = {"name": self.name, "unit": self.unit}
        if self.value is not None:
            out["value"] = self.value
        else:
            out.update(availability="unavailable", reason=self.reason)
        if self.aggregation is not None:
            out["aggregation"] = self.aggregation
        if self.samples is not None:
            out["samples"] = self.samples
        return _put(out, qualifiers=dict(self.qualifiers))


def unavailable(name: str, unit: str, reason: str, qualifiers: Open = NOTHING) -> Metric:
    """A metric that has no figure, and why."""
    return Metric(name, unit, qualifiers=qualifiers, reason=reason)


@dataclass(frozen=True)
class Breakdown:
    """Metrics of one entity."""

    entity_id: str
    metrics: tuple[Metric, ...]
    id: str | None = None
    qualifiers: Open = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Open) -> Breakdown:
        """From a validated object."""
        metrics = tuple(Metric.from_dict(item) for item in data["metrics"])
        return cls(data["entity_id"], metrics, data.get("id"), data.get("qualifiers", NOTHING))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out: dict[str, Any] = {"entity_id": self.entity_id, "metrics": [item.to_dict() for item in self.metrics]}
        if self.id is not None:
            out["id"] = self.id
        return _put(out, qualifiers=dict(self.qualifiers))


@dataclass(frozen=True)
class Check:
    """One statement about an entity or the model: pass, fail or partial."""

    id: str
    status: str
    entity_id: str | None = None
    details: Open = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Open) -> Check:
        """From a validated object."""
        return cls(data["id"], data["status"], data.get("entity_id"), data.get("details", NOTHING))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out: dict[str, Any] = {"id": self.id, "status": self.status}
        if self.entity_id is not None:
            out["entity_id"] = self.entity_id
        return _put(out, details=dict(self.details))


@dataclass(frozen=True)
class EntityKind:
    """A kind of entity and the kinds it may have as parents and children."""

    id: str
    parent_kinds: tuple[str, ...] = ()
    child_kinds: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Open) -> EntityKind:
        """From a validated object."""
        return cls(data["id"], _texts(data, "parent_kinds"), _texts(data, "child_kinds"))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return _put({"id": self.id}, parent_kinds=list(self.parent_kinds), child_kinds=list(self.child_kinds))


@dataclass(frozen=True)
class Entity:
    """A thing that figures can be about: an operator, a group of them, a source line."""

    id: str
    kind: str
    name: str
    placement: str | None = None
    parent_ids: tuple[str, ...] = ()
    child_ids: tuple[str, ...] = ()
    attributes: Open = field(default_factory=dict)
    stack_trace: str = ""

    @classmethod
    def from_dict(cls, data: Open) -> Entity:
        """From a validated object."""
        return cls(
            data["id"],
            data["kind"],
            data["name"],
            data.get("placement"),
            _texts(data, "parent_ids"),
            _texts(data, "child_ids"),
            data.get("attributes", NOTHING),
            data.get("stack_trace", ""),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out: dict[str, Any] = {"id": self.id, "kind": self.kind, "name": self.name}
        if self.placement is not None:
            out["placement"] = self.placement
        return _put(
            out,
            parent_ids=list(self.parent_ids),
            child_ids=list(self.child_ids),
            attributes=dict(self.attributes),
            stack_trace=self.stack_trace,
        )


@dataclass(frozen=True)
class Advice:
    """A recommendation and the entities it is about."""

    id: str
    category: str
    severity: str
    message: str
    affected_entity_ids: tuple[str, ...] = ()
    details: Open = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Open) -> Advice:
        """From a validated object."""
        return cls(
            data["id"],
            data["category"],
            data["severity"],
            data["message"],
            _texts(data, "affected_entity_ids"),
            data.get("details", NOTHING),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out = {"id": self.id, "category": self.category, "severity": self.severity, "message": self.message}
        return _put(dict(out), affected_entity_ids=list(self.affected_entity_ids), details=dict(self.details))


@dataclass(frozen=True)
class Result:
    """What one producer says: metrics of the model, breakdowns by entity, checks, advice."""

    kind: str
    status: str
    producer: str
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    mode: str | None = None
    checks: tuple[Check, ...] = ()
    entities: tuple[Entity, ...] = ()
    entity_kinds: tuple[EntityKind, ...] = ()
    advice: tuple[Advice, ...] = ()

    @classmethod
    def from_dict(cls, data: Open) -> Result:
        """From a validated object."""
        return cls(
            data["kind"],
            data["status"],
            data["producer"],
            _texts(data, "warnings"),
            _texts(data, "errors"),
            tuple(Metric.from_dict(item) for item in data.get("metrics", ())),
            tuple(Breakdown.from_dict(item) for item in data.get("breakdowns", ())),
            data.get("mode"),
            tuple(Check.from_dict(item) for item in data.get("checks", ())),
            tuple(Entity.from_dict(item) for item in data.get("entities", ())),
            tuple(EntityKind.from_dict(item) for item in data.get("entity_kinds", ())),
            tuple(Advice.from_dict(item) for item in data.get("advice", ())),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        out: dict[str, Any] = {"kind": self.kind, "status": self.status, "producer": self.producer}
        if self.mode is not None:
            out["mode"] = self.mode
        return _put(
            out,
            warnings=list(self.warnings),
            errors=list(self.errors),
            metrics=[item.to_dict() for item in self.metrics],
            breakdowns=[item.to_dict() for item in self.breakdowns],
            checks=[item.to_dict() for item in self.checks],
            entities=[item.to_dict() for item in self.entities],
            entity_kinds=[item.to_dict() for item in self.entity_kinds],
            advice=[item.to_dict() for item in self.advice],
        )


@dataclass(frozen=True)
class Document:
    """A whole standardized output. `tool`, `target`, `model`, `context` and `backends` keep their JSON form."""

    run_id: str
    timestamp: str
    tool: Open
    target: Open
    model: Open
    context: Open
    backends: tuple[Open, ...]
    results: tuple[Result, ...]
    extensions: Open = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Open) -> Document:
        """From a validated object."""
        return cls(
            data["run_id"],
            data["timestamp"],
            data["tool"],
            data["target"],
            data["model"],
            data["context"],
            tuple(data["backends"]),
            tuple(Result.from_dict(item) for item in data["results"]),
            data.get("extensions", NOTHING),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return _put(
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": self.run_id,
                "timestamp": self.timestamp,
                "tool": dict(self.tool),
                "target": dict(self.target),
                "model": dict(self.model),
                "context": dict(self.context),
                "backends": [dict(item) for item in self.backends],
                "results": [item.to_dict() for item in self.results],
            },
            extensions=dict(self.extensions),
        )
