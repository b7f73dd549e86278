"""What an operator's cost follows from, as plain facts that a bundle can carry without the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from harness.model.types import Model, Operator, Tensor

Shape = tuple[int, ...]
_WINDOWED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"})
_POOLS = frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D"})


@dataclass(frozen=True)
class OperatorFacts:
    """One operator of a model.

    `inputs` are shapes of what is computed before it, `constants` of what the model holds; bytes are as stored.
    `window` is the kernel's height and width, (0, 0) for operators without one; `stride` and `dilation` likewise;
    `padding` is `SAME`, `VALID` or empty. `kernels` are the functions that run it, empty where the engine does not say
    or nothing runs.
    """

    index: int
    op: str
    macs: int
    dtype: str
    inputs: tuple[Shape, ...]
    constants: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    input_bytes: int
    constant_bytes: int
    output_bytes: int
    window: tuple[int, int] = (0, 0)
    stride: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (0, 0)
    padding: str = ""
    kernels: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OperatorFacts:
        """The facts out of their JSON form.

        Raises:
            ValueError: a field is missing, unknown, or of another type.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != names:
            raise ValueError(f"fields are not {', '.join(sorted(names))}")
        counts = ("index", "macs", "input_bytes", "constant_bytes", "output_bytes")
        if any(type(data[name]) is not int or data[name] < 0 for name in counts):
            raise ValueError(f"one of {', '.join(counts)} is no whole number from 0")
        if not all(isinstance(data[name], str) for name in ("op", "dtype", "padding")):
            raise ValueError("op, dtype or padding is no text")
        return cls(
            index=data["index"],
            op=data["op"],
            macs=data["macs"],
            dtype=data["dtype"],
            inputs=_shapes(data["inputs"]),
            constants=_shapes(data["constants"]),
            outputs=_shapes(data["outputs"]),
            input_bytes=data["input_bytes"],
            constant_bytes=data["constant_bytes"],
            output_bytes=data["output_bytes"],
            window=_pair(data["window"]),
            stride=_pair(data["stride"]),
            dilation=_pair(data["dilation"]),
            padding=data["padding"],
            kernels=_texts(data["kernels"]),
        )


def _numbers(value: Any) -> Shape:
    if not isinstance(value, list | tuple) or any(type(item) is not int or item < 0 for item in value):
        raise ValueError(f"{str(value)[:40]} is no list of whole numbers")
    return tuple(value)


def _shapes(value: Any) -> tuple[Shape, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{str(value)[:40]} is no list of shapes")
    return tuple(map(_numbers, value))


def _pair(value: Any) -> tuple[int, int]:
    numbers = _numbers(value)
    if len(numbers) != 2:
        raise ValueError(f"{list(numbers)[:5]} is no pair of numbers")
    return numbers[0], numbers[1]


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError("kernels is no list of names")
    return tuple(value)


def operator_facts(model: Model, kernels: Mapping[int, Sequence[str]] | None = None) -> tuple[OperatorFacts, ...]:
    """Facts of each operator of the main graph; `kernels` are the functions that run one, by operator index."""
    return tuple(
        _facts(model, operator, tuple((kernels or {}).get(operator.index, ()))) for operator in model.operators
    )


def _facts(model: Model, operator: Operator, kernels: tuple[str, ...]) -> OperatorFacts:
    read = [model.tensors[index] for index in operator.inputs if index >= 0]
    written = [model.tensors[index] for index in operator.outputs]
    constants = [tensor for tensor in read if tensor.data is not None]
    computed = [tensor for tensor in read if tensor.data is None]
    window, stride, dilation = _geometry(model, operator)
    return OperatorFacts(
        index=operator.index,
        op=operator.name,
        macs=operator.macs,
        dtype=(written or read)[0].dtype if written or read else "",
        inputs=_shapes_of(computed),
        constants=_shapes_of(constants),
        outputs=_shapes_of(written),
        input_bytes=sum(tensor.nbytes for tensor in computed),
        constant_bytes=sum(tensor.nbytes for tensor in constants),
        output_bytes=sum(tensor.nbytes for tensor in written),
        window=window,
        stride=stride,
        dilation=dilation,
        padding=str(operator.options.get("padding", "")) if window != (0, 0) else "",
        kernels=kernels,
    )


def _shapes_of(tensors: Iterable[Tensor]) -> tuple[Shape, ...]:
    return tuple(tensor.shape for tensor in tensors)


def _geometry(model: Model, operator: Operator) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    get = operator.options.get
    stride = (int(get("stride_h", 1) or 1), int(get("stride_w", 1) or 1))
    if operator.name in _POOLS:
        return (int(get("filter_height", 0)), int(get("filter_width", 0))), stride, (1, 1)
    if operator.name in _WINDOWED and len(operator.inputs) > 1 and operator.inputs[1] >= 0:
        shape = model.tensors[operator.inputs[1]].shape
        if len(shape) == 4:
            dilation = (int(get("dilation_h_factor", 1) or 1), int(get("dilation_w_factor", 1) or 1))
            return (shape[1], shape[2]), stride, dilation
    return (0, 0), (0, 0), (0, 0)
