"""Reference outputs from the host, kept by model, inputs and reference package so that a repeat costs nothing."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.core.deadline import Deadline
from harness.core.errors import UsageError
from harness.core.hashing import semantic_hash
from harness.core.resources import cache_root
from harness.core.store import ContentStore
from harness.engines.base import TensorFacts
from harness.engines.reference import DEADLINE_SECONDS, reference_info, run_reference
from harness.runner.inputs import tensor_cases

Tensors = tuple[bytes, ...]
FILE = "reference.npz"
FORMAT = 2
"""Counted up when what the file holds changes."""


@dataclass(frozen=True)
class Reference:
    """What the host reference computed.

    `outputs[inference][output]` are bytes; `layers[input][layer][output]` are bytes. `info` names package, version,
    resolver and rounding profile.
    """

    outputs: tuple[Tensors, ...]
    layers: tuple[tuple[Tensors, ...], ...]
    info: dict[str, str]


def host_reference(
    model: Path,
    model_sha256: str,
    *,
    inferences: Sequence[Tensors],
    inspected: Sequence[Tensors],
    rounding: str,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Reference:
    """Run the model on the host for all given inputs, or take the answer of an earlier identical run.

    Raises:
        ToolMissingError: the reference package is not installed.
        HarnessError: the reference refused the model, or did not end in time.
    """
    deadline = Deadline(deadline_seconds, "the host reference", model.name)
    info = asdict(reference_info(rounding))
    basis = {
        "format": FORMAT,
        "model": model_sha256,
        "info": info,
        "inferences": _digest(inferences),
        "inspected": _digest(inspected),
    }
    key = semantic_hash("reference", basis).rsplit(":", 1)[1]

    def make(directory: Path) -> None:
        flat, deep = (
            run_reference(model, cases, rounding, layers=layers, deadline=deadline)
            for cases, layers in ((inferences, False), (inspected, True))
        )
        (directory / FILE).write_bytes(_pack([case.outputs for case in flat], [case.layers for case in deep]))

    entry = ContentStore(cache_root() / "reference").get_or_make_sealed(key, make)
    outputs, layers = _unpack((entry / FILE).read_bytes())
    return Reference(outputs=outputs, layers=layers, info=info)


def given_reference(expected: Any, tensors: Sequence[TensorFacts], inferences: int) -> Reference:
    """Expected outputs that the caller has, as arrays, bytes or files; see `tensor_cases`.

    Raises:
        SettingsError, UsageError: their number or content does not fit the model.
    """
    given = tensor_cases(expected, tensors, "output")
    if len(given.cases) != inferences:
        raise UsageError(
            f"Expected outputs of {len(given.cases)} inferences were given, {inferences} are run.",
            todo="Give one set of outputs for each inference.",
        )
    names = sorted({source.detail for case in given.sources for source in case if source.detail})
    package = "files" if names else "caller"
    info = {"package": package, "version": given.digest()[:16], "resolver": ", ".join(names), "profile": "none"}
    return Reference(outputs=given.cases, layers=(), info=info)


def _digest(cases: Sequence[Tensors]) -> str:
    digest = hashlib.sha256()
    for case in cases:
        for tensor in case:
            digest.update(len(tensor).to_bytes(8, "little"))
            digest.update(tensor)
        digest.update(b"|")
    return digest.hexdigest()


def _pack(outputs: Sequence[Tensors], layers: Sequence[Sequence[Tensors]]) -> bytes:
    arrays = {f"o_{i}_{j}": _u8(t) for i, case in enumerate(outputs) for j, t in enumerate(case)}
    arrays |= {
        f"l_{i}_{n}_{j}": _u8(t)
        for i, case in enumerate(layers)
        for n, layer in enumerate(case)
        for j, t in enumerate(layer)
    }
    blob = np.concatenate([np.zeros(0, np.uint8), *arrays.values()])
    names = np.array(list(arrays), dtype="U32")
    sizes = np.array([a.size for a in arrays.values()], np.int64)
    file = io.BytesIO()
    # Operators without outputs have no name above.
    counts = np.array([len(case) for case in layers], np.int64)
    np.savez_compressed(file, names=names, sizes=sizes, blob=blob, counts=counts)
    return file.getvalue()


def _u8(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


def _unpack(data: bytes) -> tuple[tuple[Tensors, ...], tuple[tuple[Tensors, ...], ...]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        names, sizes, blob = file["names"].tolist(), file["sizes"].tolist(), file["blob"].tobytes()
        counts = file["counts"].tolist()
    outputs: dict[int, list[bytes]] = {}
    layers: list[list[list[bytes]]] = [[[] for _ in range(count)] for count in counts]
    at = 0
    for name, size in zip(names, sizes, strict=True):
        kind, *numbers = name.split("_")
        index = [int(number) for number in numbers]
        chunk = blob[at : at + size]
        at += size
        if kind == "o":
            outputs.setdefault(index[0], []).append(chunk)
        else:
            layers[index[0]][index[1]].append(chunk)
    return (
        tuple(tuple(case) for case in outputs.values()),
        tuple(tuple(tuple(layer) for layer in case) for case in layers),
    )
