"""What an engine said of the code it generated, in the form a build record keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.engines.base import GeneratedEngine, LayerFacts, TensorFacts
from harness.model.types import Quantization

STATEFUL = frozenset({"READ_VARIABLE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"})
"""Operators that read what an earlier inference left."""


@dataclass(frozen=True)
class EngineFacts:
    """The generated engine without its files.

    `layers` are in execution order; sizes in bytes.
    """

    name: str
    engine_version: str
    kernels_version: str
    arena_bytes: int
    weights_bytes: int | None
    layers: tuple[LayerFacts, ...]
    input_tensors: tuple[TensorFacts, ...]
    output_tensors: tuple[TensorFacts, ...]
    runtime: str = ""

    @property
    def reported_name(self) -> str:
        """What the firmware calls its engine."""
        return self.runtime or self.name

    @property
    def keeps_state(self) -> bool:
        """Whether an inference depends on those before it."""
        return any(layer.op in STATEFUL for layer in self.layers)

    @classmethod
    def of(cls, name: str, engine: GeneratedEngine) -> EngineFacts:
        """The facts of what an engine generated."""
        return cls(
            name=name,
            engine_version=engine.engine_version,
            kernels_version=engine.kernels_version,
            arena_bytes=engine.arena_bytes,
            weights_bytes=engine.weights_bytes,
            layers=tuple(engine.layers),
            input_tensors=tuple(engine.input_tensors),
            output_tensors=tuple(engine.output_tensors),
            runtime=engine.runtime,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        value: dict[str, Any] = _plain(asdict(self))
        return value

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> EngineFacts:
        """The facts from their JSON form; KeyError or TypeError when it is malformed."""
        return cls(
            **{
                **value,
                "layers": tuple(LayerFacts(**_tuples(layer)) for layer in value["layers"]),
                "input_tensors": tuple(map(_tensor, value["input_tensors"])),
                "output_tensors": tuple(map(_tensor, value["output_tensors"])),
            }
        )


def _tensor(value: Mapping[str, Any]) -> TensorFacts:
    quantization = value["quantization"]
    facts = {**_tuples(value), "quantization": None if quantization is None else Quantization(**_tuples(quantization))}
    return TensorFacts(**facts)


def _tuples(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value
