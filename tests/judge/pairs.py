"""Pairs of bundles, one a rule, that we and hpx are both asked about."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.results.builders import bad_outputs, make_bundle, make_capture, make_context

Change = Callable[["Foreign"], None]
LAYERS = (
    "id,op,ARM_PMU_CPU_CYCLES,cycles,overflow,source_index",
    "0,CONV_2D,5000.0,5000.0,False,0",
    "1,FULLY_CONNECTED,2000.0,2000.0,False,1",
)


class Foreign:
    """A bundle as hpx writes it, changeable before it is written."""

    def __init__(self) -> None:
        self.summary: dict[str, Any] = {
            "schema": "hpx.run-summary",
            "schema_version": 19,
            "engine": "helia-rt",
            "layers": 2,
            "total_cycles": 10000.0,
            "overflow_detected": False,
            "top_layers": [],
            "memory": {"arena_size": 65536, "allocated_arena": 40000, "model_size": 53412},
            "binary": {"text": 200000, "data": 1000, "bss": 70000, "total": 271000},
            "latency": {"device_profiled_infer_count": 100, "device_profiled_infer_avg_us": 12000},
            "validity": "valid",
            "issues": [],
        }
        self.metadata: dict[str, Any] = {
            "schema": "hpx.run-metadata",
            "schema_version": 1,
            "hpx_version": "0.4.1",
            "run_id": "run",
            "timestamp": "2026-01-01T00:00:00Z",
            "config": {
                "model": {"path": "m.tflite", "arena_size": 65536, "arena_location": "tcm"},
                "engine": {"type": "helia-rt", "backend": "helia"},
                "target": {"board": "apollo510_evb", "toolchain": "arm-none-eabi-gcc", "transport": "rtt"},
                "profiling": {"iterations": 100, "warmup": 5, "pmu_counters": {"cpu": "default"}},
            },
            "platform": {"board": "apollo510_evb", "soc": "apollo510", "cpu_clock_name": "lp", "link_family": "gnu"},
            "model": {"name": "m.tflite", "size_bytes": 53412, "sha256": "a" * 64},
            "toolchain": {"compiler": "arm-none-eabi-gcc", "compiler_version": "14.3.1"},
            "engine": {"type": "helia-rt", "version": "2.2.2", "backend": "helia"},
            "firmware": {"system_clock_hz": 96000000},
        }
        self.manifest: dict[str, Any] = {
            "schema": "hpx.result-manifest",
            "schema_version": 1,
            "run_id": "run",
            "timestamp": "2026-01-01T00:00:00Z",
            "hpx_version": "0.4.1",
            "status": "complete",
            "validity": "valid",
            "issues": [],
            "provenance": {"model": {"sha256": "a" * 64}},
            "comparability": {"architecture_flags": "mve", "model_sha256": "a" * 64, "board": "apollo510_evb"},
            "extensions": {},
            "bundle_type": "profile",
        }
        self.table = "\n".join(LAYERS) + "\n"
        self.raw: dict[str, bytes] = {}

    def issues(self, validity: str, *codes: tuple[str, str]) -> None:
        """State issues and a validity in both records."""
        entries = [{"code": code, "severity": severity, "message": code, "context": {}} for code, severity in codes]
        for record in (self.summary, self.manifest):
            record["validity"] = validity
            record["issues"] = copy.deepcopy(entries)

    def write(self, path: Path) -> None:
        """Write the bundle with a manifest that matches it."""
        path.mkdir(parents=True)
        files = {
            "summary.json": json.dumps(self.summary).encode(),
            "run_metadata.json": json.dumps(self.metadata).encode(),
            "profile_results.csv": self.table.encode(),
            **self.raw,
        }
        names = {
            "summary.json": ("hpx.summary", "hpx.run-summary", 19),
            "run_metadata.json": ("hpx.run-metadata", "hpx.run-metadata", 1),
            "profile_results.csv": ("hpx.profile-layers", None, None),
        }
        artifacts = []
        for name, data in files.items():
            (path / name).write_bytes(data)
            artifact: dict[str, Any] = {
                "path": name,
                "media_type": "text/csv" if name.endswith("csv") else "application/json",
                "size_bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "role": "core",
                "optional": False,
            }
            if name in names:
                artifact["name"], schema, version = names[name]
                if schema:
                    artifact |= {"schema": schema, "schema_version": version}
            artifacts.append(artifact)
        manifest = {"artifacts": artifacts, **self.manifest}
        (path / "result_manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")


def policy(direction: str = "smaller", unit: str = "cycles", **bounds: Any) -> dict[str, Any]:
    """One metric's policy."""
    return {"direction": direction, "unit": unit, **bounds}


