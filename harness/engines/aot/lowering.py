"""What operators become: a kernel call, or another view of memory that is there already."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from harness.model.types import Model, Operator, Tensor

INT8_MIN, INT8_MAX = -128, 127
RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "int8": (-128, 127),
        "uint8": (0, 255),
        "int16": (-32768, 32767),
        "int32": (-(1 << 31), (1 << 31) - 1),
    }
)
"""Stored values of the quantised types."""


class RefusedError(Exception):
    """Why an operator cannot be lowered, in words that complete `operator 3 (CONV_2D): ...`."""


@dataclass(frozen=True)
class KernelConfig:
    """Engine options that change what an operator becomes.

    Args:
        kernels: `portable`, or `naive` for slower variants with the same results.
        rounding: `tflm`, or `litert-ref`, which rounds once in FULLY_CONNECTED.
    """

    kernels: str = "portable"
    rounding: str = "tflm"


@dataclass(frozen=True)
class Array:
    """Constant data that goes with one operator; `name` tells it from the operator's other arrays."""

    name: str
    ctype: str
    values: NDArray[Any]


@dataclass(frozen=True)
class ConstantTensor:
    """A constant of the model, by tensor index; written once however many operators use it."""

    tensor: int


Value = int | Array | ConstantTensor | tuple[int, ...] | Mapping[str, Any]


@dataclass(frozen=True)
class Kernel:
    """A C function, `void function(const struct *, const int8_t *inputs..., [int8_t *scratch,] int8_t *outputs...)`.

    Kernels for other elements take `void *`.

    `header` and `source` are files of firmware/kernels.
    """

    function: str
    struct: str
    header: str
    source: str
    takes_scratch: bool = False


@dataclass(frozen=True)
class Call:
    """One call of a kernel.

    Args:
        kernel: what is called.
        fields: of its parameter struct; mappings are nested structs.
        inputs: tensor indices passed by address, in order.
        outputs: likewise.
        scratch_bytes: memory it needs while it runs; 0: a kernel that takes scratch gets NULL.
        in_place: tensor indices among `inputs` whose memory the first output may take.
    """

    kernel: Kernel
    fields: Mapping[str, Value]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scratch_bytes: int = 0
    in_place: tuple[int, ...] = ()


@dataclass(frozen=True)
class View:
    """Nothing runs: the output is the memory of the input."""

    input: int
    output: int


@dataclass(frozen=True)
class Steps:
    """Several calls, one after the other; none for an operator that is done once code is generated."""

    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Cell:
    """Memory that keeps its content from one inference to the next: a resource variable or a variable tensor.

    `key` stands for it among the tensor indices of calls; `initial` is its content after a reset.
    """

    key: int
    name: str
    initial: bytes


Lowered = Call | View | Steps
Lowering = Callable[["OpView", KernelConfig], Lowered]


@dataclass(frozen=True)
class Affine:
    """Scale and zero point of a whole tensor."""

    scale: float
    zero: int


