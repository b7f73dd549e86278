"""The names, field order, defaults and enum values that users port to by changing an import."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest

import harness


def _words(text: str) -> list[str]:
    return text.split()


REQUIRED = object()
EMPTY_MAP: dict[str, Any] = {}

FIELDS: dict[str, list[tuple[str, Any]]] = {
    "ProfileResult": [
        ("pmu", REQUIRED),
        ("power", None),
        ("power_observation", None),
        ("power_terminal", None),
        ("on_device_power", None),
        ("metadata", "RunMetadata()"),
        ("report_paths", ()),
    ],
    "PmuResult": [
        ("meta", REQUIRED),
        ("presets", EMPTY_MAP),
        ("layers", ()),
        ("overflow_detected", False),
        ("groups", EMPTY_MAP),
    ],
    "PresetResult": [("name", REQUIRED), ("header", ()), ("iterations", ()), ("layers", ())],
    "LayerResult": [
        ("id", REQUIRED),
        ("op", REQUIRED),
        ("counters", EMPTY_MAP),
        ("cycles", None),
        ("overflow", False),
    ],
    "FirmwareMeta": [
        *(
            (name, None)
            for name in _words(
                "model_size arena_size allocated_arena input_size output_size num_tensors num_inputs num_outputs "
                "num_presets system_clock_hz profiled_infer_count profiled_infer_total_us profiled_infer_avg_us "
                "clean_infer_count clean_infer_total_cycles clean_infer_avg_cycles clean_infer_avg_us"
            )
        ),
        ("presets", ()),
    ],
    "RunMetadata": [
        ("hpx_version", ""),
        ("run_id", ""),
        ("timestamp", ""),
        ("config_snapshot", EMPTY_MAP),
        ("platform", None),
        ("model", None),
        ("toolchain", None),
        ("firmware", None),
        ("memory_plan", None),
        ("timing", None),
    ],
    "PowerResult": [
        ("summary", REQUIRED),
        ("samples", ()),
        ("gated_windows", ()),
        ("per_layer", None),
        ("metadata", EMPTY_MAP),
    ],
    "ResultManifest": [
        *(
            (name, REQUIRED)
            for name in _words(
                "schema schema_version run_id timestamp hpx_version status validity issues provenance comparability "
                "artifacts"
            )
        ),
        ("bundle_type", None),
        ("extensions", EMPTY_MAP),
        ("extra", EMPTY_MAP),
    ],
    "ResultArtifact": [
        ("path", REQUIRED),
        ("media_type", REQUIRED),
        ("size_bytes", REQUIRED),
        ("sha256", REQUIRED),
        ("role", None),
        ("name", None),
        ("schema", None),
        ("schema_version", None),
        ("producer", None),
        ("optional", None),
        ("extra", EMPTY_MAP),
    ],
    "ResultIssue": [
        ("code", REQUIRED),
        ("severity", REQUIRED),
        ("message", REQUIRED),
        ("context", EMPTY_MAP),
        ("extra", EMPTY_MAP),
    ],
    "RunEvaluation": [("validity", REQUIRED), ("issues", ())],
    "ComparabilityAssessment": [("issues", ())],
    "ComparabilityIssue": [
        ("code", REQUIRED),
        ("severity", REQUIRED),
        ("message", REQUIRED),
        ("context", EMPTY_MAP),
    ],
    "ComparisonProfile": [
        ("schema", REQUIRED),
        ("schema_version", REQUIRED),
        ("metrics", REQUIRED),
        ("missing", None),
        ("required_dimensions", ()),
        ("name", None),
        ("extra", EMPTY_MAP),
    ],
    "MetricPolicy": [
        ("direction", REQUIRED),
        ("unit", REQUIRED),
        ("max_regression_pct", None),
        ("max_regression_abs", None),
        ("missing", None),
        ("extra", EMPTY_MAP),
    ],
    "ComparisonVerdict": [
        ("status", REQUIRED),
        ("metrics", REQUIRED),
        ("dimension_mismatches", ()),
        ("profile_name", None),
        ("profile_schema", "hpx.comparison-profile"),
        ("profile_schema_version", 1),
        ("profile_sha256", ""),
    ],
    "MetricVerdict": [
        ("metric", REQUIRED),
        ("status", REQUIRED),
        ("message", REQUIRED),
        ("baseline", None),
        ("candidate", None),
        ("regression", None),
        ("allowed_regression", None),
        ("unit", ""),
    ],
}

ENUMS = {
    "RunStatus": {"COMPLETE": "complete", "INCOMPLETE": "incomplete", "FAILED": "failed"},
    "ResultValidity": {"VALID": "valid", "DEGRADED": "degraded", "INVALID": "invalid"},
    "ComparabilitySeverity": {
        "BLOCKING": "blocking",
        "LAYER_BLOCKING": "layer_blocking",
        "METRIC_BLOCKING": "metric_blocking",
        "INFORMATIVE": "informative",
    },
    "MetricDirection": {"SMALLER": "smaller", "LARGER": "larger", "EQUAL": "equal"},
    "MissingMetricPolicy": {"FAIL": "fail", "WARN": "warn", "IGNORE": "ignore"},
    "VerdictStatus": {"PASS": "pass", "WARN": "warn", "FAIL": "fail", "SKIP": "skip"},
}


def default_of(item: dataclasses.Field[Any]) -> Any:
    if item.default is not dataclasses.MISSING:
        return item.default
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return REQUIRED


@pytest.mark.parametrize("name", FIELDS)
def test_fields_order_and_defaults(name: str) -> None:
    cls = getattr(harness, name)
    fields = dataclasses.fields(cls)
    assert [item.name for item in fields] == [field for field, _ in FIELDS[name]]
    for item, (_, expected) in zip(fields, FIELDS[name], strict=True):
        got = default_of(item)
        if expected == "RunMetadata()":
            expected = harness.RunMetadata()
        assert got == expected, item.name
        if expected == ():
            assert isinstance(got, tuple)
    assert cls.__dataclass_params__.frozen


@pytest.mark.parametrize("name", ENUMS)
def test_enum_values(name: str) -> None:
    cls = getattr(harness, name)
    assert issubclass(cls, StrEnum)
    assert {item.name: item.value for item in cls} == ENUMS[name]


def test_functions_and_methods() -> None:
    assert callable(harness.load_result_manifest)
    assert list(inspect.signature(harness.load_result_manifest).parameters) == ["path", "verify"]
    assert list(inspect.signature(harness.assess_comparability).parameters) == ["baseline", "candidate"]
    assert list(inspect.signature(harness.evaluate_comparison_profile).parameters) == ["result", "profile"]
    assert list(inspect.signature(harness.evaluate_run).parameters) == ["result", "plan"]
    for method in ("load", "from_dict", "write", "verify"):
        assert callable(getattr(harness.ResultManifest, method))


def test_collections_cannot_be_changed() -> None:
    layer = harness.LayerResult(0, "CONV_2D", {"a": 1.0})
    with pytest.raises(TypeError):
        layer.counters["a"] = 2.0
    assert isinstance(layer.counters, Mapping)
    pmu = harness.PmuResult(harness.FirmwareMeta(), presets={"p": harness.PresetResult("p")}, layers=[layer])
    assert pmu.layers == (layer,)
    with pytest.raises(TypeError):
        pmu.presets["q"] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        pmu.layers = ()


def test_a_caller_cannot_change_a_record_through_the_dictionary_it_gave() -> None:
    counters = {"a": 1.0}
    layer = harness.LayerResult(0, "CONV_2D", counters)
    counters["a"] = 9.0
    assert layer.counters["a"] == 1.0


def test_profile_result_sums_cycles_of_its_layers() -> None:
    layers = [harness.LayerResult(i, "X", cycles=value) for i, value in enumerate((10.0, None, 5.0))]
    result = harness.ProfileResult(harness.PmuResult(harness.FirmwareMeta(), layers=layers))
    assert result.total_cycles == 15.0
    assert result.layers == tuple(layers)