def profile(metrics: Any = None, **more: Any) -> dict[str, Any]:
    """A profile; total cycles within 2 % when no metrics are given."""
    chosen = {"total_cycles": policy(max_regression_pct=2)} if metrics is None else metrics
    return {"schema": "hpx.comparison-profile", "schema_version": 1, "metrics": chosen, **more}


class Pair:
    """One pair: what is changed on each side, and the profile (None: without one)."""

    def __init__(
        self,
        base: Change | None = None,
        cand: Change | None = None,
        judged_by: Any = "default",
        *,
        damage: Callable[[Path], object] | None = None,
    ) -> None:
        self.base, self.cand = base, cand
        self.profile = profile() if judged_by == "default" else judged_by
        self.damage = damage

    def write(self, path: Path) -> None:
        """Write both bundles and the profile."""
        for name, change in (("baseline", self.base), ("candidate", self.cand)):
            bundle = Foreign()
            if change is not None:
                change(bundle)
            bundle.write(path / name)
        if self.profile is not None:
            text = self.profile if isinstance(self.profile, str) else json.dumps(self.profile)
            (path / "profile.json").write_text(text)
        if self.damage is not None:
            self.damage(path / "candidate")


def put(record: str, *path: str, value: Any) -> Change:
    """Set one value of a record."""

    def change(bundle: Foreign) -> None:
        target = getattr(bundle, record)
        for key in path[:-1]:
            target = target.setdefault(key, {})
        target[path[-1]] = value

    return change


def both(*changes: Change) -> Change:
    """Several changes on one side."""

    def change(bundle: Foreign) -> None:
        for item in changes:
            item(bundle)

    return change


def cycles(value: Any) -> Change:
    """Total cycles as given."""
    return put("summary", "total_cycles", value=value)


def _bounds() -> dict[str, Pair]:
    out: dict[str, Pair] = {}
    for direction, sign in (("smaller", 1), ("larger", -1), ("equal", 1), ("equal", -1)):
        for label, step in (("under", 199), ("at", 200), ("over", 201), ("better", -500)):
            judged = profile({"total_cycles": policy(direction, max_regression_pct=2)})
            name = f"bound_{direction}_{'up' if sign > 0 else 'down'}_{label}"
            out[name] = Pair(cand=cycles(10000.0 + sign * step), judged_by=judged)
    for name, pct, absolute, value in (
        ("larger_bound_is_abs", 1, 300, 10300.0),
        ("larger_bound_is_pct", 5, 300, 10500.0),
        ("over_both_bounds", 1, 300, 10300.5),
        ("no_bound_equal", None, None, 10000.0),
        ("zero_bounds", 0, 0, 10000.5),
    ):
        bounds = {"max_regression_pct": pct, "max_regression_abs": absolute}
        given = {key: bound for key, bound in bounds.items() if bound is not None}
        out[f"bounds_{name}"] = Pair(cand=cycles(value), judged_by=profile({"total_cycles": policy(**given)}))
    for name, old, new, bounds in (
        ("zero_pct", 0, 1, {"max_regression_pct": 100}),
        ("zero_same", 0, 0, {"max_regression_pct": 0}),
        ("zero_abs", 0, 1, {"max_regression_abs": 1}),
        ("negative_pct_at", -100, -98, {"max_regression_pct": 2}),
        ("negative_pct_over", -100, -97, {"max_regression_pct": 2}),
        ("negative_to_positive", -1, 1, {"max_regression_abs": 2}),
        ("tiny_floats", 0.1, 0.1 + 0.2 - 0.2, {}),
        ("third_decimals", 0.3, 0.1 + 0.2, {}),
        ("huge", 1e300, 1.02e300, {"max_regression_pct": 2}),
        ("huge_int", 10**25, 10**25 + 1, {}),
    ):
        judged = profile({"total_cycles": policy(**bounds)})
        out[f"baseline_{name}"] = Pair(cycles(old), cycles(new), judged)
    return out


