"""The plan's identity and its record: every setting counts, nothing of the host does, and edits are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.core.errors import PlanError
from harness.core.hashing import is_semantic_hash
from harness.plan.record import Plan, PlanModel, deep_freeze, thaw
from harness.plan.settings import IDENTITY_SETTINGS, PLAN_SETTINGS, SETTINGS, check_value
from harness.plan.toolchain import ToolchainFacts
from tests.plan.strategies import STRATEGIES

_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_FACTS = {"name": "mps2_an386", "clocks": {"nominal": 25_000_000, "fast": 50_000_000}, "memory": []}
_RESOLVED = {"board": "mps2_an386", "cpu-clock": "nominal", "arena-location": "ram", "weights-location": "code"}


def make_plan(**changes: Any) -> Plan:
    """A plan that no file stands behind."""
    values = {name: SETTINGS[name].default for name in PLAN_SETTINGS} | _RESOLVED
    plan = Plan(
        settings=deep_freeze(values),
        model=PlanModel("/somewhere/m.tflite", "a" * 64, 1234),
        board_facts=deep_freeze(_FACTS),
        toolchain=ToolchainFacts("gcc", "gcc 12", "b" * 64),
        baseline="c" * 64,
        harness_version="0.1.0",
    )
    return replace(plan, **changes)


def _with(name: str, value: Any) -> Plan:
    plan = make_plan()
    return replace(plan, settings=deep_freeze({**thaw(plan.settings), name: check_value(name, value)}))


@_UNHURRIED
@given(data=st.data(), name=st.sampled_from(sorted(IDENTITY_SETTINGS - {"transport"})))
def test_any_single_changed_setting_changes_the_identity(data: st.DataObject, name: str) -> None:
    value = check_value(name, data.draw(STRATEGIES[name]))
    assume(value != thaw(make_plan().settings[name]))
    assert _with(name, value).intent_hash != make_plan().intent_hash


@pytest.mark.parametrize(("name", "value"), [("power", "ppk2"), ("power-mode", "ampere"), ("power-volts", 1.8)])
def test_who_looks_on_does_not_change_the_identity(name: str, value: Any) -> None:
    plan = _with(name, value)
    assert plan.intent_hash == make_plan().intent_hash
    assert Plan.from_dict(json.loads(plan.to_json())).settings[name] == value


@pytest.mark.parametrize(
    "change",
    [
        {"model": PlanModel("/somewhere/m.tflite", "f" * 64, 1234)},
        {"baseline": "d" * 64},
        {"toolchain": ToolchainFacts("gcc", "gcc 13", "b" * 64)},
        {"toolchain": ToolchainFacts("gcc", "gcc 12", "e" * 64)},
        {"board_facts": deep_freeze({**_FACTS, "clocks": {"nominal": 24_000_000}})},
    ],
)
def test_every_other_deciding_fact_changes_the_identity(change: dict[str, Any]) -> None:
    assert make_plan(**change).intent_hash != make_plan().intent_hash


@pytest.mark.parametrize(
    "change", [{"model": PlanModel("elsewhere/n.tflite", "a" * 64, 1234)}, {"harness_version": "9.9"}]
)
def test_path_and_version_do_not(change: dict[str, Any]) -> None:
    assert make_plan(**change).intent_hash == make_plan().intent_hash
    assert is_semantic_hash(make_plan().intent_hash, "intent")


@_UNHURRIED
@given(data=st.data())
def test_a_saved_plan_loads_equal(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(PLAN_SETTINGS))
    plan = _with(name, data.draw(STRATEGIES[name].filter(lambda value: value is not None or name == "arena-size")))
    loaded = Plan.from_dict(json.loads(plan.to_json()))
    assert loaded == plan
    assert loaded.to_json() == plan.to_json()


def test_a_plan_cannot_be_changed() -> None:
    plan = make_plan()
    with pytest.raises(AttributeError):
        plan.baseline = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        plan.settings["iterations"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        plan.settings["engine-config"]["kernels"] = 1


def _edit(path: tuple[str, ...], value: Any) -> Any:
    raw = make_plan().to_dict()
    target = raw
    for key in path[:-1]:
        target = target[key]
    if value is KeyError:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return raw


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "hpx.frozen-run"),
        (("schema_version",), 2),
        (("schema_version",), True),
        (("schema_version",), 1.0),
        (("settings", "iterations"), 101),
        (("settings", "iterations"), True),
        (("settings", "arena-size"), "64K"),
        (("settings", "board"), None),
        (("settings", "board"), KeyError),
        (("settings", "serial"), 1),
        (("settings", "cpu-clock"), "fast"),
        (("settings", "cpu-clock"), "unknown"),
        (("model", "sha256"), "0" * 64),
        (("model", "sha256"), "short"),
        (("model", "size_bytes"), -1),
        (("model", "extra"), 1),
        (("board", "clocks"), {}),
        (("board", "name"), "x"),
        (("toolchain", "version"), "other"),
        (("baseline",), "0" * 64),
        (("intent_hash",), "harness.intent/1:sha256:" + "0" * 64),
        (("intent_hash",), KeyError),
        (("comment",), "hello"),
    ],
)
def test_edits_are_refused(path: tuple[str, ...], value: Any) -> None:
    with pytest.raises(PlanError):
        Plan.from_dict(_edit(path, value))


def test_files_that_are_no_plans_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    with pytest.raises(PlanError, match="cannot be read"):
        Plan.load(file)
    for text in ("", "[]", "{}", "null", "{" * 9999, '{"schema": NaN}', '{"schema": 1, "schema": 1}'):
        file.write_text(text)
        with pytest.raises(PlanError):
            Plan.load(file)


@_UNHURRIED
@given(data=st.data())
def test_a_flipped_bit_is_refused_or_changes_nothing_that_counts(data: st.DataObject) -> None:
    text = bytearray(make_plan().to_json().encode())
    text[data.draw(st.integers(0, len(text) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        value = json.loads(bytes(text))
    except ValueError:
        return
    try:
        plan = Plan.from_dict(value)
    except PlanError:
        return
    assert plan.intent_hash == make_plan().intent_hash
