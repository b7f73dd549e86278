"""Bytes of tensors for inferences, from whatever a caller has, and the record of where they came from.

Both what goes into a model and what is expected to come out of it are given this way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.core.errors import SettingsError, UsageError
from harness.core.hashing import sha256_bytes
from harness.core.suggest import did_you_mean
from harness.engines.base import TensorFacts
from harness.image.tensor_file import quantise_hint, read_tensor

Tensors = tuple[bytes, ...]
LISTED = 64
"""Inferences whose tensors a record lists one by one; the digest is over all."""


@dataclass(frozen=True)
class RandomInputs:
    """Inputs drawn from a seed: uniform stored values, normal numbers for floats.

    Args:
        seed: from 0.
        count: how many inferences.
    """

    seed: int
    count: int = 1

    def draw(self, tensors: Sequence[TensorFacts]) -> tuple[Tensors, ...]:
        """The bytes of each tensor for each inference; the same seed gives the same ones."""
        return tuple(
            tuple(self._tensor(number, position, tensor) for position, tensor in enumerate(tensors))
            for number in range(self.count)
        )

    def _tensor(self, number: int, position: int, tensor: TensorFacts) -> bytes:
        draw = np.random.default_rng([self.seed, number, position])
        if tensor.dtype == "float32":
            return draw.normal(0.0, 1.0, tensor.nbytes // 4).astype("<f4").tobytes()
        if tensor.dtype == "bool":
            return draw.integers(0, 2, tensor.nbytes, dtype=np.uint8).tobytes()
        return draw.bytes(tensor.nbytes)


@dataclass(frozen=True)
class Source:
    """Where one tensor's bytes came from: `zeros`, `seed`, `file` or `caller`; `detail` is the seed or file name."""

    kind: str
    detail: str = ""

    def to_dict(self, data: bytes) -> dict[str, Any]:
        """JSON-ready form, with the digest of the bytes."""
        named = {"seed": int(self.detail)} if self.kind == "seed" else {"file": self.detail} if self.detail else {}
        return {"source": self.kind, **named, "sha256": sha256_bytes(data)}


ZEROS, CALLER = Source("zeros"), Source("caller")


