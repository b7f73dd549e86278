"""YAML without surprises, for files that people write.

Repeated keys, aliases and tags are refused, keys stay the text that was written (`on:` is the key "on"), dates stay
text, and every value remembers its line so that an error can name it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.core.errors import UsageError
from harness.core.files import read_at_most

MAX_BYTES = 4 * 1024 * 1024
Location = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """The safe loader without timestamps and without aliases, which can blow a small file up without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class YamlDocument:
    """A parsed file: its value and the line (from 1) of each value by its path of keys and indices."""

    source: str
    value: Any
    lines: Mapping[Location, int]

    def where(self, location: Sequence[str | int]) -> str:
        """`file:line` of the value, or of its nearest ancestor that the file holds."""
        path = tuple(location)
        while path and path not in self.lines:
            path = path[:-1]
        line = self.lines.get(path)
        return f"{self.source}:{line}" if line is not None else self.source


def load(path: Path, error: type[UsageError] = UsageError) -> YamlDocument:
    """Read one YAML document; an instance of `error` when it is missing, too large or not strict."""
    try:
        raw = read_at_most(path, MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise error(f"{path} is larger than {MAX_BYTES} bytes.", todo="Check that it is the file you meant.")
        text = raw.decode("utf-8")
    except OSError as fault:
        raise error(f"{path} cannot be read.", why=fault.strerror or str(fault), todo="Check the path.") from None
    except UnicodeDecodeError:
        raise error(f"{path} is not UTF-8 text.", todo="Check that it is the file you meant.") from None
    return loads(text, source=str(path), error=error)


def loads(text: str, *, source: str, error: type[UsageError] = UsageError) -> YamlDocument:
    """Parse one YAML document from text; see `load`."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            lines: dict[Location, int] = {}
            value = None if node is None else _construct(loader, node, (), lines, source, error)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as fault:
        line = f":{fault.problem_mark.line + 1}" if fault.problem_mark else ""
        raise error(f"{source}{line} is not YAML.", why=fault.problem or "", todo="Correct this line.") from None
    except (yaml.YAMLError, ValueError) as fault:
        raise error(f"{source} is not YAML.", why=str(fault)[:200], todo="Correct the file.") from None
    except RecursionError:
        raise error(f"{source} is nested too deeply.", todo="Correct the file.") from None
    return YamlDocument(source, value, lines)


def _construct(
    loader: _Loader,
    node: yaml.Node,
    at: Location,
    lines: dict[Location, int],
    source: str,
    error: type[UsageError],
) -> Any:
    line = node.start_mark.line + 1
    lines[at] = line
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = f"{source}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise error(f"{where}: a key must be plain text.", todo="Correct this line.")
            key = str(key_node.value)
            if key in out:
                raise error(f"{where} repeats the key {key!r}.", todo="Keep one of the two.")
            out[key] = _construct(loader, value_node, (*at, key), lines, source, error)
            lines[(*at, key)] = key_node.start_mark.line + 1
        return out
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_construct(loader, item, (*at, i), lines, source, error) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.tag == _implied_tag(loader, node):
        return loader.construct_object(node)
    raise error(f"{source}:{line}: the tag {node.tag!r} is not allowed.", todo="Use plain mappings, lists and values.")


def _implied_tag(loader: _Loader, node: yaml.ScalarNode) -> str:
    plain = node.style is None
    return str(loader.resolve(yaml.ScalarNode, node.value, (plain, not plain)))  # type: ignore[no-untyped-call]
