"""Documentation that can be checked: generated tables are current, links lead somewhere, nothing private leaks."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])


def docs_tables():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "scripts/docs_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(docs_tables().DOCUMENTS))
def test_generated_tables_are_current(name: str) -> None:
    written = docs_tables().DOCUMENTS[name]()
    assert (ROOT / "docs" / name).read_text() == written, "run .venv/bin/python scripts/docs_tables.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_tracked_files_name_no_machine_paths() -> None:
    pattern = r"/(tmp|root|work|farm|opt)/[a-z]|index-url"
    found = subprocess.run(
        ["git", "grep", "-nIE", pattern, "--", ".", ":!tests/test_docs.py"], cwd=ROOT, capture_output=True, text=True
    )
    assert found.stdout == ""
