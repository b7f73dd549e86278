"""What a fit holds for: everything outside of the model that decides cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core import strict_json
from harness.plan.freeze import Prepared
from harness.results.dimensions import nested
from harness.results.errors import BundleError
from harness.results.reader import RunArtifacts

MUST_MATCH = (
    "source", "board", "core", "counter_model", "noise", "cpu_clock", "engine", "engine_backend", "engine_config",
    "toolchain", "optimization", "compile_flags", "arena_location", "weights_location",
)  # fmt: skip
"""A fit answers for these values only."""
VERSIONS = ("compiler_version", "engine_version", "kernels_version")
"""Versions a fit was made with. A fit of other versions than those installed answers, with a warning."""
CONDITIONS = (*MUST_MATCH, *VERSIONS)
Conditions = Mapping[str, str]


def _text(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return " ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)


def conditions_of(run: RunArtifacts) -> dict[str, str]:
    """The conditions under which a bundle was measured.

    Raises:
        EvidenceError: its plan is missing or damaged.
    """
    stated = run.manifest.comparability if run.manifest is not None else {}
    declared = {item.path for item in run.manifest.artifacts} if run.manifest is not None else set()
    if "plan.json" not in declared:
        raise BundleError("invalid_evidence", "The bundle carries no plan.", artifact="plan.json")
    plan = strict_json.loads((run.path / "plan.json").read_bytes(), source="plan.json")
    settings = plan.get("settings") if isinstance(plan, Mapping) else None
    if not isinstance(settings, Mapping):
        raise BundleError("invalid_evidence", "The bundle's plan has no settings.", artifact="plan.json")
    values = {
        **stated,
        "core": nested(run.metadata, ("platform", "core")),
        "optimization": settings.get("optimization"),
        "compile_flags": settings.get("compile-flags"),
        "kernels_version": nested(run.harness, ("identity", "kernels_version")),
    }
    return {name: _text(values.get(name)) for name in CONDITIONS}


def conditions_wanted(ready: Prepared) -> dict[str, str]:
    """The conditions under which a prepared plan would be measured, as far as they must match."""
    settings, emulator = ready.settings, ready.board.emulator
    config = {key: settings["engine-config"][key] for key in sorted(settings["engine-config"])}
    values = {
        "source": ready.board.source,
        "board": ready.board.name,
        "core": ready.board.core.name,
        "counter_model": f"cost-table {emulator.cost_table.version}" if emulator is not None else None,
        "cpu_clock": settings["cpu-clock"],
        "engine": settings["engine"],
        "engine_backend": settings["backend"],
        "engine_config": ",".join(f"{key}={value}" for key, value in config.items()) or "default",
        "toolchain": settings["toolchain"],
        "optimization": settings["optimization"],
        "compile_flags": settings["compile-flags"],
        "arena_location": settings["arena-location"],
        "weights_location": settings["weights-location"],
    }
    return {name: _text(values.get(name)) for name in MUST_MATCH}


def differences(one: Conditions, other: Conditions, names: tuple[str, ...] = MUST_MATCH) -> list[str]:
    """In words, where two sets of conditions differ."""
    return [f"{name} {one.get(name)} / {other.get(name)}" for name in names if one.get(name) != other.get(name)]
