"""Every single reading of a run as one compressed NumPy archive, from which each figure can be recomputed."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from harness.capture.record import Capture
from harness.core.errors import EvidenceError
from harness.core.strict_json import canonical
from harness.core.strict_json import loads as load_strict

SAMPLES_NAME = "samples.npz"
_VERSION = 1


@dataclass(frozen=True)
class PassSamples:
    """Readings of one pass: `samples` of shape (iterations, layers, counters), `overflow` of (iterations, layers).

    `wrapped`, in the shape of `samples`, is None where nothing wrapped.
    """

    name: str
    counters: tuple[str, ...]
    samples: NDArray[np.uint64]
    overflow: NDArray[np.bool_]
    wrapped: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Samples:
    """All readings of a run. `clean` has one reading an inference, as many as the firmware kept."""

    clean: NDArray[np.uint64]
    passes: tuple[PassSamples, ...]


def write_samples(capture: Capture) -> bytes:
    """The archive's bytes; the same capture gives the same bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    window = capture.clean or capture.probe
    if window is not None:
        arrays["clean"] = np.asarray(window.samples, dtype=np.uint64)
    passes = [{"name": item.name, "counters": list(item.counters)} for item in capture.passes]
    for index, item in enumerate(capture.passes):
        arrays[f"pass{index}_samples"] = np.asarray(item.samples, dtype=np.uint64)
        arrays[f"pass{index}_overflow"] = np.asarray(item.overflow, dtype=np.bool_)
        if item.wrapped is not None and item.wrapped.any():
            arrays[f"pass{index}_wrapped"] = np.asarray(item.wrapped, dtype=np.bool_)
    header = canonical({"version": _VERSION, "passes": passes})
    arrays["header"] = np.frombuffer(header, dtype=np.uint8)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def read_samples(data: bytes) -> Samples:
    """Read an archive; `EvidenceError` when it is none of ours."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            header: Mapping[str, Any] = load_strict(archive["header"].tobytes(), source=SAMPLES_NAME)
            if header["version"] != _VERSION:
                raise ValueError(f"version {header['version']!r}")
            passes = tuple(
                PassSamples(
                    str(item["name"]),
                    tuple(str(name) for name in item["counters"]),
                    archive[f"pass{index}_samples"],
                    archive[f"pass{index}_overflow"],
                    archive.get(f"pass{index}_wrapped"),
                )
                for index, item in enumerate(header["passes"])
            )
            clean = archive["clean"] if "clean" in archive else np.zeros(0, dtype=np.uint64)
            return Samples(clean, passes)
    except (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, BadZipFile, zlib.error) as error:
        raise EvidenceError(
            f"{SAMPLES_NAME} cannot be read.",
            why=str(error)[:200],
            todo="Restore the bundle from a copy or measure again.",
            context={"artifact": SAMPLES_NAME},
        ) from None
