"""What a host interpreter computes: final outputs and every operator's outputs, byte for byte.

Each rounding profile has its reference: `tflm` the tflite-micro interpreter, `litert-ref` LiteRT with its reference
kernels. They run in a child process: their internals are not a documented interface, and a crash there must not end us.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from harness.core.deadline import Deadline
from harness.core.errors import HarnessError, SettingsError, ToolMissingError
from harness.core.proc import run_guarded

Tensors = tuple[bytes, ...]
DEADLINE_SECONDS = 120.0
CHILD = Path(__file__).with_name("_reference_child.py")


class HostReferenceError(HarnessError):
    """The host interpreter refused the model, failed, or ended."""

    code = "reference.failed"
    exit_code = 1
    fault_class = "model"


class ReferenceMissingError(ToolMissingError):
    """The package of a host reference is not installed."""

    code = "reference.missing"
    fault_class = "build"


@dataclass(frozen=True)
class ReferenceInfo:
    """Which reference an output was compared with."""

    package: str
    version: str
    resolver: str
    profile: str


LITERT_DEFAULT = "litert-default"
"""LiteRT as it comes: it chooses kernels by model and host. Outputs only, for comparisons within a tolerance."""
_PACKAGES = {
    "tflm": ("tflite-micro", "tflm reference kernels"),
    "litert-ref": ("ai-edge-litert", "BUILTIN_REF"),
    LITERT_DEFAULT: ("ai-edge-litert", "default, XNNPACK where it takes an operator"),
}
PROFILES = tuple(_PACKAGES)


@cache
def reference_info(profile: str = "tflm") -> ReferenceInfo:
    """Package, version and resolver of a rounding profile's reference.

    Raises:
        SettingsError: there is no such profile.
        ToolMissingError: the package is not installed.
    """
    if profile not in _PACKAGES:
        raise SettingsError(f"There is no rounding profile {profile!r}.", todo=f"Profiles: {', '.join(_PACKAGES)}.")
    package, resolver = _PACKAGES[profile]
    try:
        return ReferenceInfo(package, version(package), resolver, profile)
    except PackageNotFoundError:
        raise ReferenceMissingError(
            f"The host reference {package} is not installed.",
            why=f"Outputs of the rounding profile {profile!r} are compared with it.",
            todo="pip install 'harness-hil[reference]'",
        ) from None


def reference_outputs(model: Path | str, inputs: Sequence[Tensors], profile: str = "tflm") -> tuple[Tensors, ...]:
    """Final outputs for each inference, in order, without a reset between them: `[inference][output]`.

    Raises:
        ToolMissingError: the reference is not installed.
        HarnessError: it refused the model or failed.
    """
    return tuple(case.outputs for case in run_reference(model, inputs, profile, layers=False))


def reference_layers(
    model: Path | str, inputs: Sequence[Tensors], profile: str = "tflm"
) -> tuple[tuple[Tensors, ...], ...]:
    """Outputs of every operator: `[inference][operator][output]`. Raises like `reference_outputs`."""
    return tuple(case.layers for case in run_reference(model, inputs, profile, layers=True))


@dataclass(frozen=True)
class ReferenceCase:
    """One inference: the model's outputs, and each operator's outputs in execution order (empty when not asked for)."""

    outputs: Tensors
    layers: tuple[Tensors, ...]


def run_reference(
    model: Path | str,
    inputs: Sequence[Tensors],
    profile: str = "tflm",
    *,
    layers: bool = True,
    deadline: Deadline | None = None,
) -> tuple[ReferenceCase, ...]:
    """Run the reference once for all inputs, within two minutes unless told otherwise; raises like `reference_outputs`.

    Raises:
        DeadlineError: it did not end in time.
    """
    info = reference_info(profile)
    if not inputs:
        return ()
    with tempfile.TemporaryDirectory(prefix="hil-reference-") as name:
        work = Path(name)
        lengths = [[len(tensor) for tensor in case] for case in inputs]
        (work / "request.json").write_text(json.dumps({"profile": profile, "layers": layers, "inputs": lengths}))
        (work / "inputs.bin").write_bytes(b"".join(tensor for case in inputs for tensor in case))
        deadline = deadline or Deadline(DEADLINE_SECONDS, f"the {info.package} reference", Path(model).name)
        done = run_guarded([sys.executable, str(CHILD), str(Path(model).absolute()), str(work)], deadline)
        if not done.ok or not (work / "outputs.npz").is_file():
            last = done.stderr.strip().splitlines()[-1:] or [f"It ended with status {done.status}."]
            raise HostReferenceError(
                f"{info.package} {info.version} could not run {Path(model).name}.",
                why=last[0][:300],
                todo="The reference may lack an operator; compare with another rounding profile, or expect none.",
                context={"package": info.package, "version": info.version, "status": done.status},
            )
        return _read(work / "outputs.npz", len(inputs))


def _read(path: Path, count: int) -> tuple[ReferenceCase, ...]:
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
        shape: dict[str, Any] = json.loads(file["shape"].tobytes())
        blob = file["blob"].tobytes()
    cases: list[ReferenceCase] = []
    at = 0

    def take(sizes: Sequence[int]) -> Tensors:
        nonlocal at
        out = []
        for size in sizes:
            out.append(blob[at : at + size])
            at += size
        return tuple(out)

    for _ in range(count):
        outputs = take(shape["outputs"])
        cases.append(ReferenceCase(outputs, tuple(take(sizes) for sizes in shape["layers"])))
    return tuple(cases)
