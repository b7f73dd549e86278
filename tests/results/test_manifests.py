"""Manifests: nothing is lost by a load and a write, and nothing malformed is accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.errors import EvidenceError
from harness.results.manifest import ResultManifest, RunStatus, load_result_manifest
from tests.results.builders import make_bundle

MINIMAL: dict[str, Any] = {
    "schema": "hpx.result-manifest",
    "schema_version": 1,
    "run_id": "r",
    "timestamp": "t",
    "hpx_version": "0.4.1",
    "status": "failed",
    "validity": "invalid",
    "issues": [{"code": "a.b", "severity": "error", "message": "m", "context": {"x": [1, {"y": 2}]}, "later": True}],
    "provenance": {},
    "comparability": {},
    "artifacts": [
        {"path": "a/b.txt", "media_type": "text/plain", "size_bytes": 0, "sha256": "0" * 64, "colour": "blue"}
    ],
    "extensions": {},
    "future": {"deep": [None, 1.5]},
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_load_and_a_write_keep_unknown_fields(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(MINIMAL))
    manifest = ResultManifest.load(path)
    assert manifest.status is RunStatus.FAILED
    assert manifest.extra["future"] == {"deep": (None, 1.5)}
    assert manifest.issues[0].extra["later"] is True
    manifest.write(path)
    assert json.loads(path.read_text()) == MINIMAL


@given(
    extra=st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda key: key not in MINIMAL), json_values, max_size=4
    )
)
@settings(max_examples=60, deadline=None)
def test_any_unknown_field_survives(extra: dict[str, Any]) -> None:
    data = {**MINIMAL, **{key: value for key, value in extra.items() if key not in ("bundle_type", "extra")}}
    assert ResultManifest.from_dict(data).to_dict() == data


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "other"),
        ("schema_version", 2),
        ("schema_version", True),
        ("schema_version", "1"),
        ("run_id", ""),
        ("run_id", 5),
        ("timestamp", None),
        ("hpx_version", None),
        ("status", "done"),
        ("validity", "perhaps"),
        ("issues", {}),
        ("issues", [5]),
        ("issues", [{"code": "", "severity": "error", "message": ""}]),
        ("issues", [{"severity": "error", "message": ""}]),
        ("artifacts", None),
        ("artifacts", [{}]),
        ("provenance", []),
        ("comparability", 1),
        ("extensions", "x"),
        ("bundle_type", ""),
    ],
)
def test_malformed_manifests_are_refused(key: str, value: object) -> None:
    with pytest.raises(EvidenceError) as caught:
        ResultManifest.from_dict({**MINIMAL, key: value})
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("key", [key for key in MINIMAL if key not in ("extensions", "future")])
def test_missing_fields_are_refused(key: str) -> None:
    with pytest.raises(EvidenceError):
        ResultManifest.from_dict({name: value for name, value in MINIMAL.items() if name != key})


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/etc/passwd"},
        {"path": ""},
        {"size_bytes": -1},
        {"size_bytes": True},
        {"size_bytes": 1.0},
        {"sha256": "0" * 63},
        {"sha256": "A" * 64},
        {"media_type": ""},
        {"optional": "no"},
        {"schema_version": 0},
        {"name": ""},
    ],
)
def test_malformed_artifacts_are_refused(change: dict[str, Any]) -> None:
    artifact = {**MINIMAL["artifacts"][0], **change}
    with pytest.raises(EvidenceError):
        ResultManifest.from_dict({**MINIMAL, "artifacts": [artifact]})


def test_verification_follows_no_link_out_of_the_bundle(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "b")
    outside = tmp_path / "outside.log"
    outside.write_bytes((bundle / "target.log").read_bytes())
    (bundle / "target.log").unlink()
    (bundle / "target.log").symlink_to(outside)
    with pytest.raises(EvidenceError, match=r"target\.log"):
        load_result_manifest(bundle / "result_manifest.json", verify=True)


def test_a_manifest_rewritten_through_the_api_still_verifies(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "b")
    path = bundle / "result_manifest.json"
    before = path.read_bytes()
    load_result_manifest(path).write(path)
    assert path.read_bytes() == before
    load_result_manifest(path, verify=True)
