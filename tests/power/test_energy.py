"""Energy of windows with known content, its parts of uncertainty, and what per-inference numbers rest on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.power.distribution import FloatDistribution
from harness.power.energy import Uncertainty
from harness.power.gating import GatePlan, find_gates
from harness.power.report import analyse
from harness.power.waveform import Accuracy, Block, Gap, Waveform, WaveformWriter
from harness.virtual.ppk2_signal import Encoder
from tests.campaigns.power import calibration as calibration_campaign
from tests.power.support import VOLTS, capture, header, options, window, words_of


@pytest.mark.parametrize("seed", range(12))
def test_energy_of_100_ms_at_5_ma_is_within_a_thousandth(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    truth = window(rng, rng.uniform(0.1, 0.3), rng.uniform(5e-3, 80e-3), ripple=0.1)
    words = words_of([truth], Encoder(options(seed=seed)))
    report = analyse(capture(words.tobytes(), tmp_path / "w"), GatePlan(firmware_s=(truth.duration_s,)))
    found = report.windows[0]
    assert report.issues == ()
    assert found.range_changes <= 10
    assert found.energy_j == pytest.approx(truth.energy_j, rel=1e-3)
    assert found.mean_a == pytest.approx(truth.energy_j / truth.duration_s / VOLTS, rel=2e-3)


def test_the_interval_holds_the_error_in_nine_to_ten_of_ten_windows() -> None:
    inside, ratio = calibration_campaign(seed=20, windows=60)
    assert 0.88 <= inside <= 1.0
    assert ratio <= 3.0


def test_quantiles_are_those_of_all_samples_but_the_marked(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    truth = window(rng, 0.05, 20e-3, ripple=0.2)
    waveform = capture(words_of([truth], Encoder(options())).tobytes(), tmp_path / "w")
    found = analyse(waveform, GatePlan()).windows[0]
    (block,) = waveform.blocks()
    inside = block.amperes[found.start + 3 : found.end]
    assert found.range_changes == 1
    assert found.median_a == pytest.approx(np.quantile(inside, 0.5, method="inverted_cdf"), rel=1e-12)
    assert found.p95_a == pytest.approx(np.quantile(inside, 0.95, method="inverted_cdf"), rel=1e-12)
    assert found.p99_a == pytest.approx(np.quantile(inside, 0.99, method="inverted_cdf"), rel=1e-12)
    assert found.peak_a == pytest.approx(inside.max(), rel=1e-12)


def test_floats_have_quantiles_to_a_ten_thousandth() -> None:
    values = np.random.default_rng(1).normal(1e-3, 2e-3, 20_000)
    block = Block(0, values, 3.3, np.zeros(len(values), "u1"))
    distribution = FloatDistribution()
    distribution.add(block, 0, 15_000, np.empty(0, np.int64))
    distribution.add(block, 15_000, 20_000, np.empty(0, np.int64))
    got = distribution.quantiles((0.05, 0.5, 0.95, 1.0))
    assert got == pytest.approx(np.quantile(values, (0.05, 0.5, 0.95, 1.0), method="inverted_cdf"), rel=1.3e-4)
    assert distribution.power() == pytest.approx(3.3 * values.sum())


def float_waveform(path: Path, amperes: np.ndarray, gate: np.ndarray, **close: object) -> Waveform:
    writer = WaveformWriter(path, header(encoding="float32", calibration=None))
    writer.append(amperes.astype("f4"), None, gate.astype("u1"))
    return Waveform(writer.close(**close))  # type: ignore[arg-type]


def test_energy_and_duration_have_the_same_bounds_whatever_flows_outside(tmp_path: Path) -> None:
    gate = np.zeros(1000)
    gate[400:600] = 1
    for name, outside in (("low", 0.0), ("high", 50e-3)):
        # The rise lies in the first high sample's interval: half of it is outside.
        amperes = np.where(gate, 10e-3, outside)
        amperes[400] = (10e-3 + outside) / 2
        found = analyse(float_waveform(tmp_path / name, amperes, gate), GatePlan()).windows[0]
        assert found.duration_s == pytest.approx(2e-3)
        assert found.energy_j == pytest.approx(10e-3 * VOLTS * 2e-3, rel=1e-6)


def test_the_edges_alone_make_the_interval_of_a_constant_current(tmp_path: Path) -> None:
    gate = np.zeros(1000)
    gate[400:600] = 1
    found = analyse(float_waveform(tmp_path / "w", np.full(1000, 1e-3), gate), GatePlan()).windows[0]
    assert found.uncertainty == Uncertainty(edges=pytest.approx(1e-3 * VOLTS * 1e-5 * (2 / 12) ** 0.5), calibration=0.0)


def test_an_unknown_calibration_is_said_and_a_known_one_counts(tmp_path: Path) -> None:
    gate = np.zeros(1000)
    gate[400:600] = 1
    unknown = WaveformWriter(tmp_path / "u", header(encoding="float32", calibration=None, accuracy=Accuracy()))
    known = WaveformWriter(
        tmp_path / "k", header(encoding="float32", calibration=None, accuracy=Accuracy(relative=0.02, offset_a=1e-6))
    )
    reports = []
    for writer in (unknown, known):
        writer.append(np.full(1000, 1e-3, "f4"), None, gate.astype("u1"))
        reports.append(analyse(Waveform(writer.close()), GatePlan()))
    assert not reports[0].calibrated and reports[0].windows[0].uncertainty.calibration is None
    assert reports[1].calibrated
    assert reports[1].windows[0].energy_u95_j == pytest.approx(0.02 * reports[1].windows[0].energy_j, rel=0.05)


def test_repeats_of_a_label_share_a_line_and_their_spread_counts(tmp_path: Path) -> None:
    gate, amperes = np.zeros(6000), np.full(6000, 1e-3)
    for number, level in enumerate((10e-3, 11e-3, 12e-3, 5e-3)):
        at = 1000 + 1000 * number
        gate[at : at + 500] = 1
        amperes[at : at + 500] = level
    plan = GatePlan(windows=4, inferences=5, labels=("conv", "conv", "conv", "fc"))
    conv, fc = analyse(float_waveform(tmp_path / "w", amperes, gate), plan).per_inference
    assert (conv.label, conv.windows, fc.label, fc.windows) == ("conv", 3, "fc", 1)
    assert conv.energy_j == pytest.approx(11e-3 * VOLTS * 5e-3 / 5, rel=1e-3)
    # Student's t for three repeats: 4.303 standard errors.
    assert conv.u95_j == pytest.approx(4.303 * 1e-3 / 3**0.5 * VOLTS * 5e-3 / 5, rel=0.01)
    assert fc.u95_j < conv.u95_j / 20


def test_idle_is_shown_and_not_subtracted(tmp_path: Path) -> None:
    truth = window(np.random.default_rng(1), 0.2, 10e-3)
    waveform = capture(words_of([truth], Encoder(options())).tobytes(), tmp_path / "w")
    report = analyse(waveform, GatePlan(inferences=4))
    assert report.idle_a == pytest.approx(1.5e-3, rel=1e-3)
    assert report.per_inference[0].energy_j == pytest.approx(truth.energy_j / 4, rel=1e-3)


def test_gates_leave_out_glitches_and_open_windows() -> None:
    gates = find_gates([(100, 1), (102, 0), (200, 1), (300, 0), (302, 1), (400, 0), (500, 1)], 0, 600)
    assert [(w.start, w.end) for w in gates.windows] == [(200, 400)]
    assert gates.glitches == (100, 300)
    assert gates.high_at_end and not gates.high_at_start


def test_a_gap_at_an_edge_is_told_from_one_inside() -> None:
    gaps = (Gap(150, 7, "lost", True), Gap(200, 3, "lost", True), Gap(50, 2, "lost", True))
    (found,) = find_gates([(100, 1), (200, 0)], 0, 300, gaps).windows
    assert (found.lost, found.edge_lost, found.ambiguous, found.samples) == (7, 3, 2, 107)
