"""Cost models of the emulated boards: measure seeded networks, fit, and see how far predictions are off.

`scripts/campaign cost-model [DIRECTORY]` writes `costs/emulated.json` again. Bundles stay in DIRECTORY, where a later
run finds them.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from harness.core.errors import HarnessError
from harness.predict.estimate import Predicted, predict_operators, total_of
from harness.predict.record import FittedModel, fit_models, fit_samples, sample_of
from harness.predict.training import MeasuredModel, read_measured
from tests.engines.real_models import DIGITS, shared_models, wake_word_models
from tests.predict.measuring import BOARDS, KERNELS, measure
from tests.predict.networks import network

ROOT = Path(__file__).parents[2]
COSTS = ROOT / "costs" / "emulated.json"
FITTED = 24
"""Networks of these many first seeds, and the digits example, are what the packaged file is fitted to."""
TRIALS = 60


def _measured(models: Sequence[Path], board: str, kernels: str, directory: Path) -> list[MeasuredModel]:
    return [read_measured(measure(model, board, kernels, directory)) for model in models]


def halves(models: Sequence[MeasuredModel], seed: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """A random half of the layers of each model, and the other half, as (model, operator) pairs."""
    draw = random.Random(seed)
    one: list[tuple[int, int]] = []
    other: list[tuple[int, int]] = []
    for number, model in enumerate(models):
        layers = sorted(model.cycles)
        draw.shuffle(layers)
        cut = (len(layers) + 1) // 2
        one += [(number, index) for index in layers[:cut]]
        other += [(number, index) for index in layers[cut:]]
    return one, other


def trial(models: Sequence[MeasuredModel], seed: int) -> tuple[list[float], list[bool], int]:
    """Fit one half of the layers, predict the other: errors, which lie in their interval, how many had none."""
    fitted, asked = halves(models, seed)
    fit = fit_samples(
        [sample_of(models[number], index, models[number].cycles[index]) for number, index in fitted],
        models[0].conditions,
        [FittedModel(model.model_name, model.model_sha256, 0) for model in models],
    )
    errors, inside, missing = [], [], 0
    for number, index in asked:
        found = predict_operators([models[number].operators[index]], fit)[0].predicted
        cycles = models[number].cycles[index]
        if found.cycles is None or found.low is None or found.high is None:
            missing += 1
            continue
        errors.append(abs(found.cycles / cycles - 1))
        inside.append(found.low <= cycles <= found.high)
    return errors, inside, missing


def _triples(models: Sequence[MeasuredModel], count: int) -> Iterator[tuple[int, list[MeasuredModel]]]:
    for seed in range(count):
        yield seed, random.Random(seed).sample(list(models), 3)


def _halves_report(name: str, models: Sequence[MeasuredModel]) -> int:
    medians, shares, all_inside, missing, asked = [], [], [], 0, 0
    refused = 0
    for seed, triple in _triples(models, TRIALS):
        try:
            errors, inside, absent = trial(triple, seed)
        except HarnessError:
            refused += 1
            continue
        medians.append(statistics.median(errors))
        shares.append(sum(inside) / len(inside))
        all_inside += inside
        missing += absent
        asked += absent + len(inside)
    share = sum(all_inside) / len(all_inside)
    print(
        f"{name}: half of the layers of three models, {len(medians)} draws: median absolute error "
        f"{statistics.median(medians):.1%} (worst draw {max(medians):.1%}), {share:.1%} in the 90 % interval "
        f"(quartiles of draws {', '.join(f'{q:.0%}' for q in statistics.quantiles(shares))}), "
        f"{missing} of {asked} outside of what was fitted, {refused} draws with too few layers"
    )
    return int(statistics.median(medians) > 0.25 or not 0.80 <= share <= 0.97)


def _left_out_report(name: str, models: Sequence[MeasuredModel]) -> None:
    """Totals of whole models that were left out."""
    errors, inside, missing = [], 0, 0
    for number, model in enumerate(models):
        fit = fit_models([*models[:number], *models[number + 1 :]]).fits[0]
        total: Predicted = total_of(predict_operators(model.operators, fit))
        if total.cycles is None or total.low is None or total.high is None or model.total is None:
            missing += 1
            continue
        errors.append(abs(total.cycles / model.total - 1))
        inside += total.low <= model.total <= total.high
    print(
        f"{name}: totals of {len(errors)} models left out one by one: median absolute error "
        f"{statistics.median(errors):.1%}, worst {max(errors):.1%}, {inside} in the interval, {missing} unavailable"
    )


def main(arguments: list[str]) -> int:
    """Measure, fit and report; 1 when a bound is missed."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(arguments[0]) if arguments else Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        networks = []
        for seed in range(FITTED):
            networks.append(directory / f"network_{seed}.tflite")
            networks[-1].write_bytes(network(seed))
        fitted: list[MeasuredModel] = []
        missed = 0
        for board in BOARDS:
            for kernels in KERNELS:
                models = _measured([DIGITS, *networks], board, kernels, directory)
                fitted += models
                name = f"{board} {kernels}"
                missed += _halves_report(name, models)
                _left_out_report(name, models)
                others = [*shared_models(), *islice(wake_word_models(), 2)]
                if len(others) >= 2:
                    real = [*_measured([DIGITS, *others], board, kernels, directory)]
                    missed += _halves_report(f"{name}, models of others", real)
        costs = fit_models(fitted)
        COSTS.parent.mkdir(exist_ok=True)
        costs.save(COSTS)
        print(f"{COSTS.relative_to(ROOT)}: {len(costs.fits)} fits, {costs.identity}")
    return int(missed > 0)
