"""Pairs that differ in facts, states, layers, profiles and damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.judge.figure_pairs import power, stated
from tests.judge.foreign import LAYERS, Change, Foreign, Pair, both, policy, profile, put


def _dimensions() -> dict[str, Pair]:
    out = {}
    for key, path in (
        ("iterations", ("config", "profiling", "iterations")),
        ("warmup", ("config", "profiling", "warmup")),
        ("pmu_counters", ("config", "profiling", "pmu_counters")),
        ("backend", ("config", "engine", "backend")),
        ("model_path", ("config", "model", "path")),
        ("toolchain", ("config", "target", "toolchain")),
        ("transport", ("config", "target", "transport")),
        ("soc", ("platform", "soc")),
        ("cpu_clock", ("platform", "cpu_clock_name")),
        ("compiler_version", ("toolchain", "compiler_version")),
        ("system_clock_hz", ("firmware", "system_clock_hz")),
        ("engine_version", ("engine", "version")),
        ("arena_location", ("config", "model", "arena_location")),
        ("link_family", ("platform", "link_family")),
    ):
        judged = profile(required_dimensions=[key])
        out[f"required_{key}_same"] = Pair(judged_by=judged)
        out[f"required_{key}_differs"] = Pair(cand=put("metadata", *path, value="other"), judged_by=judged)
        out[f"required_{key}_absent"] = Pair(cand=put("metadata", *path, value=None), judged_by=judged)
        out[f"required_{key}_empty_on_both"] = Pair(
            put("metadata", *path, value=""), put("metadata", *path, value=""), judged
        )
    for key in ("source", "power_mode", "engine_backend", "architecture_flags", "timing_scope"):
        out[f"required_{key}_never"] = Pair(judged_by=profile(required_dimensions=[key]))
    for key in ("engine", "soc", "cpu_clock", "toolchain", "architecture_flags", "engine_backend", "hpx_version"):
        change = put("manifest", "comparability", key, value="other")
        out[f"manifest_states_{key}"] = Pair(cand=change, judged_by=profile(required_dimensions=["board"]))
    flags = put("manifest", "comparability", "architecture_flags", value="mve nodsp")
    out["flags_differ"] = Pair(cand=flags)
    return out


def _state() -> dict[str, Pair]:
    def state(validity: str, *codes: tuple[str, str], status: str = "complete") -> Change:
        def change(bundle: Foreign) -> None:
            bundle.issues(validity, *codes)
            bundle.manifest["status"] = status

        return change

    confined = ("power.window_observer_mismatch", "error")
    return {
        "state_degraded": Pair(state("degraded", ("profile.clean_window_stalled", "warning")), None),
        "state_both_degraded": Pair(state("degraded", ("a.b", "warning")), state("degraded", ("c.d", "warning"))),
        "state_invalid": Pair(None, state("invalid", ("pmu.counter_overflow", "error"))),
        "state_invalid_without_issue": Pair(None, state("invalid")),
        "state_invalid_unknown_code": Pair(None, state("invalid", ("new.code", "error"))),
        "state_confined": Pair(None, both(power(), state("invalid", confined))),
        "state_confined_with_warning": Pair(None, state("invalid", confined, ("x.y", "warning"))),
        "state_confined_and_not": Pair(None, state("invalid", confined, ("pmu.missing", "error"))),
        "state_failed": Pair(None, state("invalid", ("capture.failed", "error"), status="failed")),
        "state_failed_but_valid": Pair(None, state("valid", status="failed")),
        "state_incomplete": Pair(None, state("valid", status="incomplete")),
        "model_differs": Pair(
            None,
            both(
                put("metadata", "model", "sha256", value="b" * 64),
                stated("model_sha256", "b" * 64),
                put("manifest", "provenance", value={}),
            ),
        ),
        "model_unknown_on_one_side": Pair(
            None,
            both(
                put("metadata", "model", "sha256", value=None),
                stated("model_sha256", None),
                put("manifest", "provenance", value={}),
            ),
        ),
    }


def table(*rows: str) -> Change:
    """A per-layer table with the usual columns."""

    def change(bundle: Foreign) -> None:
        bundle.table = "\n".join((LAYERS[0], *rows)) + "\n"
        bundle.summary["layers"] = len(rows)

    return change


def _layers() -> dict[str, Pair]:
    return {
        "layers_fewer": Pair(None, table(LAYERS[1])),
        "layers_other_order": Pair(None, table("0,FULLY_CONNECTED,2000,2000,False,0", "1,CONV_2D,5000,5000,False,1")),
        "layers_other_operator": Pair(None, table("0,CONV_2D,5000,5000,False,0", "1,SOFTMAX,2000,2000,False,1")),
        "layers_without_cycles": Pair(None, table("0,CONV_2D,5000,,False,0", "1,FULLY_CONNECTED,2000,,False,1")),
        "layers_wide_rows": Pair(None, table("0,CONV_2D,5,5,False,0,9,9", "1,FULLY_CONNECTED,2,2,False,1")),
        "layers_zero_cycles": Pair(None, table("0,CONV_2D,0,0,False,0", "1,FULLY_CONNECTED,0,0,False,1")),
        "layers_nan_cell": Pair(None, table("0,CONV_2D,nan,nan,False,0", "1,FULLY_CONNECTED,x,2,False,1")),
        "layers_none": Pair(table(), table()),
    }


def _profiles() -> dict[str, Pair]:
    good = {"total_cycles": policy()}
    bad: dict[str, Any] = {
        "no_metrics": profile({}),
        "metrics_list": profile([]),
        "metrics_null": profile({"total_cycles": None}),
        "empty_name": profile({"": policy()}),
        "no_direction": profile({"total_cycles": {"unit": "cycles"}}),
        "no_unit": profile({"total_cycles": {"direction": "smaller"}}),
        "bad_direction": profile({"total_cycles": policy("down")}),
        "unit_number": profile({"total_cycles": policy(unit=5)}),
        "negative_bound": profile({"total_cycles": policy(max_regression_pct=-1)}),
        "boolean_bound": profile({"total_cycles": policy(max_regression_abs=True)}),
        "string_bound": profile({"total_cycles": policy(max_regression_abs="5")}),
        "nan_bound": profile({"total_cycles": policy(max_regression_pct=float("nan"))}),
        "infinite_bound": profile({"total_cycles": policy(max_regression_pct=float("inf"))}),
        "bad_missing": profile(good, missing="never"),
        "null_missing": profile(good, missing=None),
        "bad_metric_missing": profile({"total_cycles": policy(missing="never")}),
        "dimensions_string": profile(good, required_dimensions="board"),
        "dimensions_numbers": profile(good, required_dimensions=[1]),
        "dimensions_empty_name": profile(good, required_dimensions=[""]),
        "dimensions_repeated": profile(good, required_dimensions=["board", "board"]),
        "empty_profile_name": profile(good, name=""),
        "number_name": profile(good, name=5),
        "other_schema": {**profile(good), "schema": "x"},
        "other_version": {**profile(good), "schema_version": 2},
        "boolean_version": {**profile(good), "schema_version": True},
        "no_version": {"schema": "hpx.comparison-profile", "metrics": good},
        "list": [],
        "text": "not json",
        "empty": "",
    }
    out = {f"profile_{name}": Pair(judged_by=value) for name, value in bad.items()}
    fine: dict[str, Any] = {
        "unknown_fields": profile({"total_cycles": policy(note="x", deep={"a": [1]})}, owner="me", other=[1, 2]),
        "null_metric_missing": profile({"total_cycles": policy(missing=None)}),
        "null_bound": profile({"total_cycles": policy(max_regression_pct=None)}),
        "null_name": profile(good, name=None),
        "empty_dimensions": profile(good, required_dimensions=[]),
        "unicode": profile(good, name="größe \u2713"),
        "float_version": {**profile(good), "schema_version": 1.0},
        "with_our_part": profile(good, harness={"metrics": {"clean.us": policy(unit="us", missing="ignore")}}),
    }
    return out | {f"profile_fine_{name}": Pair(judged_by=value) for name, value in fine.items()}


def _rewrite(name: str, text: str) -> Callable[[Path], object]:
    return lambda path: (path / name).write_text(text)


def _manifest(**fields: Any) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        file = path / "result_manifest.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))

    return damage


def _artifact(index: int, **fields: Any) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        file = path / "result_manifest.json"
        data = json.loads(file.read_text())
        data["artifacts"][index].update(fields)
        file.write_text(json.dumps(data))

    return damage


def _damaged() -> dict[str, Pair]:
    damages: dict[str, Callable[[Path], object]] = {
        "other_bytes": _rewrite("summary.json", "x" * 500),
        "empty_table": _rewrite("profile_results.csv", ""),
        "no_metadata": lambda path: (path / "run_metadata.json").unlink(),
        "no_manifest": lambda path: (path / "result_manifest.json").unlink(),
        "manifest_no_json": _rewrite("result_manifest.json", "{"),
        "manifest_list": _rewrite("result_manifest.json", "[]"),
        "marker": _rewrite(".result-publication-incomplete", ""),
        "manifest_version": _manifest(schema_version=2),
        "manifest_schema": _manifest(schema="x"),
        "status": _manifest(status="done"),
        "no_artifacts": _manifest(artifacts=[]),
        "artifacts_no_list": _manifest(artifacts=5),
        "dependencies_without_lock": _manifest(provenance={"dependencies": {}}),
        "extra_fields": _manifest(later={"a": 1}),
        "other_kind": _manifest(bundle_type="other"),
        "version_null": _manifest(hpx_version=None),
        "run_ids": _manifest(run_id="another"),
        "validities": _manifest(validity="degraded"),
        "engines": _manifest(comparability={"engine": "another", "architecture_flags": "mve"}),
        "size": _artifact(0, size_bytes=1),
        "digest": _artifact(0, sha256="0" * 64),
        "digest_upper": _artifact(0, sha256="A" * 64),
        "absolute": _artifact(0, path="/etc/hostname"),
        "escaping": _artifact(0, path="../baseline/summary.json"),
        "optional_core": _artifact(0, optional=True),
        "binding": _artifact(1, schema_version=2),
        "same_file_twice": _artifact(1, path="summary.json"),
    }
    out = {f"damaged_{name}": Pair(damage=damage) for name, damage in damages.items()}
    out["damaged_summary_version"] = Pair(None, put("summary", "schema_version", value=18))
    out["damaged_summary_schema"] = Pair(None, put("summary", "schema", value="x"))
    out["damaged_summary_layers"] = Pair(None, put("summary", "layers", value=-1))
    out["damaged_summary_overflow"] = Pair(None, put("summary", "overflow_detected", value="no"))
    out["damaged_summary_memory"] = Pair(None, put("summary", "memory", value=[1]))
    out["damaged_summary_bytes"] = Pair(None, put("summary", "binary", "text", value=1.5))
    out["damaged_metadata_version"] = Pair(None, put("metadata", "schema_version", value=2))
    out["damaged_model_names"] = Pair(None, put("manifest", "provenance", "model", "name", value="other.tflite"))
    return out


def record_pairs() -> dict[str, Pair]:
    """All of them by name."""
    return {**_dimensions(), **_state(), **_layers(), **_profiles(), **_damaged()}
