"""Whether the records of one bundle agree with each other, and whether derived figures follow from measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.results.dimensions import nested
from harness.results.errors import BundleError
from harness.results.manifest import ManifestError, ResultIssue, ResultManifest

_SIZES = frozenset({"arena_size", "allocated_arena", "text", "data", "bss", "total", "reserved"})
_MODEL_FIELDS = ("sha256", "name", "size_bytes")


def _error(code: str, what: str, artifact: str, why: str = "") -> BundleError:
    return BundleError(code, what, artifact=artifact, why=why)


def check_summary(manifest: ResultManifest, summary: Mapping[str, Any]) -> None:
    """Refuse a summary that disagrees with its manifest or has impossible values."""
    name = "summary.json"
    if summary.get("validity") is not None and summary["validity"] != manifest.validity.value:
        raise _error("identity_mismatch", "Summary and manifest disagree on validity.", name)
    if "issues" in summary:
        if not isinstance(summary["issues"], list):
            raise _error("invalid_summary", "Summary issues are no list.", name)
        try:
            same = tuple(ResultIssue.from_dict(item) for item in summary["issues"]) == manifest.issues
        except ManifestError as error:
            raise _error("invalid_evidence", f"Summary issues: {error.what}", name) from None
        if not same:
            raise _error("identity_mismatch", "Summary and manifest disagree on issues.", name)
    layers = summary.get("layers")
    if (
        not isinstance(summary.get("engine"), str)
        or not summary["engine"]
        or type(layers) is not int
        or layers < 0
        or type(summary.get("overflow_detected")) is not bool
    ):
        raise _error("invalid_summary", "Summary engine, layer count or overflow flag is invalid.", name)
    for section in ("latency", "memory", "binary"):
        if section in summary and not isinstance(summary[section], Mapping):
            raise _error("invalid_summary", f"Summary {section} is no object.", name)
    for section in ("memory", "binary"):
        for key, value in summary.get(section, {}).items():
            if key in _SIZES and value is not None and (type(value) is not int or value < 0):
                raise _error("invalid_summary", f"Summary {section}.{key} is no byte count.", name)


def check_metadata(manifest: ResultManifest, metadata: Mapping[str, Any]) -> None:
    """Refuse metadata of another run, producer or model than the manifest's."""
    name = "run_metadata.json"
    if metadata.get("run_id") != manifest.run_id or metadata.get("hpx_version") != manifest.hpx_version:
        raise _error("identity_mismatch", "Metadata and manifest are of different runs.", name)
    declared, recorded = manifest.provenance.get("model"), metadata.get("model")
    if isinstance(declared, Mapping) and isinstance(recorded, Mapping):
        for key in _MODEL_FIELDS:
            pair = (declared.get(key), recorded.get(key))
            if None not in pair and pair[0] != pair[1]:
                raise _error("identity_mismatch", f"Metadata and manifest disagree on the model's {key}.", name)


def check_identities(
    manifest: ResultManifest, summary: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> None:
    """Refuse a bundle whose three records name different engines, models, boards or engine versions."""
    stated = manifest.comparability
    facts = {
        "engine": (
            nested(metadata, ("config", "engine", "type")),
            summary.get("engine") if summary is not None else None,
            nested(metadata, ("engine", "type")),
        ),
        "model_sha256": (
            nested(metadata, ("model", "sha256")),
            nested(manifest.provenance, ("model", "sha256")),
        ),
        "board": (nested(metadata, ("config", "target", "board")), nested(metadata, ("platform", "board"))),
        "engine_version": (nested(metadata, ("engine", "version")),),
    }
    for key, values in facts.items():
        known = [value for value in (stated.get(key), *values) if value is not None]
        if any(value != known[0] for value in known[1:]):
            raise _error("identity_mismatch", f"The bundle's records disagree on {key}.", "result_manifest.json")


def check_derived(manifest: ResultManifest, summary: Mapping[str, Any], layers: tuple[Mapping[str, Any], ...]) -> None:
    """Refuse one of our bundles whose totals and means do not follow from its own rows and ticks."""
    if summary.get("layers") != len(layers):
        raise _error("invalid_summary", "The summary counts other layers than the table has.", "summary.json")
    cycles = [row.get("cycles") for row in layers]
    total: float | None = None
    if cycles and all(isinstance(value, int | float) for value in cycles):
        total = math.fsum(value for value in cycles if isinstance(value, int | float))
    stated = summary.get("total_cycles")
    if not _same(stated, total):
        raise _error(
            "invalid_measurement",
            "total_cycles does not follow from the per-layer table.",
            "summary.json",
            f"The rows add up to {total}, the summary says {stated}.",
        )
    own = manifest.extensions.get("harness")
    clean = own.get("clean_window") if isinstance(own, Mapping) else None
    if not isinstance(clean, Mapping):
        return
    count, ticks, rate = clean.get("count"), clean.get("ticks"), clean.get("clock_hz")
    if not all(type(value) is int and value >= 0 for value in (count, ticks, rate)):
        raise _error(
            "invalid_measurement", "The clean window's ticks, count or clock are no counts.", "result_manifest.json"
        )
    assert isinstance(count, int) and isinstance(ticks, int) and isinstance(rate, int)
    expected_us = ticks * 1e6 / rate / count if rate and count else None
    expected_cycles = ticks / count if count else None
    for key, expected in (("us", expected_us), ("cycles", expected_cycles)):
        value = clean.get(key)
        if value is not None and not _same(value, expected):
            raise _error(
                "invalid_measurement",
                f"The clean window's {key} does not follow from its ticks.",
                "result_manifest.json",
            )


def _same(stated: object, derived: float | None) -> bool:
    if stated is None or derived is None:
        return stated is derived
    return (
        isinstance(stated, int | float)
        and not isinstance(stated, bool)
        and math.isclose(stated, derived, rel_tol=1e-12)
    )
