"""Seeded noise of the virtual bench: the same draws from seed and boot, in the shape that was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.bench.inventory import BenchFileError, load_bench
from harness.bench.noise import BootNoise, NoiseSettings, NoiseSource
from harness.capture.disturb import disturbed
from tests.results.builders import make_capture


def factors(settings: NoiseSettings, boots: int = 4000) -> np.ndarray:
    return np.array([(BootNoise(settings, boot).window() - 1) * 100 for boot in range(boots)])


def test_a_boot_is_a_function_of_seed_and_ordinal() -> None:
    settings = NoiseSettings(seed=3, window_pct=1, counters_pct=2)
    source = NoiseSource(settings)
    first, second = source.boot(), source.boot()
    assert (first.ordinal, second.ordinal) == (0, 1)
    assert first.window() == BootNoise(settings, 0).window() != second.window()
    assert np.array_equal(second.layers(5), BootNoise(settings, 1).layers(5))
    assert len(set(second.layers(5))) == 5
    assert BootNoise(NoiseSettings(seed=4, window_pct=1), 0).window() != first.window()


def test_spread_outliers_modes_and_tails_are_as_asked_for() -> None:
    assert factors(NoiseSettings(seed=1, window_pct=1)).std() == pytest.approx(1, rel=0.1)
    mixed = factors(NoiseSettings.model_validate({"seed": 1, "window_pct": 1, "outliers": {"share": 0.05, "sd": 10}}))
    assert 0.02 < np.mean(np.abs(mixed) > 5) < 0.06
    modes = factors(NoiseSettings.model_validate({"seed": 1, "window_pct": 1, "modes": {"share": 0.2, "sd": 20}}))
    assert np.mean(modes > 10) == pytest.approx(0.2, abs=0.03)
    heavy = factors(NoiseSettings(seed=1, window_pct=0.1, tails="cauchy"))
    assert np.abs(heavy).max() > 20 * np.median(np.abs(heavy))
    assert (factors(NoiseSettings(seed=1, window_pct=50, tails="cauchy")) > -100).all()


def test_drift_and_walk_are_common_to_all_figures() -> None:
    drift = NoiseSettings.model_validate({"seed": 1, "window_pct": 1e-3, "drift": {"sd": 1000, "boots": 10}})
    assert [round(value, 3) for value in factors(drift, 11)[[0, 5, 10]]] == pytest.approx([0, 0.5, 1], abs=0.01)
    walk = NoiseSettings(seed=1, window_pct=1, counters_pct=1, walk_sd=100)
    boot = BootNoise(walk, 30)
    assert boot.layers(1)[0] == pytest.approx(boot.window(), abs=0.1)


def test_a_disturbed_capture_stays_consistent() -> None:
    settings = NoiseSettings(seed=1, window_pct=1, counters_pct=1, tick=16)
    plain = make_capture()
    noisy = disturbed(plain, BootNoise(settings, 0))
    assert plain.clean is not None and noisy.clean is not None
    assert noisy.clean.ticks == noisy.clean.samples.sum() != plain.clean.ticks
    assert not (noisy.clean.samples % 16).any()
    assert not np.array_equal(noisy.passes[0].samples, plain.passes[0].samples)
    assert noisy.raw == plain.raw and noisy.inferences == plain.inferences
    assert (
        disturbed(plain, BootNoise(NoiseSettings(seed=1), 0)).passes[0].samples.tolist()
        == plain.passes[0].samples.tolist()
    )


def test_bench_files_ask_for_noise(tmp_path: Path) -> None:
    path = tmp_path / "bench.yaml"
    path.write_text("version: 1\nnoise: {seed: 7, window_pct: 1}\n")
    load_bench(path)
    for text in ("{window_pct: 1}", "{seed: 1, colour: red}", "{seed: 1, window_pct: -1}", "5"):
        path.write_text(f"version: 1\nnoise: {text}\n")
        with pytest.raises(BenchFileError, match=r"bench\.yaml:2"):
            load_bench(path)


@pytest.mark.parametrize(
    ("noise", "field"),
    [
        ('seed: "1"', "noise.seed"),
        ("seed: true", "noise.seed"),
        ("seed: 1, energy_pct: .nan", "noise.energy_pct"),
        ("seed: 1, tick: 4294967296", "noise.tick"),
        ("seed: 1, walk_sd: 1, first_boot: 30000000", "noise.first_boot"),
        ("seed: 1, drift: {sd: 1, boots: 100000000000000000000}", "noise.drift.boots"),
    ],
)
def test_noise_that_cannot_be_drawn_is_refused_when_the_bench_is_read(tmp_path: Path, noise: str, field: str) -> None:
    (tmp_path / "bench.yaml").write_text(f"version: 1\nnoise: {{{noise}}}\n")
    with pytest.raises(BenchFileError, match=field):
        load_bench(tmp_path / "bench.yaml")
