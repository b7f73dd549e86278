"""Profiles as files: JSON with the standard library, YAML with the strict reader, which also knows lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core.errors import ProfileError
from harness.core.files import read_at_most
from harness.core.strict_json import StrictJsonError
from harness.core.strict_json import loads as load_strict
from harness.judge.profile import ComparisonProfile, bad

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
"""How long a chain of profiles may be, each extending the next."""
_TODO = "Correct the profile; docs/comparison-profiles.md describes every field."


def load_profile_data(path: Path) -> dict[str, Any]:
    """The mapping in a profile file; `.json` is JSON, anything else YAML.

    Raises:
        ProfileError: unreadable, too large, malformed, or no mapping; the message names file and line.
    """
    data = _json(path) if path.suffix == ".json" else _yaml(path).value
    if not isinstance(data, dict):
        raise ProfileError(f"{path}:1: a comparison profile must be an object.", todo=_TODO)
    return data


def load_profile(
    path: Path, chain: tuple[Path, ...] = (), seen: dict[Path, ComparisonProfile] | None = None
) -> ComparisonProfile:
    """A profile with what it extends, base before heir.

    Args:
        path: its file.
        chain: files that led here, each extending the next.
        seen: profiles that were read on the way here; one that several extend is read once.

    Raises:
        ProfileError: see `ComparisonProfile.load`; also a profile that extends itself.
    """
    from harness.judge.own_profile import ComposedProfile, merged

    seen = {} if seen is None else seen
    place = path.resolve()
    if place in seen:
        return seen[place]
    data = load_profile_data(path)
    try:
        if place in chain:
            raise bad(f"{path.name} extends itself.", "harness", "extends")
        if len(chain) > MAX_DEPTH:
            raise bad(f"more than {MAX_DEPTH} profiles extend each other.", "harness", "extends")
        names = _bases(data)
        if not names:
            return seen.setdefault(place, ComparisonProfile.from_dict(data))
        inherited: dict[str, Any] = {}
        for name in names:
            base = load_profile(_base_file(name, path), (*chain, place), seen)
            older = base.inherited if isinstance(base, ComposedProfile) else {}
            inherited = merged(merged(inherited, older), base.extra.get("harness", {}))
        return seen.setdefault(place, ComposedProfile.from_dict(data, inherited=inherited))
    except ProfileError as error:
        raise error if "file" in error.context else located(error, path) from None


def _bases(data: Mapping[str, Any]) -> list[str]:
    own = data.get("harness")
    given = own.get("extends", []) if isinstance(own, Mapping) else []
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise bad("extends must be the name of a profile or a list of names.", "harness", "extends")
    return names


def _base_file(name: str, heir: Path) -> Path:
    beside = heir.parent / name
    try:
        return beside if beside.is_file() else find_profile(name)
    except ProfileError as error:
        raise bad(f"There is no profile {name!r} to extend. {error.why}", "harness", "extends") from None


def located(error: ProfileError, path: Path) -> ProfileError:
    """The same error with file, line and dotted key in front. YAML reads JSON too, so both have lines."""
    key = tuple(str(part) for part in error.context.get("key", ()))
    try:
        where = _yaml(path).where(key)
    except ProfileError:
        where = str(path)
    dotted = ".".join(key)
    line = where.rpartition(":")[2] if where != str(path) else ""
    return ProfileError(
        f"{where}: {error.what}",
        why=f"The key is {dotted}." if dotted else "",
        todo=error.todo or _TODO,
        context={"file": str(path), "line": int(line) if line.isdigit() else None, "key": dotted},
    )


def _yaml(path: Path) -> Any:
    from harness.core import strict_yaml

    return strict_yaml.load(path, ProfileError)


def _json(path: Path) -> Any:
    try:
        data = read_at_most(path, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ProfileError(f"{path} is larger than {MAX_BYTES} bytes.", todo="Name a comparison profile.")
        return load_strict(data, source=str(path))
    except OSError as error:
        raise ProfileError(
            f"Comparison profile {path} cannot be read.",
            why=error.strerror or str(error),
            todo="Name an existing file; ready profiles lie in profiles/.",
        ) from None
    except StrictJsonError as error:
        raise ProfileError(f"{path}: {error.what}", why=error.why, todo=_TODO) from None


def find_profile(text: str) -> Path:
    """The file that a profile's name or path stands for: a path as given, else a shipped profile of that name.

    Raises:
        ProfileError: neither exists; the shipped profiles are named.
    """
    from harness.core.resources import data_dir

    path = Path(text)
    if path.exists():
        return path
    shipped = {item.stem: item for item in sorted(data_dir("profiles").glob("*.yml"))}
    if text in shipped:
        return shipped[text]
    if path.parent.name == "profiles" and path.stem in shipped:
        return shipped[path.stem]
    raise ProfileError(
        f"There is no comparison profile {text!r}.",
        why="Shipped profiles: " + ", ".join(shipped) + ".",
        todo="Name a file or a shipped profile.",
    )
