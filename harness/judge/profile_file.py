"""Profiles as files: JSON read with the standard library, YAML with PyYAML, which also finds the line of a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core.errors import ProfileError
from harness.core.strict_json import StrictJsonError
from harness.core.strict_json import loads as load_strict

MAX_BYTES = 1 << 20
_TODO = "Correct the profile; docs/comparison-profiles.md describes every field."


def load_profile_data(path: Path) -> dict[str, Any]:
    """The mapping in a profile file; `.json` is JSON, anything else YAML.

    Raises:
        ProfileError: unreadable, too large, malformed, or no mapping; the message names file and line.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ProfileError(f"{path} is larger than {MAX_BYTES} bytes.", todo="Name a comparison profile.")
        raw = path.read_bytes()
    except OSError as error:
        raise ProfileError(
            f"Comparison profile {path} cannot be read.",
            why=error.strerror or str(error),
            todo="Name an existing file; ready profiles lie in profiles/.",
        ) from None
    data = _json(raw, path) if path.suffix == ".json" else _yaml(raw, path)
    if not isinstance(data, dict):
        raise ProfileError(f"{path}:1: a comparison profile must be an object.", todo=_TODO)
    return data


def located(error: ProfileError, path: Path) -> ProfileError:
    """The same error with file, line and dotted key in front."""
    key = [str(part) for part in error.context.get("key", ())]
    line = _line_of(path, key)
    where = f"{path}:{line}: " if line else f"{path}: "
    dotted = ".".join(key)
    return ProfileError(
        f"{where}{error.what}",
        why=f"The key is {dotted}." if dotted else "",
        todo=error.todo or _TODO,
        context={"file": str(path), "line": line, "key": dotted},
    )


def _json(raw: bytes, path: Path) -> Any:
    try:
        return load_strict(raw, source=str(path))
    except StrictJsonError as error:
        raise ProfileError(f"{path}: {error.what}", why=error.why, todo=_TODO) from None


def _yaml(raw: bytes, path: Path) -> Any:
    import yaml

    try:
        _refuse_repeats(yaml.compose(raw, Loader=yaml.SafeLoader), path)
        return _plain(yaml.safe_load(raw), path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else 0
        raise ProfileError(f"{path}:{line}: not YAML: {error.problem}.", todo=_TODO) from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ProfileError(f"{path}: not YAML.", why=str(error)[:200], todo=_TODO) from None


def _refuse_repeats(node: Any, path: Path) -> None:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeats(item, path)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            line = key.start_mark.line + 1
            raise ProfileError(f"{path}:{line}: the key {name!r} stands there twice.", todo=_TODO)
        seen.add(name)
        _refuse_repeats(value, path)


def _plain(value: Any, path: Path) -> Any:
    """The value when JSON could hold it too; `ProfileError` for dates, sets and keys that are no strings."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ProfileError(f"{path}: the key {key!r} is no string.", why="Quote it.", todo=_TODO)
        return {key: _plain(item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, path) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise ProfileError(f"{path}: {value!r} is no number, string, list or mapping.", why="Quote it.", todo=_TODO)


def _line_of(path: Path, key: list[str]) -> int:
    """Line of the deepest part of a key that the file has; 0 when it cannot be found. YAML reads JSON too."""
    import yaml

    try:
        node = yaml.compose(path.read_bytes(), Loader=yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return 0
    line = node.start_mark.line + 1 if node is not None else 0
    for part in key:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((k, v) for k, v in node.value if k.value == part), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return int(line)
