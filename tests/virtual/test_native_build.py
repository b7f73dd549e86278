"""Native helpers are compiled once, and a compiler that is missing or refuses is a clear error."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from harness.core.errors import BuildError, ToolMissingError
from harness.virtual.native_build import COMPILER_VARIABLE, build_shared, jlink_library

GOOD = '__attribute__((visibility("default"))) int answer(void) {\n    return 42;\n}\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A directory with one C file."""
    directory = tmp_path / "sources"
    directory.mkdir()
    (directory / "answer.c").write_text(GOOD)
    return directory


def test_made_once_and_again_when_a_source_changes(sources: Path) -> None:
    first = build_shared("libanswer.so", sources)
    made = first.stat().st_mtime_ns
    assert build_shared("libanswer.so", sources) == first and first.stat().st_mtime_ns == made
    assert ctypes.CDLL(str(first)).answer() == 42
    (sources / "answer.c").write_text(GOOD.replace("42", "43"))
    second = build_shared("libanswer.so", sources)
    assert second != first
    assert ctypes.CDLL(str(second)).answer() == 43


def test_a_damaged_helper_is_made_again(sources: Path) -> None:
    made = build_shared("libanswer.so", sources)
    good = made.read_bytes()
    made.write_bytes(good[: len(good) // 2])
    assert build_shared("libanswer.so", sources).read_bytes() == good


def test_no_compiler(sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="compiler") as caught:
        build_shared("libanswer.so", sources)
    assert "apt-get install" in caught.value.todo
    monkeypatch.setenv(COMPILER_VARIABLE, "no-such-compiler")
    with pytest.raises(ToolMissingError, match="compiler") as caught:
        build_shared("libanswer.so", sources)
    assert "no-such-compiler" in caught.value.why


def test_a_compiler_that_refuses_leaves_nothing(sources: Path, cache: Path) -> None:
    (sources / "answer.c").write_text("int answer(void) { int unused; return 42; }\n")
    with pytest.raises(BuildError, match="libanswer") as caught:
        build_shared("libanswer.so", sources)
    assert "unused" in caught.value.why
    assert list(cache.rglob("*.so")) == []
    (sources / "answer.c").write_text(GOOD)
    assert build_shared("libanswer.so", sources).is_file()


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_the_jlink_library_compiles_without_warnings(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPILER_VARIABLE, compiler)
    library = ctypes.CDLL(str(jlink_library()))
    assert library.JLINKARM_GetDLLVersion() == 79600
    assert not hasattr(library, "vj_memory_read")
