"""The toolchain `llvm`: the bytes of the host reference on both boards; a plan of another version is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import PlanError, ToolMissingError
from harness.image.build import build
from harness.plan import toolchain
from harness.plan.freeze import freeze
from harness.runner.run import RunOutcome
from tests.e2e.conftest import BOARDS, DIGITS


@pytest.mark.parametrize("board", BOARDS)
def test_no_byte_of_any_layer_differs(measured: Callable[..., RunOutcome], board: str) -> None:
    outcome = measured(DIGITS, board, toolchain="llvm")
    assert "clang version 19" in outcome.build.plan.toolchain.version
    assert "LLD 19" in outcome.build.plan.toolchain.version
    assert outcome.outputs.match is True, outcome.outputs.explain()
    assert all(layer.elements > 0 and layer.mismatched == 0 for layer in outcome.outputs.layers)
    assert outcome.valid


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    plan = freeze(DIGITS, board="mps3_an547", toolchain="llvm")
    assert build(plan, tmp_path / "a", cache=False).sha256 == build(plan, tmp_path / "b", cache=False).sha256


@pytest.mark.parametrize("name", ["gcc", "llvm"])
def test_another_version_than_the_plans_is_refused(tmp_path: Path, name: str) -> None:
    plan = freeze(DIGITS, board="mps2_an386", toolchain=name)
    other = replace(plan, toolchain=replace(plan.toolchain, version="compiler 1.0"))
    with pytest.raises(PlanError, match=r"toolchain\.version: frozen compiler 1\.0, now "):
        build(other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_linker_or_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for change in ({"linker": "no-such-linker"}, {"c_library": "/nowhere"}):
        spec = replace(toolchain.TOOLCHAINS["llvm"], **change)
        monkeypatch.setattr(toolchain, "TOOLCHAINS", {"llvm": spec})
        with pytest.raises(ToolMissingError) as raised:
            freeze(DIGITS, board="mps2_an386", toolchain="llvm")
        assert "picolibc-arm-none-eabi" in str(raised.value)
        monkeypatch.undo()
