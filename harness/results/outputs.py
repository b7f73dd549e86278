"""Whether the target computed what the host reference computes: per output tensor and per layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TensorCheck:
    """One model output over all inferences.

    `max_abs_error` is in stored units (quantisation steps for int8) and None when the error of an element is not
    finite; `non_finite` counts those.
    """

    name: str
    index: int
    dtype: str
    shape: tuple[int, ...]
    elements: int
    mismatched: int
    max_abs_error: float | None
    non_finite: int = 0

    @property
    def identical(self) -> bool:
        """Whether every element is equal."""
        return self.mismatched == 0


@dataclass(frozen=True)
class LayerCheck:
    """One operator's outputs over all inspected inputs, counted in bytes.

    `max_abs_error` is in stored units, and None when the error of an element is not finite or types are not known.
    """

    layer: int
    op: str
    elements: int
    mismatched: int
    first_input: int | None = None
    max_abs_error: float | None = None

    @property
    def identical(self) -> bool:
        """Whether every byte is equal."""
        return self.mismatched == 0


@dataclass(frozen=True)
class OutputsCheck:
    """The comparison of a capture with its reference.

    `match` is None when nothing was compared; `reason` then says why. `tolerance` is in stored units.
    `differing_windows` names the clean window and passes whose last inference left other outputs than the reference:
    what was timed there is not what the model computes.
    """

    match: bool | None
    reason: str = ""
    reference: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 0.0
    inferences: int = 0
    inspected: int = 0
    tensors: tuple[TensorCheck, ...] = ()
    layers: tuple[LayerCheck, ...] = ()
    differing_windows: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.explain()}>"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, as stored in a bundle."""
        return {
            "match": self.match,
            "reason": self.reason,
            "reference": dict(self.reference),
            "tolerance": self.tolerance,
            "inferences": self.inferences,
            "inspected": self.inspected,
            "tensors": [
                {
                    "name": t.name,
                    "index": t.index,
                    "dtype": t.dtype,
                    "shape": list(t.shape),
                    "elements": t.elements,
                    "mismatched_elements": t.mismatched,
                    "max_abs_error": t.max_abs_error,
                    "non_finite_elements": t.non_finite,
                    "identical": t.identical,
                }
                for t in self.tensors
            ],
            "layers": [
                {
                    "layer": c.layer,
                    "op": c.op,
                    "elements": c.elements,
                    "mismatched_elements": c.mismatched,
                    "first_input": c.first_input,
                    "max_abs_error": c.max_abs_error,
                    "identical": c.identical,
                }
                for c in self.layers
            ],
            "differing_windows": list(self.differing_windows),
        }

    @classmethod
    def not_compared(cls, reason: str) -> OutputsCheck:
        """Nothing was compared, for the stated reason."""
        return cls(match=None, reason=reason)

    @property
    def differing_layers(self) -> tuple[LayerCheck, ...]:
        """Layers with at least one differing byte."""
        return tuple(layer for layer in self.layers if not layer.identical)

    def explain(self) -> str:
        """One line for people."""
        if self.match is None:
            return f"outputs not compared: {self.reason}"
        if self.match:
            return f"outputs match the reference over {self.inferences} inferences ({self.inspected} inspected)"
        bad: Sequence[str] = [
            *(
                f"output {t.name!r}: {t.mismatched} of {t.elements} elements{_worst(t.max_abs_error, t.non_finite)}"
                for t in self.tensors
                if not t.identical
            ),
            *(
                f"layer {c.layer} {c.op}: {c.mismatched} of {c.elements} bytes{_worst(c.max_abs_error)}"
                for c in self.differing_layers
            ),
            *(f"{name}: its last outputs" for name in self.differing_windows),
        ]
        return "outputs differ from the reference: " + "; ".join(bad)


def _worst(error: float | None, non_finite: int = 0) -> str:
    if non_finite:
        return f", {non_finite} of them not finite"
    return "" if error is None else f", by at most {error:g}"
