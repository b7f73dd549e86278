"""pytest-native hardware-in-the-loop test harness for ML firmware on microcontrollers.

Everything public is reached from here and imported on first use, so that `import harness` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC: dict[str, str] = {
    "HarnessError": "harness.core.errors",
    "RegressionFailed": "harness.core.errors",
    "freeze": "harness.plan.freeze",
    "Plan": "harness.plan.record",
    "build": "harness.image.build",
    "load_build": "harness.image.record",
    "Build": "harness.image.record",
    "run": "harness.runner.run",
    "RunOutcome": "harness.runner.run",
    "profile": "harness.runner.api",
    "evaluate_run": "harness.results.validity",
    "compare": "harness.judge.compare",
    "ProfileResult": "harness.results.types",
    "PmuResult": "harness.results.types",
    "PresetResult": "harness.results.types",
    "LayerResult": "harness.results.types",
    "FirmwareMeta": "harness.results.types",
    "RunMetadata": "harness.results.types",
    "PowerResult": "harness.results.types",
    "RunEvaluation": "harness.results.types",
    "RunStatus": "harness.results.manifest",
    "ResultValidity": "harness.results.manifest",
    "ResultManifest": "harness.results.manifest",
    "ResultArtifact": "harness.results.manifest",
    "ResultIssue": "harness.results.manifest",
    "load_result_manifest": "harness.results.manifest",
    "assess_comparability": "harness.judge.comparability",
    "ComparabilityAssessment": "harness.judge.comparability",
    "ComparabilityIssue": "harness.judge.comparability",
    "ComparabilitySeverity": "harness.judge.comparability",
    "ComparisonProfile": "harness.judge.profile",
    "MetricPolicy": "harness.judge.profile",
    "MetricDirection": "harness.judge.profile",
    "MissingMetricPolicy": "harness.judge.profile",
    "evaluate_comparison_profile": "harness.judge.verdict",
    "ComparisonVerdict": "harness.judge.verdict",
    "MetricVerdict": "harness.judge.verdict",
    "VerdictStatus": "harness.judge.verdict",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
