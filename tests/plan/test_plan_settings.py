"""Settings: one table, strict values, helpful refusals, the later source wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.errors import SettingsError
from harness.plan.settings import HOST_SETTINGS, PLAN_SETTINGS, SETTINGS, check_value, parse_text, resolve
from tests.plan.strategies import STRATEGIES

_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_the_table_holds_the_settings_of_the_run_api() -> None:
    named = """engine engine-config backend arena-size arena-location weights-location board toolchain cpu-clock
    iterations warmup aggregation pmu-counters window-mode window-target-ms window-min window-max optimization"""
    assert set(named.split()) <= set(PLAN_SETTINGS)
    assert {"serial", "bench", "out", "deadlines", "model"} <= set(HOST_SETTINGS)
    assert not set(PLAN_SETTINGS) & set(HOST_SETTINGS)
    assert set(STRATEGIES) == set(PLAN_SETTINGS)


def test_defaults_are_in_their_stored_form() -> None:
    for setting in SETTINGS.values():
        assert setting.check(setting.default) == setting.default, setting.name


@_UNHURRIED
@given(data=st.data(), name=st.sampled_from(PLAN_SETTINGS))
def test_stored_forms_are_fixed_points(data: st.DataObject, name: str) -> None:
    once = check_value(name, data.draw(STRATEGIES[name]))
    assert check_value(name, once) == once
    assert type(check_value(name, once)) is type(once)


@_UNHURRIED
@given(
    name=st.sampled_from(sorted(SETTINGS)), value=st.one_of(st.none(), st.binary(), st.floats(), st.complex_numbers())
)
def test_odd_values_raise_the_typed_error_or_nothing(name: str, value: Any) -> None:
    try:
        check_value(name, value)
    except SettingsError as fault:
        assert name in fault.what
        assert fault.exit_code == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iterations", 0),
        ("iterations", True),
        ("iterations", "100"),
        ("iterations", 1.0),
        ("warmup", -1),
        ("arena-size", "64Q"),
        ("arena-size", 0),
        ("aggregation", "max"),
        ("board", "MPS2"),
        ("engine-config", {"kernels": [1]}),
        ("engine-config", {"kernels": float("nan")}),
        ("engine-config", {"Bad Key": 1}),
        ("engine-config", ["kernels"]),
        ("pmu-counters", {"cpu": []}),
        ("pmu-counters", {"cpu": ["A", "A"]}),
        ("pmu-counters", {"cpu": "some"}),
        ("pmu-counters", "all"),
        ("compile-flags", "-ffast-math"),
        ("compile-flags", ["-I/usr/include"]),
        ("compile-flags", ["-include", "x.h"]),
        ("compile-flags", ["-fplugin=evil"]),
        ("compile-flags", ["-DHARNESS_BUILD_ID=1"]),
        ("compile-flags", ["-mcpu=cortex-m0"]),
        ("compile-flags", ["-flto"]),
        ("per-layer", 1),
        ("test-fault", "explode"),
        ("test-fault", "none@1"),
        ("serial", 0),
        ("deadlines", {"flash": 0}),
    ],
)
def test_values_that_are_not_allowed(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        check_value(name, value)


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("iterations", "20", 20),
        ("arena-size", "64K", 65536),
        ("arena-size", "1MiB", 1 << 20),
        ("per-layer", "false", False),
        ("engine-config", "{kernels: naive}", {"kernels": "naive"}),
        ("engine-config", "kernels=naive,unroll=2", {"kernels": "naive", "unroll": 2}),
        ("pmu-counters", "{cpu: [CPU_CYCLES], memory: none}", {"cpu": ["CPU_CYCLES"], "memory": "none"}),
        ("compile-flags", "-ffast-math -DX=1", ["-ffast-math", "-DX=1"]),
        ("board", "mps3_an547", "mps3_an547"),
    ],
)
def test_text_of_the_command_line(name: str, text: str, stored: Any) -> None:
    assert parse_text(name, text) == stored


def test_text_may_name_a_file(tmp_path: Path) -> None:
    file = tmp_path / "engine.yml"
    file.write_text("kernels: naive\n")
    assert parse_text("engine-config", str(file)) == {"kernels": "naive"}


def test_keywords_win_over_the_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text("iterations: 7\nwarmup: 3\nwindow_mode: fixed\n")
    plan = resolve(file, {"warmup": 1, "board": None}).plan
    assert (plan["iterations"], plan["warmup"], plan["window-mode"], plan["aggregation"]) == (7, 1, "fixed", "median")


def test_host_settings_stay_apart_and_paths_follow_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text("model: m/a.tflite\nserial: 12345\nout: /abs/results\nboards-path: [mine]\n")
    resolved = resolve(file, {})
    assert not set(resolved.plan) & set(HOST_SETTINGS)
    assert resolved.host["model"] == str(tmp_path / "m/a.tflite")
    assert resolved.host["out"] == "/abs/results"
    assert resolved.host["boards-path"] == [str(tmp_path / "mine")]
    assert resolved.host["serial"] == 12345


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("warmup: 5\niteration: 3\n", ":2: There is no setting 'iteration'.\nDid you mean 'iterations'?"),
        ("warmup: 5\n\nwarmup: 6\n", ":3 repeats the key 'warmup'"),
        ("window-min: 5\nwindow_min: 6\n", ":2: Setting 'window_min' is given twice"),
        ("iterations: many\n", ":1: Setting 'iterations' must be a whole number"),
        ("- iterations\n", "is not a mapping"),
        ("iterations: !!python/object:os.system 1\n", "is not allowed"),
        ("window-min: 50\nwindow-max: 5\n", "'window-min' is above"),
    ],
)
def test_mistakes_in_a_file_are_named_with_their_line(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "c.yml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        resolve(file, {})
    assert expected in str(caught.value)


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        resolve(tmp_path / "none.yml", {})
    (tmp_path / "b.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="not UTF-8"):
        resolve(tmp_path / "b.yml", {})
    (tmp_path / "deep.yml").write_text("[" * 5000)
    with pytest.raises(SettingsError):
        resolve(tmp_path / "deep.yml", {})


def test_unknown_keyword_suggests() -> None:
    with pytest.raises(SettingsError, match="'arena-size'"):
        resolve(None, {"arena_sise": 4})
