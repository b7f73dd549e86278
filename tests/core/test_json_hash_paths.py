"""Strict JSON, semantic hashes and rooted paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.hashing import is_semantic_hash, semantic_hash, tree_digest
from harness.core.paths import PathEscapeError, check_relative, resolve_inside
from harness.core.strict_json import StrictJsonError, canonical, is_pretty, load, loads, pretty

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_round_trip(value: object) -> None:
    assert loads(canonical(value)) == value
    assert loads(pretty(value).encode()) == value


@given(json_values)
def test_the_pretty_form_is_that_of_the_standard_library(value: object) -> None:
    assert pretty(value) == json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    escaped = json.dumps(value, sort_keys=True, indent=2) + "\n"
    assert is_pretty(pretty(value).encode(), value) and is_pretty(escaped.encode(), value)
    assert not is_pretty(pretty(value).encode() + b"\n", value)


def test_text_that_utf8_cannot_hold_is_escaped() -> None:
    value = {"path": "m\udcff.tflite", "other": "\u00e9"}
    assert loads(pretty(value).encode()) == value
    assert "\u00e9" in pretty({"other": "\u00e9"})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "duplicate_key"),
        ("[NaN]", "invalid_number"),
        ("[1e999]", "invalid_number"),
        ("[-Infinity]", "invalid_number"),
        ("{", "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        (b"\xff", "invalid_json"),
    ],
)
def test_refused(text: str | bytes, code: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        loads(text)
    assert caught.value.code == code


def test_missing_file_is_typed(tmp_path: Path) -> None:
    with pytest.raises(StrictJsonError) as caught:
        load(tmp_path / "none.json")
    assert caught.value.exit_code == 5


@given(st.dictionaries(st.text(), st.integers()))
def test_hash_ignores_key_order_and_states_its_kind(value: dict[str, int]) -> None:
    flipped = dict(reversed(value.items()))
    text = semantic_hash("intent", value)
    assert text == semantic_hash("intent", flipped)
    assert is_semantic_hash(text, "intent") and not is_semantic_hash(text, "build")
    assert text != semantic_hash("intent", {**value, "one more": 1})


def test_tree_digest_sees_every_change() -> None:
    base = tree_digest([("a", "1"), ("b", "2")])
    assert base == tree_digest([("b", "2"), ("a", "1")])
    assert len({base, tree_digest([("a", "2"), ("b", "1")]), tree_digest([("a", "1")])}) == 3


@pytest.mark.parametrize("text", ["", "/etc/passwd", "a/../b", "..", "a\\b", "a//b", "./a", "a/", "C:x", "a\0b"])
def test_escaping_paths(text: str) -> None:
    with pytest.raises(PathEscapeError):
        check_relative(text)


def test_symlink_out_of_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(PathEscapeError):
        resolve_inside(root, "link")
