"""A model, a cache of this test session, and one build that many tests look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.image.build import build
from harness.image.record import Build
from harness.plan.freeze import freeze
from harness.plan.record import Plan

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite"
BOARDS = ("mps2_an386", "mps3_an547")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the session's tests share, so that each source is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(shared_cache))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the model that a test may move or change."""
    return Path(shutil.copyfile(MODEL, tmp_path / "m.tflite"))


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> dict[str, Build]:
    """One build a board; not to be changed."""
    made = {}
    model = Path(shutil.copyfile(MODEL, tmp_path_factory.mktemp("model") / "m.tflite"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(shared_cache))
        for board in BOARDS:
            made[board] = build(freeze(model, board=board), tmp_path_factory.mktemp("reference") / board)
    return made


@pytest.fixture
def plan(reference: dict[str, Build]) -> Plan:
    """The plan of the first reference build."""
    return reference[BOARDS[0]].plan


@pytest.fixture
def copied(reference: dict[str, Build], tmp_path: Path) -> Path:
    """A copy of the first reference build that a test may change."""
    return Path(shutil.copytree(reference[BOARDS[0]].directory, tmp_path / "moved" / "build"))


@pytest.fixture
def fake_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script before the compiler on the PATH; `$REAL` in it is the real one, `$@` its arguments."""
    real = shutil.which("arm-none-eabi-gcc")
    assert real is not None

    def install(script: str) -> None:
        directory = tmp_path / "fake-bin"
        directory.mkdir(exist_ok=True)
        file = directory / "arm-none-eabi-gcc"
        file.write_text(f'#!/bin/sh\nREAL={real}\n{script}\nexec $REAL "$@"\n')
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")

    return install
