"""The `hil` marker: what a test asks for, validated with errors that quote the mistake."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any

import pytest

SIGNATURE = (
    "hil(model=PATH, boards=[TYPE, ...], requires={FACT: VALUE}, config=PATH, inspect=N, baseline={SETTING: VALUE}, "
    "inputs=FILES, input_seed=N, expected=FILES, expect=WORD, tolerance=T, faults=[FAULT, ...], **settings)"
)
MARKER_LINE = f"{SIGNATURE}: measure a model on each board named, or on every board that meets `requires`"
_OWN = (
    *("model", "boards", "requires", "inspect", "baseline"),
    *("inputs", "input_seed", "expected", "expect", "tolerance", "faults"),
)


@dataclass(frozen=True)
class HilMark:
    """One test's request.

    `settings` are settings of a plan by their Python names; `baseline` are settings that differ in the build to compare
    with, when no baseline is given on the command line. Paths in them are relative to `directory`, the test file's.
    `inputs` and `expected` are files by tensor name or in the model's order (None: not given); `expect` and `tolerance`
    are those of `harness.run`. `faults` strike the (emulated) board on purpose.
    """

    model: Path | None
    boards: tuple[str, ...]
    requires: Mapping[str, Any] = field(default_factory=dict)
    inspect: int = 1
    baseline: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Any = None
    input_seed: int | None = None
    expected: Any = None
    expect: str = "reference"
    tolerance: float = 0.0
    directory: Path = Path()
    faults: tuple[Any, ...] = ()

    def plan_settings(self, *, for_baseline: bool = False) -> dict[str, Any]:
        """Settings to freeze, for the test's own run or for its baseline."""
        out = {**self.settings, **(self.baseline if for_baseline else {})}
        if isinstance(out.get("engine_config"), Mapping):
            from harness.engines.base import PATH_OPTIONS

            out["engine_config"] = {
                key: str(self.directory / str(value)) if key in PATH_OPTIONS else value
                for key, value in out["engine_config"].items()
            }
        return out


def read_mark(node: pytest.Item | pytest.Collector, path: Path) -> HilMark | None:
    """Merge the `hil` markers of a test, its class and its module; the closest wins per argument.

    Raises:
        pytest.UsageError: positional arguments, or an argument of the wrong type or range.
    """
    merged: dict[str, Any] = {}
    found = False
    for mark in reversed(list(node.iter_markers("hil"))):
        found = True
        if mark.args:
            raise pytest.UsageError(f"{node.nodeid}: hil takes keyword arguments only, got {mark.args!r}. {SIGNATURE}")
        merged.update(mark.kwargs)
    if not found:
        return None
    boards = merged.get("boards", ())
    if isinstance(boards, str):
        raise pytest.UsageError(f"{node.nodeid}: boards={boards!r} must be a list of board types, as in [{boards!r}].")
    model = merged.get("model")
    if merged.get("inputs") is not None and merged.get("input_seed") is not None:
        raise pytest.UsageError(f"{node.nodeid}: inputs and input_seed exclude each other.")
    for name, allowed in _ALLOWED.items():
        if name in merged and not allowed(merged[name]):
            raise pytest.UsageError(f"{node.nodeid}: {name}={merged[name]!r} is not allowed. {SIGNATURE}")
    return HilMark(
        model=_find(path, model) if model is not None else None,
        boards=tuple(boards),
        requires=dict(merged.get("requires", {})),
        inspect=merged.get("inspect", 1),
        baseline=dict(merged.get("baseline", {})),
        faults=tuple(merged.get("faults", ())),
        settings={
            key: str(_find(path, value)) if key == "config" else value
            for key, value in merged.items()
            if key not in _OWN
        },
        inputs=_files(path, merged.get("inputs")),
        input_seed=merged.get("input_seed"),
        expected=_files(path, merged.get("expected")),
        expect=merged.get("expect", "reference"),
        tolerance=float(merged.get("tolerance", 0.0)),
        directory=path.parent,
    )


def _is_path(value: object) -> bool:
    return isinstance(value, str | Path) and bool(str(value)) and "\0" not in str(value)


def _are_files(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(name, str | int) for name in value) and all(map(_is_path, value.values()))
    return _is_path(value) or (isinstance(value, list | tuple) and bool(value) and all(map(_is_path, value)))


def _is_number(value: object, kinds: type | UnionType) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _files(test_file: Path, value: Any) -> Any:
    """One inference: files by name, or in order; relative ones are taken from the test's directory."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {name: _find(test_file, path) for name, path in value.items()}
    return [[_find(test_file, path) for path in (value if isinstance(value, list | tuple) else [value])]]


_ALLOWED: Mapping[str, Callable[[Any], bool]] = {
    "model": _is_path,
    "config": _is_path,
    "boards": lambda value: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value),
    "requires": lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
    "baseline": lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
    "inspect": lambda value: _is_number(value, int) and value >= 0,
    "inputs": _are_files,
    "input_seed": lambda value: _is_number(value, int) and value >= 0,
    "expected": _are_files,
    "expect": lambda value: isinstance(value, str),
    "tolerance": lambda value: _is_number(value, int | float) and value >= 0,
    "faults": lambda value: (
        isinstance(value, list | tuple) and all(isinstance(fault, str | Mapping) for fault in value)
    ),
}


def _find(test_file: Path, name: str | Path) -> Path:
    path = Path(name)
    return path if path.is_absolute() else (test_file.parent / path)


def closest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """`; did you mean 'x'?` or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
