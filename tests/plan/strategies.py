"""Hypothesis strategies and plain values of settings, one entry a setting, so that none can be forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

_WORDS = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
_COUNTERS = st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=3, unique=True)
_SCALARS = st.one_of(st.booleans(), st.integers(-5, 5), st.text(max_size=4), st.floats(-1, 1))

STRATEGIES: Mapping[str, st.SearchStrategy[Any]] = {
    "engine": _WORDS,
    "engine-config": st.dictionaries(_WORDS, _SCALARS, max_size=3),
    "backend": _WORDS,
    "arena-size": st.one_of(st.none(), st.integers(1, 1 << 30)),
    "arena-location": _WORDS,
    "weights-location": _WORDS,
    "board": st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    "toolchain": _WORDS,
    "cpu-clock": st.sampled_from(["nominal", "fast"]),
    "optimization": st.sampled_from(["O0", "O1", "O2", "O3", "Os"]),
    "compile-flags": st.lists(
        st.sampled_from(["-ffast-math", "-DX=1", "-mslow-flash-data", "-fno-inline"]), max_size=3
    ),
    "transport": st.just("rtt"),
    "iterations": st.integers(1, 100_000),
    "warmup": st.integers(0, 10_000),
    "aggregation": st.sampled_from(["median", "mean", "trimmed"]),
    "per-layer": st.booleans(),
    "pmu-counters": st.dictionaries(
        st.sampled_from(["cpu", "memory", "mve"]), st.one_of(st.sampled_from(["default", "all", "none"]), _COUNTERS)
    ),
    "window-mode": st.sampled_from(["auto", "fixed"]),
    "window-target-ms": st.integers(1, 600_000),
    "window-min": st.integers(1, 500_000),
    "window-max": st.integers(1, 500_000),
    "clean-window-probe": st.sampled_from(["infer", "busy_loop"]),
    "settle-ms": st.integers(0, 60_000),
    "power": _WORDS,
    "power-mode": st.sampled_from(["source", "ampere"]),
    "power-volts": st.floats(0.0, 60.0, exclude_min=True),
    "power-scope": st.sampled_from(["clean-window", "whole-capture"]),
    "power-windows": st.integers(1, 32),
    "power-target-ms": st.integers(1, 600_000),
    "power-per-layer": st.booleans(),
    "test-fault": st.sampled_from(["none", "hang", "hang@3", "corrupt@2", "dead-counter"]),
}
