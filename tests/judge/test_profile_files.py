"""Profiles on disk: JSON and YAML mean the same, and every fault names file, line and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli._main import run_cli
from harness.core.errors import ProfileError
from harness.core.resources import data_dir
from harness.judge.compare import compare
from harness.judge.profile import ComparisonProfile
from harness.judge.profile_file import find_profile
from tests.results.builders import make_bundle

GOOD = """\
schema: hpx.comparison-profile
schema_version: 1
name: ci
metrics:
  total_cycles:
    direction: smaller
    unit: cycles
    max_regression_pct: 2
harness:
  metrics:
    clean.us: {direction: smaller, unit: us}
    "layer[*].cycles": {direction: equal, unit: cycles}
"""


def load(tmp_path: Path, text: str, name: str = "p.yml") -> ComparisonProfile:
    path = tmp_path / name
    path.write_text(text)
    return ComparisonProfile.load(path)


def test_json_and_yaml_have_one_digest(tmp_path: Path) -> None:
    profile = load(tmp_path, GOOD)
    again = load(tmp_path, json.dumps(profile.to_dict()), "p.json")
    assert again == profile
    assert again.sha256 == profile.sha256
    assert profile.harness is not None
    assert list(profile.harness.metrics) == ["clean.us", "layer[*].cycles"]


def test_unknown_fields_survive_and_count_in_the_digest(tmp_path: Path) -> None:
    plain = load(tmp_path, GOOD)
    noted = load(tmp_path, GOOD + "owner: {team: [a, b]}\n")
    assert noted.to_dict()["owner"] == {"team": ["a", "b"]}
    assert noted.sha256 != plain.sha256


@pytest.mark.parametrize("slip", ["required_dimension: [board]\n", "mising: fail\n"])
def test_a_slip_in_a_name_does_not_drop_a_policy(tmp_path: Path, slip: str) -> None:
    with pytest.raises(ProfileError, match="is unknown; did you mean") as caught:
        load(tmp_path, GOOD + slip)
    assert caught.value.context["key"] == slip.split(":")[0]


def test_a_slip_in_the_name_of_a_bound(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="did you mean 'max_regression_pct'"):
        load(tmp_path, GOOD.replace("max_regression_pct: 2", "max_regresion_pct: 2"))


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("direction: smaller\n", "direction: down\n", 6, "metrics.total_cycles.direction"),
        ("unit: cycles\n", "unit: 5\n", 7, "metrics.total_cycles.unit"),
        ("max_regression_pct: 2", "max_regression_pct: -2", 8, "metrics.total_cycles.max_regression_pct"),
        ("max_regression_pct: 2", "max_regression_pct: .inf", 8, "metrics.total_cycles.max_regression_pct"),
        ("max_regression_pct: 2", "max_regression_pct: yes", 8, "metrics.total_cycles.max_regression_pct"),
        ("max_regression_pct: 2", "missing: never", 8, "metrics.total_cycles.missing"),
        ("    unit: cycles\n", "", 5, "metrics.total_cycles"),
        ("schema_version: 1", "schema_version: 2", 2, "schema_version"),
        ("schema: hpx.comparison-profile", "schema: other", 1, "schema"),
        ("name: ci", "name: ''", 3, "name"),
        ("name: ci", "missing: sometimes", 3, "missing"),
        ("name: ci", "required_dimensions: [board, board]", 3, "required_dimensions"),
        ("unit: us}", "unit: us, max: 5}", 11, "harness.metrics.clean.us.max"),
        ("unit: us}", "unit: ms}", 11, "harness.metrics.clean.us.unit"),
        ("clean.us", "clean.ms", 11, "harness.metrics.clean.ms"),
        ('"layer[*].cycles"', '"layer[x].cycles"', 12, "harness.metrics.layer[x].cycles"),
        ("harness:\n", "harness:\n  colour: red\n", 10, "harness.colour"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_faults_name_file_line_and_key(tmp_path: Path, old: str, new: str, line: int, key: str, as_json: bool) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    name = "p.yml"
    if as_json:
        if ".inf" in new:
            return
        import yaml

        text, name = json.dumps(yaml.safe_load(text), indent=2), "p.json"
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, text, name)
    error = caught.value
    assert error.exit_code == 2
    assert error.context["key"] == key
    assert str(tmp_path / name) in error.what
    assert isinstance(error.context["line"], int)
    if not as_json:
        assert error.context["line"] == line
        assert f":{line}:" in error.what


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "p.yml"),
        ("- a\n", "p.yml"),
        ("a: [\n", "p.yml"),
        ("a: 1\na: 2\n", "p.yml"),
        ("a: &x 1\nb: *x\n", "p.yml"),
        ("", "p.json"),
        ("[]", "p.json"),
        ('{"a": 1, "a": 2}', "p.json"),
        ('{"a": NaN}', "p.json"),
        ("\x00\x01", "p.yml"),
        ("schema: hpx.comparison-profile\nschema_version: 1\nmetrics:\n", "p.yml"),
        (GOOD + "later: .nan\n", "p.yml"),
        (GOOD.replace("harness:\n  metrics:\n", "harness:\n  other:\n"), "p.yml"),
        (GOOD.split("harness:")[0] + "harness: 5\n", "p.yml"),
        (GOOD.split("harness:")[0] + "harness: {metrics: {}}\n", "p.yml"),
    ],
)
def test_malformed_files_are_usage_errors(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, text, name)
    assert str(tmp_path / name) in caught.value.what


def test_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "none.yml"):
        with pytest.raises(ProfileError):
            ComparisonProfile.load(path)


@pytest.mark.parametrize("path", sorted(data_dir("profiles").glob("*.yml")), ids=lambda path: path.stem)
def test_shipped_profiles_load_and_are_found_by_name(path: Path) -> None:
    assert ComparisonProfile.load(path).name == path.stem
    assert find_profile(path.stem) == path


def test_an_unknown_name_lists_the_shipped_ones() -> None:
    with pytest.raises(ProfileError, match="latency"):
        find_profile("fastest")


values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
)


@given(
    st.dictionaries(
        st.sampled_from(["schema", "schema_version", "metrics", "missing", "required_dimensions", "name", "harness"]),
        values
        | st.dictionaries(st.text(max_size=4), values | st.dictionaries(st.text(max_size=4), values), max_size=3),
    )
)
@settings(max_examples=200, deadline=None)
def test_no_profile_ends_in_anything_but_a_profile_error(data: dict[str, Any]) -> None:
    full = {"schema": "hpx.comparison-profile", "schema_version": 1, "metrics": {}, **data}
    with pytest.raises(ProfileError):
        ComparisonProfile.from_dict(full)


@pytest.mark.parametrize("command", ["profiles", "profile"])
def test_a_profile_is_written_from_a_bundle(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = make_bundle(tmp_path / "run")
    assert run_cli([command, "new", str(bundle)]) == 0
    (tmp_path / "p.yml").write_text(capsys.readouterr().out)
    assert run_cli([command, "check", str(tmp_path / "p.yml")]) == 0
    assert compare(bundle, bundle, tmp_path / "p.yml").status == "pass"


OWN = {"clean.us": {"direction": "smaller", "unit": "us"}}


@pytest.mark.parametrize(
    "statistics",
    [{"looks": []}, {"looks": [10, None]}, {"fail_shares": []}, {"fail_shares": [None, None, None]},
     {"pass_shares": [0.5, None, 0.1]}, {"looks": [0]}, {"looks": [20, 10]},
     {"looks": [10], "fail_shares": [0.1, 0.1]}],
)  # fmt: skip
def test_statistics_that_cannot_be_used_are_a_profile_error(statistics: dict[str, Any]) -> None:
    data = {"schema": "hpx.comparison-profile", "schema_version": 1, "harness": {"metrics": OWN}}
    data["metrics"] = {"total_cycles": {"direction": "smaller", "unit": "cycles"}}
    assert ComparisonProfile.from_dict(data).harness is not None
    data["harness"] = {"metrics": OWN, "statistics": statistics}
    with pytest.raises(ProfileError) as caught:
        ComparisonProfile.from_dict(data)
    assert caught.value.context["key"][:2] == ["harness", "statistics"]


def extending(folder: Path, number: int, *names: str) -> Path:
    data: dict[str, Any] = {"schema": "hpx.comparison-profile", "schema_version": 1}
    data["metrics"] = {"total_cycles": {"direction": "smaller", "unit": "cycles"}}
    data["harness"] = {"metrics": OWN, **({"extends": list(names)} if names else {})}
    path = folder / f"p{number}.json"
    path.write_text(json.dumps(data))
    return path


def test_a_profile_that_many_extend_is_read_once(tmp_path: Path) -> None:
    # Each of thirty extends the next one twice: a billion readings if each were done anew.
    extending(tmp_path, 30)
    for number in reversed(range(30)):
        first = extending(tmp_path, number, *[f"p{number + 1}.json"] * 2)
    assert ComparisonProfile.load(first).harness is not None


def test_a_long_chain_and_a_circle_of_profiles_are_refused(tmp_path: Path) -> None:
    for number in range(2000):
        extending(tmp_path, number, f"p{number + 1}.json")
    with pytest.raises(ProfileError, match="extend each other"):
        ComparisonProfile.load(tmp_path / "p0.json")
    extending(tmp_path, 3, "p0.json")
    with pytest.raises(ProfileError, match="extends itself"):
        ComparisonProfile.load(tmp_path / "p0.json")


@pytest.mark.parametrize("profile", ["a" * 5000, "{dir}/none/x.yml", "{dir}"])
def test_a_path_that_cannot_be_is_a_mistake_of_usage(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["profiles", "check", profile.format(dir=tmp_path)]) == 2
    assert "fault of the harness" not in capsys.readouterr().err


def test_a_comment_that_cannot_be_written_is_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(make_bundle(tmp_path / "run"))
    for place in (tmp_path / "none/x.md", tmp_path, tmp_path / ("a" * 300)):
        assert run_cli(["compare", run, run, "-p", "exact", "--markdown", str(place)]) == 2
        assert f"error: {place}: " in capsys.readouterr().err
    assert run_cli(["compare", run, run, "-p", "exact", "--markdown", str(tmp_path / ("b" * 250))]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b" * 250, "run"]