@dataclass(frozen=True)
class Given:
    """Tensors for inferences: `cases[inference][tensor]` are bytes, `sources` says where each came from."""

    tensors: tuple[TensorFacts, ...]
    cases: tuple[Tensors, ...]
    sources: tuple[tuple[Source, ...], ...]

    @property
    def kinds(self) -> str:
        """The kinds of all sources in one word or more, as in `file` or `file, zeros`."""
        return ", ".join(sorted({source.kind for case in self.sources for source in case}))

    def digest(self) -> str:
        """SHA-256 over all bytes in order, each tensor's length before it."""
        digest = hashlib.sha256()
        for case in self.cases:
            for data in case:
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready record: count, digest over everything, and the tensors of the first inferences."""
        return {
            "count": len(self.cases),
            "source": self.kinds,
            "sha256": self.digest(),
            "inferences": [
                [
                    {"name": tensor.name, "index": tensor.index, **source.to_dict(data)}
                    for tensor, source, data in zip(self.tensors, sources, case, strict=True)
                ]
                for sources, case in zip(self.sources[:LISTED], self.cases[:LISTED], strict=True)
            ],
        }


def tensor_cases(given: Any, tensors: Sequence[TensorFacts], role: str = "input") -> Given:
    """Bytes of each tensor for each inference.

    Args:
        given: empty; `RandomInputs`; one array of shape (N, ...) for one tensor; one inference alone, when it is
            bytes, a file or a mapping; or a sequence with one entry an inference, each a sequence of one array, bytes
            or file a tensor (or, with one tensor, that alone), or a mapping from tensor names or positions to them.
            Inputs that a mapping leaves out are zero. A file is raw or .npy, and given as `Path`.
        tensors: the model's inputs or outputs.
        role: how messages call them: `input` or `output`.

    Raises:
        SettingsError: the array is empty, or an entry has another number of tensors,
            element type or size than the model.
        UsageError: a file does not fit, or is not there.
    """
    if isinstance(given, RandomInputs):
        source = Source("seed", str(given.seed))
        cases = given.draw(tensors)
        return Given(tuple(tensors), cases, ((source,) * len(tensors),) * len(cases))
    if isinstance(given, np.ndarray) and given.shape[:1] == (0,):
        raise SettingsError(
            f"The {role}s are an array of shape {given.shape}: no inference at all.",
            why="Zero bytes would be run in place of a data set that failed to load.",
            todo="Give at least one, or `()` for one inference on zero bytes.",
        )
    alone = isinstance(given, Mapping | bytes | bytearray | memoryview | Path)
    entries = [given] if alone else _sequence(given, f"The {role}s")
    read = [_case(entry, tensors, f"Inference {number}", role) for number, entry in enumerate(entries)]
    return Given(
        tuple(tensors),
        tuple(tuple(data for data, _ in case) for case in read),
        tuple(tuple(source for _, source in case) for case in read),
    )


def _case(entry: Any, tensors: Sequence[TensorFacts], where: str, role: str) -> list[tuple[bytes, Source]]:
    if isinstance(entry, Mapping):
        named = _by_position(entry, tensors, role)
        return [
            _tensor(named[at], tensor, f"{where}, {role} {at}", f"{role} {at}")
            if at in named
            else _absent(tensor, role, entry)
            for at, tensor in enumerate(tensors)
        ]
    alone = len(tensors) == 1 and not isinstance(entry, list | tuple)
    parts = [entry] if alone else _sequence(entry, where)
    if len(parts) != len(tensors):
        raise SettingsError(
            f"{where} has {len(parts)} {role} tensors; the model has {len(tensors)}.",
            todo=f"Give one array, bytes or file per model {role}, in model order: {_names(tensors)}.",
        )
    return [
        _tensor(part, tensor, f"{where}, {role} {at}", f"{role} {at}")
        for at, (part, tensor) in enumerate(zip(parts, tensors, strict=True))
    ]


def _by_position(entry: Mapping[Any, Any], tensors: Sequence[TensorFacts], role: str) -> dict[int, Any]:
    out: dict[int, Any] = {}
    names = [tensor.name for tensor in tensors]
    for key, value in entry.items():
        text = str(key)
        if names.count(text) == 1:
            at = names.index(text)
        elif text.isdecimal() and int(text) < len(names):
            at = int(text)
        else:
            many = names.count(text) > 1
            raise SettingsError(
                f"The model has {'several' if many else 'no'} {role}s named {text!r}.",
                why=f"Its {role}s: {_names(tensors)}." + ("" if many else f" {did_you_mean(text, names)}"),
                todo="Use the tensor's name or its position.",
            )
        if at in out:
            raise SettingsError(f"{role.capitalize()} {at} ({names[at]}) is given twice.", todo="Keep one of the two.")
        out[at] = value
    return out


def _absent(tensor: TensorFacts, role: str, entry: Mapping[Any, Any]) -> tuple[bytes, Source]:
    if role != "input":
        raise SettingsError(
            f"The {role} {tensor.name} is not given.",
            why=f"Given: {', '.join(map(str, entry)) or 'none'}.",
            todo=f"Give every {role} of the model.",
        )
    return bytes(tensor.nbytes), ZEROS


def _names(tensors: Sequence[TensorFacts]) -> str:
    shown = [f"{at} {t.name} ({t.dtype} {list(t.shape)}, {t.nbytes} bytes)" for at, t in enumerate(tensors[:8])]
    return "; ".join([*shown, *(["..."] if len(tensors) > 8 else [])])


def _sequence(value: Any, where: str) -> list[Any]:
    if not isinstance(value, str | bytes | Path):
        try:
            return list(value)
        except TypeError:
            pass
    raise SettingsError(
        f"{where}: {type(value).__name__} is no sequence.", todo="Give one array or bytes per tensor of the model."
    )


def _tensor(value: Any, tensor: TensorFacts, where: str, role: str) -> tuple[bytes, Source]:
    if isinstance(value, Path):
        try:
            data = read_tensor(value, tensor, role)
        except OSError as fault:
            raise UsageError(
                f"{value} cannot be read.", why=f"It is for {role} ({tensor.name}): {fault.strerror or fault}."
            ) from None
        return data, Source("file", value.name)
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
    else:
        array = np.asarray(value)
        if array.dtype != np.dtype(tensor.dtype):
            raise SettingsError(
                f"{where} ({tensor.name}) is of type {array.dtype}; the model has {tensor.dtype}.",
                todo=quantise_hint(tensor),
            )
        data = np.ascontiguousarray(array.astype(np.dtype(tensor.dtype).newbyteorder("<"))).tobytes()
    if len(data) != tensor.nbytes:
        raise SettingsError(
            f"{where} ({tensor.name}) has {len(data)} bytes; the model has {tensor.nbytes}.",
            why=f"Its shape is {list(tensor.shape)} of {tensor.dtype}.",
            todo="Give exactly the tensor's bytes.",
        )
    return data, CALLER
