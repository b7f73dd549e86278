"""What a setting's value may be. Each check returns the value in its one stored form or raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.engines.flags import REFUSED_FLAGS

Check = Callable[[Any], Any]
_SIZE = re.compile(r"^([0-9]+)\s*(?:([KkMm])(?:i?[Bb])?)?$")
_SCALAR = (str, int, float, bool)


def text(pattern: str, meaning: str) -> Check:
    """Text that matches a pattern as a whole."""
    compiled = re.compile(pattern)

    def check(value: Any) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise ValueError(f"must be {meaning}")
        return value

    return check


def choice(*allowed: str) -> Check:
    """One of a few words."""

    def check(value: Any) -> str:
        if value not in allowed or not isinstance(value, str):
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return value

    return check


def integer(low: int, high: int) -> Check:
    """A whole number between bounds, both included."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return check


def number(low: float, high: float) -> Check:
    """A finite number above `low`, up to `high`."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= high:
            raise ValueError(f"must be a number above {low:g}, up to {high:g}")
        return float(value)

    return check


def size(low: int, high: int) -> Check:
    """Bytes: a whole number, or text such as 64K or 1M in units of 1024."""

    def check(value: Any) -> int:
        if isinstance(value, str) and (match := _SIZE.match(value.strip())):
            unit = (match[2] or "").upper()
            value = int(match[1]) * {"": 1, "K": 1024, "M": 1024 * 1024}[unit]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a number of bytes from {low} to {high}, or text such as 64K")
        return value

    return check


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def optional(inner: Check) -> Check:
    """None, or what another check allows."""

    def check(value: Any) -> Any:
        return None if value is None else inner(value)

    return check


def scalar_map(value: Any) -> dict[str, Any]:
    """A mapping from words to text, finite numbers or truth values, in key order."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping, as in {kernels: portable}")
    for key, item in value.items():
        if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", key):
            raise ValueError(f"has the malformed key {key!r}")
        if not isinstance(item, _SCALAR) or (isinstance(item, float) and not abs(item) < float("inf")):
            raise ValueError(f"{key} must be text, a finite number, true or false")
    return {key: value[key] for key in sorted(value)}


def counter_groups(value: Any) -> dict[str, Any]:
    """A mapping from counter groups to `default`, `all`, `none` or a list of counter names in measuring order."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping, as in {cpu: default, memory: [MEM_ACCESS]}")
    out: dict[str, Any] = {}
    for group in sorted(value):
        chosen = value[group]
        if not isinstance(group, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", group):
            raise ValueError(f"has the malformed group {group!r}")
        if isinstance(chosen, str):
            if chosen not in ("default", "all", "none"):
                raise ValueError(f"{group} must be default, all, none or a list of counters")
            out[group] = chosen
            continue
        names = words(r"[A-Za-z][A-Za-z0-9_.]*", "counter names")(chosen)
        if not names or len(set(names)) != len(names):
            raise ValueError(f"{group} must list each counter once, and at least one")
        out[group] = names
    return out


def words(pattern: str, meaning: str) -> Check:
    """A list of words that each match a pattern as a whole."""
    compiled = re.compile(pattern)

    def check(value: Any) -> list[str]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError(f"must be a list of {meaning}")
        for item in value:
            if not isinstance(item, str) or not compiled.fullmatch(item):
                raise ValueError(f"must be a list of {meaning}; {item!r} is not one")
        return list(value)

    return check


def compile_flags(value: Any) -> list[str]:
    """Compiler flags that change code and nothing else: `-f...`, `-m...` and `-D...`.

    Flags that name files, write further files, or contradict the board's core are refused, since a plan must give the
    same image everywhere.
    """
    flags: list[str] = words(r"-[fmD][A-Za-z0-9_][A-Za-z0-9_=,.+-]*", "flags of the form -f..., -m... or -D...")(value)
    for item in flags:
        if item.startswith(REFUSED_FLAGS):
            raise ValueError(
                f"{item} is not allowed: the board type and the harness decide it, or it breaks repeatability"
            )
    return flags


TEST_FAULTS = ("hang", "garbage", "hardfault", "lockup", "corrupt", "mute", "dead-counter")
"""Faults that firmware can be built with, as `firmware/app/test_fault.h` defines them."""


def test_fault(value: Any) -> str:
    """`none`, a fault, or a fault and the iteration or layer where it strikes, as in `corrupt@3`."""
    if not isinstance(value, str) or not re.fullmatch(
        rf"none|({'|'.join(TEST_FAULTS)})(@(0|[1-9][0-9]{{0,5}}))?", value
    ):
        raise ValueError(f"must be none or one of {', '.join(TEST_FAULTS)}, with @NUMBER where it strikes")
    return value


def deadlines(value: Any) -> dict[str, float]:
    """A mapping from phases to seconds."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping from phases to seconds")
    for phase, seconds in value.items():
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e6:
            raise ValueError(f"{phase} must be a number of seconds above 0")
    return {str(phase): float(seconds) for phase, seconds in value.items()}


def path(value: Any) -> str:
    """A path of this host."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a path")
    return value