def _values() -> dict[str, Pair]:
    out = {}
    for name, value in (
        ("null", None),
        ("numeric_string", "10050"),
        ("spaced_string", " 1e4 "),
        ("word", "many"),
        ("true", True),
        ("list", [1]),
        ("nan", float("nan")),
        ("infinity", float("inf")),
        ("minus_infinity", float("-inf")),
        ("huge_integer", 10**400),
    ):
        out[f"value_{name}"] = Pair(cand=cycles(value))
        out[f"value_{name}_in_baseline"] = Pair(base=cycles(value))
        out[f"value_{name}_ignored_if_missing"] = Pair(cand=cycles(value), judged_by=profile(missing="ignore"))
    for where in ("fail", "warn", "ignore"):
        metrics = {"power.energy_j": policy(unit="J")}
        out[f"missing_{where}_by_profile"] = Pair(judged_by=profile(metrics, missing=where))
        own = {"power.energy_j": policy(unit="J", missing=where)}
        out[f"missing_{where}_by_metric"] = Pair(judged_by=profile(own, missing="fail"))
        out[f"missing_{where}_beside_a_fail"] = Pair(
            cand=cycles(20000), judged_by=profile({**own, "total_cycles": policy()})
        )
        out[f"missing_{where}_beside_a_pass"] = Pair(judged_by=profile({**own, "total_cycles": policy()}))
    out["missing_on_one_side"] = Pair(
        cand=put("summary", "power", "energy_j", value=1.0),
        judged_by=profile({"power.energy_j": policy(unit="J", missing="warn")}),
    )
    out["unit_differs"] = Pair(judged_by=profile({"total_cycles": policy(unit="us")}))
    out["unit_differs_but_missing"] = Pair(
        cand=cycles(None), judged_by=profile({"total_cycles": policy(unit="us", missing="ignore")})
    )
    out["our_metric_in_their_map"] = Pair(judged_by=profile({"clean.us": policy(unit="us")}))
    out["many_metrics"] = Pair(
        cand=put("summary", "binary", "text", value=210000),
        judged_by=profile(
            {
                "binary.text": policy(unit="bytes", max_regression_pct=1),
                "binary.bss": policy(unit="bytes"),
                "layers": policy("larger", ""),
                "device_profiled_infer_avg_us": policy(unit="us"),
                "memory.arena_size": policy("equal", "bytes"),
            }
        ),
    )
    return out


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


POWER = {"avg_power_w": 0.01, "energy_j": 0.5, "energy_per_inference_j": 0.001, "inferences_per_joule": 1000.0}


def power(**fields: Any) -> Change:
    """A power section."""
    return put("summary", "power", value={**POWER, "integrity": "valid", "clean_workload": "w", **fields})


def stated(name: str, value: Any) -> Change:
    """A dimension in the manifest."""
    return put("manifest", "comparability", name, value=value)


def _power() -> dict[str, Pair]:
    judged = profile(
        {
            "power.energy_j": policy(unit="J", max_regression_pct=1),
            "power.inferences_per_joule": policy("larger", "inferences/J", max_regression_pct=1),
            "total_cycles": policy(),
        }
    )
    out = {
        "power_same": Pair(power(), power(), judged),
        "power_worse": Pair(power(), power(energy_j=0.6), judged),
        "power_better_efficiency": Pair(power(), power(inferences_per_joule=1100.0), judged),
        "power_on_one_side": Pair(None, power(), judged),
        "power_integrity_invalid": Pair(power(), power(integrity="invalid"), judged),
        "power_integrity_diagnostic": Pair(power(integrity="diagnostic"), power(), judged),
        "power_workload_differs": Pair(power(), power(clean_workload="v"), judged),
        "power_workload_absent_on_both": Pair(power(clean_workload=None), power(clean_workload=None), judged),
        "power_workload_no_string": Pair(power(clean_workload=5), power(), judged),
        "power_monitor_block": Pair(power(), power(on_device_summary={"energy_nj": 1}), judged),
        "power_section_no_object": Pair(put("summary", "power", value=5), power(), judged),
        "power_sync_is_a_boolean": Pair(power(sync=True), power(sync={"lockstep": True}), judged),
        "power_lockstep": Pair(power(sync={"lockstep": False}), power(sync={"lockstep": True}), judged),
        "power_lockstep_not_from_the_manifest": Pair(
            both(power(), stated("power_lockstep", True)), both(power(), stated("power_lockstep", False)), judged
        ),
    }
    for field, name in (("measurement_scope", "power_scope"), ("power_firmware", "power_firmware")):
        out[f"{name}_differs"] = Pair(power(**{field: "a"}), power(**{field: "b"}), judged)
        out[f"{name}_absent"] = Pair(power(**{field: "a"}), power(), judged)
    for name in ("power_mode", "power_clean_window_probe", "power_monitor"):
        out[f"{name}_stated_differs"] = Pair(both(power(), stated(name, "a")), both(power(), stated(name, "b")), judged)
    first = power(firmware_code_fingerprint="1", power_firmware="shared")
    second = power(firmware_code_fingerprint="2", power_firmware="shared")
    out["fingerprint_differs"] = Pair(first, second, judged)
    out["fingerprint_on_another_soc"] = Pair(first, both(second, put("metadata", "platform", "soc", value="x")), judged)
    out["fingerprint_without_firmware"] = Pair(
        power(firmware_code_fingerprint="1"), power(firmware_code_fingerprint="2"), judged
    )
    return out


