"""Reading an ETRecord: which source operators an instruction stands for. Standard library only."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core import strict_json
from harness.interop.errors import ForeignFormatError

MARKER = "ETRECORD_V0"
MAX_MEMBER = 64 * 1024 * 1024
_EDGE = "edge_dialect_exported_program"


@dataclass(frozen=True)
class SourceOperator:
    """A node of the lowered program: its unique name, operator, and where it came from."""

    name: str
    target: str
    handle: int | None
    stack_trace: str = ""
    module: str = ""


@dataclass(frozen=True)
class EtRecord:
    """What an ETRecord says of one method: instruction -> debug handles -> operators; delegates by instruction."""

    method: str
    handles: Mapping[int, tuple[int, ...]]
    operators: tuple[SourceOperator, ...]
    delegates: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def operators_of(self, instruction: int) -> tuple[SourceOperator, ...]:
        """Source operators of an instruction; empty when it maps to none."""
        wanted = set(self.handles.get(instruction, ()))
        return tuple(operator for operator in self.operators if operator.handle in wanted)

    def instructions_of(self, operator: SourceOperator) -> tuple[int, ...]:
        """Instructions that an operator's handle belongs to."""
        return tuple(sorted(key for key, value in self.handles.items() if operator.handle in value))


def _member(archive: zipfile.ZipFile, name: str, file: str) -> Any:
    try:
        info = archive.getinfo(name)
        if info.file_size > MAX_MEMBER:
            raise ForeignFormatError("A member of the ETRecord is too large.", file=file, field=name)
        with archive.open(info) as stream:
            data = stream.read(MAX_MEMBER + 1)
    except KeyError:
        return None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ForeignFormatError(
            "A member of the ETRecord is damaged.", file=file, field=name, why=str(error)[:200]
        ) from None
    if len(data) > MAX_MEMBER:
        raise ForeignFormatError("A member of the ETRecord is too large.", file=file, field=name)
    return strict_json.loads(data, source=f"{file}:{name}")


def _by_method(value: Any, name: str, file: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ForeignFormatError(
            "The ETRecord is damaged.", file=file, field=name, why="it does not hold one object per method"
        )
    return value


def read_etrecord(path: Path, method: str | None = None) -> EtRecord:
    """Read the record of one method.

    Args:
        path: the `.etrecord` or `.bin` file.
        method: which method; may be left out when the record holds one.

    Raises:
        ForeignFormatError: not an ETRecord, damaged, or several methods and none named.
    """
    file = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if MARKER not in archive.namelist():
                raise ForeignFormatError(
                    "This is not an ETRecord.", file=file, field=MARKER, why="the marker is missing"
                )
            handles = _by_method(_member(archive, "debug_handle_map", file), "debug_handle_map", file)
            delegates = _by_method(_member(archive, "delegate_map", file), "delegate_map", file)
            chosen = _method(sorted(handles), method, file)
            program = _member(archive, f"{_EDGE}/{chosen}", file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ForeignFormatError("The ETRecord cannot be read.", file=file, why=str(error)[:200]) from None
    return EtRecord(
        chosen,
        {_int(key, file): _handles(value, file) for key, value in handles.get(chosen, {}).items()},
        _operators(program, file),
        {_int(key, file): value for key, value in delegates.get(chosen, {}).items() if isinstance(value, dict)},
    )


def _method(known: list[str], method: str | None, file: str) -> str:
    if method is None and len(known) == 1:
        return known[0]
    if method in known and method is not None:
        return method
    raise ForeignFormatError(
        "Which method of the ETRecord?",
        file=file,
        field="debug_handle_map",
        why=f"it holds {', '.join(known) or 'none'}",
        todo="Name one of them with --method.",
    )


def _int(text: str, file: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ForeignFormatError(
            "The ETRecord is damaged.", file=file, field="debug_handle_map", why=f"instruction {text[:40]!r}"
        ) from None


def _handles(value: Any, file: str) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    if not all(type(item) is int for item in items):
        raise ForeignFormatError(
            "The ETRecord is damaged.", file=file, field="debug_handle_map", why="a handle is not an integer"
        )
    return tuple(items)


def _operators(program: Any, file: str) -> tuple[SourceOperator, ...]:
    if program is None:
        return ()
    try:
        nodes = program["graph_module"]["graph"]["nodes"]
        return tuple(_operator(node, index) for index, node in enumerate(nodes))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForeignFormatError(
            "The ETRecord is damaged.", file=file, field=f"{_EDGE}: nodes", why=f"{type(error).__name__}: {error}"[:200]
        ) from None


def _operator(node: Mapping[str, Any], index: int) -> SourceOperator:
    metadata = node.get("metadata") or {}
    handle = metadata.get("debug_handle")
    target = str(node["target"]).rsplit(".ops.", 1)[-1]
    trace, stack = metadata.get("stack_trace", ""), metadata.get("nn_module_stack", "")
    name = node.get("name")
    return SourceOperator(
        name if isinstance(name, str) and name.strip() else f"node_{index}",
        target,
        int(handle) if isinstance(handle, str | int) else None,
        trace if isinstance(trace, str) else "",
        stack.rsplit(";", 1)[-1].split(",")[1] if isinstance(stack, str) and stack.count(",") >= 2 else "",
    )
