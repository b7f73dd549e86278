"""`harness.profile`: settings of this host reach the stage they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.core.errors import DeadlineError, SettingsError, UsageError

MODEL = Path(__file__).resolve().parents[2] / "examples/digits/digits.tflite"


def settings(tmp_path: Path, **more: Any) -> dict[str, Any]:
    quick = {"iterations": 1, "warmup": 0, "window_mode": "fixed", "out": str(tmp_path / "bundle")}
    return {"model": MODEL, "board": "mps2_an386", **quick, **more}


def test_board_types_of_the_caller_are_known_to_every_stage(tmp_path: Path) -> None:
    (tmp_path / "mine386.yml").write_text("name: mine386\nbased_on: mps2_an386\ntitle: mine\n")
    result = harness.profile(**settings(tmp_path, board="mine386", boards_path=[str(tmp_path)]))
    assert result.total_cycles and result.metadata.platform.board == "mine386"


def test_the_deadline_of_the_build_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(DeadlineError, match="the compiler"):
        harness.profile(**settings(tmp_path, deadlines={"build": 0.001}))
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("more", [{"deadlines": {"boto": 1.0}}, {"serial": "x"}, {"nonsense": 1}])
def test_wrong_settings_are_refused_before_anything_is_built(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        harness.profile(**settings(tmp_path, **more))


def test_an_existing_bundle_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    with pytest.raises(UsageError, match="already"):
        harness.profile(**settings(tmp_path))
