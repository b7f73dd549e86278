"""What a model file says, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Quantization:
    """Affine quantisation, `real = scale * (stored - zero_point)`.

    One scale for the whole tensor, or one per index along `axis`.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int

    @property
    def per_channel(self) -> bool:
        """Whether there is more than one scale."""
        return len(self.scales) > 1


@dataclass(frozen=True)
class Tensor:
    """A tensor of a subgraph.

    `shape` has the batch dimension -1 read as 1; `nbytes` is its size in memory; `data` its bytes when it is constant.
    """

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    quantization: Quantization | None
    nbytes: int
    data: bytes | None
    is_variable: bool = False

    @property
    def elements(self) -> int:
        """How many elements it has; 1 for a scalar."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


@dataclass(frozen=True)
class Operator:
    """One operator.

    `inputs` are tensor indices, -1 for an optional one that is left out; `options` are plain values by schema name,
    with `padding` and `fused_activation_function` as words; `macs` counts multiply-accumulates, 0 where there are none.
    """

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    macs: int
    version: int = 1


@dataclass(frozen=True)
class Subgraph:
    """A graph of operators in execution order; `inputs` and `outputs` are tensor indices."""

    index: int
    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A model file that was read and checked. `tensors` and the like are those of the main subgraph, the first."""

    path: Path
    sha256: str
    size_bytes: int
    data: bytes
    description: str
    subgraphs: tuple[Subgraph, ...]

    @property
    def main(self) -> Subgraph:
        """The subgraph that an inference runs."""
        return self.subgraphs[0]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors of the main subgraph."""
        return self.main.tensors

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Operators of the main subgraph in execution order."""
        return self.main.operators

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensor indices of the model's inputs."""
        return self.main.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensor indices of the model's outputs."""
        return self.main.outputs
