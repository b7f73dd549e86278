"""Bundles as hpx writes them, changeable in one place, and pairs of them."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
