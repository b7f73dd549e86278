"""A room imports only from rooms below it, and start-up imports next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import harness

PACKAGE = Path(harness.__file__).parent
ROOMS = (
    "cli", "pytest_plugin", "report", "judge", "runner", "interop", "predict", "advice", "results", "power", "capture",
    "bench", "probe", "image", "plan", "engines", "board", "model", "virtual", "core",
)  # fmt: skip
ALLOWED_UPWARD = {
    # The launcher reads the board's descriptor; nothing else in the room knows of boards.
    ("virtual", "board"),
}


def imports_of(file: Path) -> set[str]:
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "harness" and len(parts) > 1 and (PACKAGE / parts[1]).is_dir():
                rooms.add(parts[1])
    return rooms


@pytest.mark.parametrize("room", [room for room in ROOMS if (PACKAGE / room).is_dir()])
def test_rooms_import_downwards_only(room: str) -> None:
    wrong = [
        f"{file.relative_to(PACKAGE)} imports {other}"
        for file in sorted((PACKAGE / room).rglob("*.py"))
        for other in sorted(imports_of(file))
        if ROOMS.index(other) < ROOMS.index(room) and (room, other) not in ALLOWED_UPWARD
    ]
    assert wrong == []


def test_only_the_bench_imports_the_virtual_room() -> None:
    users = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if "virtual" in imports_of(file) and file.relative_to(PACKAGE).parts[0] != "virtual"
    }
    assert users == {"bench"}


def test_every_room_is_known() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(ROOMS)


@pytest.mark.parametrize("module", ["harness", "harness.pytest_plugin"])
def test_start_up_imports_the_standard_library_and_pytest_only(module: str) -> None:
    code = (
        f"import pytest, sys; before = set(sys.modules); import {module}; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if not name.startswith("_")] == ["harness"]


def test_public_names_resolve() -> None:
    missing = []
    for name in harness.__all__:
        try:
            getattr(harness, name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name}: {error}")
    assert missing == []
