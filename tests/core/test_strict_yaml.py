"""YAML that people write: what is refused, and that it is refused in one way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import UsageError
from harness.core.strict_yaml import loads


@pytest.mark.parametrize(
    "value",
    [
        "!!bool foo",
        '!!int ""',
        '!!float ""',
        "!!timestamp foo",
        "!!binary x",
        "!!str 5",
        "!!python/name:os.system",
        "!x y",
    ],
)
def test_tags_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match=r"f\.yml:2: the tag"):
        loads(f"a: 1\nb: {value}\n", source="f.yml")


def test_plain_and_quoted_values_keep_their_types() -> None:
    text = "a: 5\nb: '5'\nc: 2.5\nd: true\ne:\nf: 2024-01-02\non: |\n  text\n"
    value = loads(text, source="f.yml").value
    assert value == {"a": 5, "b": "5", "c": 2.5, "d": True, "e": None, "f": "2024-01-02", "on": "text\n"}


@given(st.text(alphabet="ab:-!&*[]{}'\"|>?#,%@ \n0x_.~", max_size=40) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        loads(text, source="f.yml")
    except UsageError as error:
        assert error.what.startswith("f.yml")