def regions(*rows: dict[str, Any]) -> Change:
    """A measured memory section."""
    return put("summary", "memory_regions", value={"regions": list(rows)})


def _memory() -> dict[str, Pair]:
    judged = profile(
        {
            "memory_regions.MRAM.used": policy(unit="bytes", max_regression_abs=10),
            "memory_regions.MRAM.free": policy("larger", "bytes", max_regression_abs=10),
        }
    )
    old = {"region": "MRAM", "used": 100, "free": 900}
    armlink = put("metadata", "platform", "link_family", value="armlink")
    return {
        "regions_same": Pair(regions(old), regions(old), judged),
        "regions_grown": Pair(regions(old), regions({**old, "used": 111, "free": 889}), judged),
        "regions_at_bound": Pair(regions(old), regions({**old, "used": 110, "free": 890}), judged),
        "regions_on_one_side": Pair(regions(old), None, judged),
        "regions_link_family": Pair(regions(old), both(regions(old), armlink), judged),
        "regions_link_family_without_regions": Pair(None, armlink, profile()),
        "regions_repeated": Pair(regions(old, {**old, "used": 5}), regions(old), judged),
        "regions_malformed": Pair(put("summary", "memory_regions", value=[1]), regions(old), judged),
        "regions_rows_malformed": Pair(regions(old, 5, {"used": 1}), regions(old), judged),  # type: ignore[arg-type]
        "regions_order": Pair(
            regions({"region": "ZRAM", "used": 1}, {"region": "SRAM", "used": 1}, old),
            regions({"region": "ARAM", "used": 1}, {"region": "ITCM", "used": 1}, old),
            judged,
        ),
        "regions_negative_free": Pair(regions({**old, "free": -10}), regions({**old, "free": -25}), judged),
    }


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


FOREIGN: dict[str, Pair] = {
    "plain": Pair(),
    "without_profile": Pair(judged_by=None),
    "only_the_time_differs": Pair(cand=put("metadata", "timestamp", value="2027-01-01T00:00:00Z")),
    **_bounds(),
    **_values(),
    **_dimensions(),
    **_power(),
    **_memory(),
    **_state(),
    **_layers(),
    **_profiles(),
    **_damaged(),
}

OURS: dict[str, tuple[Any, Any, Any]] = {
    "ours_same": ({}, {}, profile()),
    "ours_slower_layer": ({}, {"capture": make_capture((5000, 3600, 2500, 2000, 500))}, profile()),
    "ours_faster": ({}, {"capture": make_capture((4000, 3000, 2500, 2000, 500))}, profile()),
    "ours_other_board": (
        {},
        {"context": make_context(board="mps2_an386", core="cortex-m4", has_mve=False)},
        profile({"total_cycles": policy()}, required_dimensions=["cpu_clock"]),
    ),
    "ours_other_compiler": ({}, {"context": make_context(compiler_version="13.1")}, profile()),
    "ours_invalid": ({}, {"capture": make_capture(overflow_layer=1)}, profile()),
    "ours_wrong_outputs": ({}, {"outputs_check": bad_outputs()}, profile()),
    "ours_bigger_code": (
        {},
        {"context": make_context(sections={"text": 41000, "data": 100, "bss": 20000, "total": 61100})},
        profile({"binary.text": policy(unit="bytes", max_regression_pct=1)}),
    ),
    "ours_restore_zero": (
        {"capture": make_capture(scope="restore_and_invoke")},
        {"capture": make_capture(scope="restore_and_invoke")},
        profile(),
    ),
}
"""Pairs of bundles that we wrote: what is given for each side, and the profile."""


def write_all(root: Path) -> list[str]:
    """Write every pair below a directory; returns their names."""
    for name, pair in FOREIGN.items():
        pair.write(root / name)
    for name, (base, cand, judged) in OURS.items():
        for side, given in (("baseline", base), ("candidate", cand)):
            make_bundle(root / name / side, run_id=side, **given)
        (root / name / "profile.json").write_text(json.dumps(judged))
    return [*FOREIGN, *OURS]
