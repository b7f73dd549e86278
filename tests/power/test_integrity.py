"""Each fault is reported by its code, clean streams raise none, and a number beside a fault is right or not shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.power.gating import GatePlan
from harness.power.issues import POWER_ISSUES
from harness.power.report import PowerReport, analyse
from harness.power.waveform import WaveformWriter
from tests.power.faults import KINDS, Faulty, clean, faulty, wrong_number
from tests.power.support import capture, header


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_fault_is_found(kind: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 77])
    made = faulty(rng, kind)
    report = made.report(tmp_path / "w", rng)
    codes = {issue.code for issue in report.issues}
    if made.detectable:
        assert codes & set(made.expected), made.detail
    if kind == "two windows":
        assert report.per_inference == ()
    else:
        assert wrong_number(report, made.truth) == ""


@pytest.mark.parametrize("seed", range(15))
def test_a_clean_stream_raises_no_alarm(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, 78])
    part = clean(rng)
    report = Faulty("clean", "", part.words.tobytes(), part.truth, ()).report(tmp_path / "w", rng)
    assert report.issues == ()
    assert report.suppressed == ()
    assert len(report.per_inference) == 1


def test_a_suppressed_number_says_why(tmp_path: Path) -> None:
    part = clean(np.random.default_rng(3))
    report = analyse(
        capture(part.words.tobytes(), tmp_path / "w"),
        GatePlan(inferences=10, completed=9, firmware_s=(part.truth.duration_s,)),
    )
    assert report.per_inference == ()
    assert report.suppressed == ("power.count_mismatch",)
    assert "Planned 10, completed 9" in report.issues[0].message
    assert report.windows[0].energy_j > 0


def of_floats(
    path: Path, change: Callable[[np.ndarray, np.ndarray], None], plan: GatePlan, full_scale: float | None = None
) -> PowerReport:
    amperes, gate = np.full(20_000, 5e-3), np.zeros(20_000, "u1")
    gate[5000:15_000] = 1
    change(amperes, gate)
    writer = WaveformWriter(path, header(encoding="float32", calibration=None))
    writer.append(amperes.astype("f4"), None, gate)
    writer.close()
    from harness.power.waveform import Waveform

    return analyse(Waveform(path), plan, full_scale)


def _negative(amperes: np.ndarray, gate: np.ndarray) -> None:
    amperes[:] = -1e-3


def _jump(amperes: np.ndarray, gate: np.ndarray) -> None:
    amperes[9000] = 0.8


def _beyond(amperes: np.ndarray, gate: np.ndarray) -> None:
    amperes[9000:9100] = 100.0


def _early(amperes: np.ndarray, gate: np.ndarray) -> None:
    gate[:15_000] = 1


def _nothing(amperes: np.ndarray, gate: np.ndarray) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "plan", "code"),
    [
        (_negative, GatePlan(), "power.negative_charge"),
        (_jump, GatePlan(), "power.window_suspect_jump"),
        (_beyond, GatePlan(), "power.range_implausible"),
        (_early, GatePlan(), "power.gate_high_at_start"),
        (_nothing, GatePlan(minimum_s=1.0), "power.window_short"),
        (_nothing, GatePlan(windows=2), "power.missing_windows"),
        (_nothing, GatePlan(firmware_s=(0.11,)), "power.window_observer_mismatch"),
    ],
)
def test_a_check_has_its_code_and_suppresses(
    change: Callable[[np.ndarray, np.ndarray], None], plan: GatePlan, code: str, tmp_path: Path
) -> None:
    report = of_floats(tmp_path / "w", change, plan, 1.0)
    assert code in report.suppressed
    assert report.per_inference == ()
    assert of_floats(tmp_path / "ok", _nothing, GatePlan(firmware_s=(0.1,)), 1.0).issues == ()


def test_every_code_has_a_text_and_errors_suppress() -> None:
    assert all(spec.code == code and spec.text.endswith(".") for code, spec in POWER_ISSUES.items())
    assert all(spec.suppresses for spec in POWER_ISSUES.values() if spec.severity == "error")
    # A capture without a gate is what was asked for, and still says nothing of one inference.
    odd = [spec.code for spec in POWER_ISSUES.values() if spec.suppresses and spec.severity != "error"]
    assert odd == ["power.not_gated"]