class OpView:
    """An operator with its tensors at hand; every accessor raises `RefusedError` when something does not fit."""

    def __init__(self, model: Model, operator: Operator, cells: Mapping[int, Cell] | None = None) -> None:
        self.operator = operator
        self._tensors = model.tensors
        self._cells = cells or {}

    def cell(self, tensor: Tensor) -> Cell:
        """The memory behind a variable tensor, or behind the handle of a resource variable."""
        if tensor.index not in self._cells:
            self.refuse(f"tensor {tensor.index} ({tensor.name}) is no variable")
        return self._cells[tensor.index]

    def refuse(self, why: str) -> NoReturn:
        """Raise `RefusedError`."""
        raise RefusedError(why)

    def counts(self, inputs: tuple[int, ...], outputs: int = 1) -> None:
        """Check how many tensors the operator has; `inputs` lists the allowed numbers."""
        if len(self.operator.inputs) not in inputs or len(self.operator.outputs) != outputs:
            self.refuse(f"has {len(self.operator.inputs)} inputs and {len(self.operator.outputs)} outputs")

    def option(self, name: str) -> Any:
        """An option of the operator."""
        if name not in self.operator.options:
            self.refuse(f"option {name} is missing")
        return self.operator.options[name]

    def input(self, position: int) -> Tensor:
        """An input that must be there."""
        tensor = self.optional(position)
        if tensor is None:
            self.refuse(f"input {position} is missing")
        return tensor

    def optional(self, position: int) -> Tensor | None:
        """An input, None when it is left out."""
        inputs = self.operator.inputs
        if position >= len(inputs) or inputs[position] < 0:
            return None
        return self._tensors[inputs[position]]

    def output(self, position: int = 0) -> Tensor:
        """An output."""
        return self._tensors[self.operator.outputs[position]]

    def int8(self, *tensors: Tensor) -> None:
        """Check that tensors are int8 and not empty."""
        self.types(("int8",), *tensors)

    def types(self, allowed: tuple[str, ...], *tensors: Tensor) -> None:
        """Check that tensors have one of the element types and are not empty."""
        for tensor in tensors:
            if tensor.dtype not in allowed:
                self.refuse(f"tensor {tensor.index} ({tensor.name}) is {tensor.dtype}, not {' or '.join(allowed)}")
            if tensor.elements == 0:
                self.refuse(f"tensor {tensor.index} ({tensor.name}) is empty")

    def alike(self, *tensors: Tensor) -> None:
        """Check that tensors have the element type of the first."""
        for tensor in tensors[1:]:
            if tensor.dtype != tensors[0].dtype:
                self.refuse(f"tensor {tensor.index} ({tensor.name}) is {tensor.dtype}, not {tensors[0].dtype}")

    def shape4(self, tensor: Tensor, role: str) -> tuple[int, int, int, int]:
        """The extents of a tensor that must have four."""
        if len(tensor.shape) != 4:
            self.refuse(f"{role} has shape {list(tensor.shape)}; it must have four extents")
        a, b, c, d = tensor.shape
        return a, b, c, d

    def scales(self, tensor: Tensor, role: str) -> tuple[float, ...]:
        """Checked scales of a tensor: finite and above 0."""
        quantization = tensor.quantization
        if quantization is None:
            self.refuse(f"{role} has no quantisation")
        if not all(math.isfinite(scale) and scale > 0 for scale in quantization.scales):
            self.refuse(f"{role} has a scale that is not a number above 0")
        return quantization.scales

    def affine(self, tensor: Tensor, role: str) -> Affine:
        """Quantisation of an integer tensor as a whole."""
        scales = self.scales(tensor, role)
        quantization = tensor.quantization
        assert quantization is not None
        zero = quantization.zero_points[0]
        if len(scales) != 1:
            self.refuse(f"{role} has {len(scales)} scales; it must have one")
        low, high = RANGES.get(tensor.dtype, (0, 0))
        if not low <= zero <= high:
            self.refuse(f"{role} has the zero point {zero}")
        return Affine(scales[0], zero)

    def integers(self, position: int, role: str) -> tuple[int, ...]:
        """The values of an input that must be a constant of int32 or int64."""
        tensor = self.input(position)
        if tensor.dtype not in ("int32", "int64"):
            self.refuse(f"{role} is {tensor.dtype}, not int32")
        return tuple(int(value) for value in self.constant(tensor, role, tensor.dtype).reshape(-1))

    def tflm_only(self, config: KernelConfig, what: str = "the operator") -> None:
        """Refuse what is done with the arithmetic of TFLM alone, when another is asked for."""
        if config.rounding != "tflm":
            self.refuse(f"{what} is done with rounding 'tflm' only, not {config.rounding!r}")

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front; negative ones count from the end."""
        if not -rank <= value < rank:
            self.refuse(f"axis {value} is not one of {rank}")
        return value + rank if value < 0 else value

    def constant(self, tensor: Tensor, role: str, dtype: str) -> NDArray[Any]:
        """The values of a constant, in its shape."""
        if tensor.data is None:
            self.refuse(f"{role} is not a constant")
        if tensor.dtype != dtype:
            self.refuse(f"{role} is {tensor.dtype}, not {dtype}")
        return np.frombuffer(tensor.data, np.dtype(dtype).newbyteorder("<")).reshape(tensor.shape)

    def positive(self, name: str, most: int = 65535) -> int:
        """An option that must be a whole number from 1 to `most`."""
        value = self.option(name)
        if not 1 <= value <= most:
            self.refuse(f"option {name} is {value}")
        return int(value)


def calls_of(step: Lowered) -> tuple[Call, ...]:
    """The calls of an operator, in order."""
    if isinstance(step, Call):
        return (step,)
    return step.calls if isinstance(step, Steps) else ()
