"""Cost models fitted from runs on emulated boards, estimates from them, and advice on both."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.predict.training import MeasuredModel, read_measured
from harness.runner.run import RunOutcome
from tests.campaigns.cost_model import trial
from tests.e2e.conftest import DIGITS
from tests.e2e.test_cli import answer, harness
from tests.interop.peer import Peer
from tests.predict.measuring import BOARDS, KERNELS, measure
from tests.predict.networks import network

SEEDS = (0, 1, 6)
Bundles = Callable[[str, str], list[Path]]


@pytest.fixture(scope="session")
def networks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    directory = tmp_path_factory.mktemp("networks")
    files = [directory / f"network_{seed}.tflite" for seed in SEEDS]
    for seed, file in zip(SEEDS, files, strict=True):
        file.write_bytes(network(seed))
    return files


@pytest.fixture(scope="session")
def bundles(networks: list[Path]) -> Bundles:
    return lambda board, kernels: [measure(file, board, kernels, file.parent) for file in networks]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("board", BOARDS)
def test_half_of_the_layers_predicts_the_other_half(bundles: Bundles, board: str, kernels: str) -> None:
    models: list[MeasuredModel] = [read_measured(path) for path in bundles(board, kernels)]
    errors: list[float] = []
    inside: list[bool] = []
    for seed in range(10):
        found, held, _ = trial(models, seed)
        errors += found
        inside += held
    assert len(errors) > 100
    assert statistics.median(errors) <= 0.25
    assert 0.80 <= sum(inside) / len(inside) <= 0.97


def test_fit_estimate_and_compare(bundles: Bundles, networks: list[Path], tmp_path: Path) -> None:
    measured = bundles("mps3_an547", "portable")
    costs, predicted = tmp_path / "costs.json", tmp_path / "predicted"
    fitted = answer("model", "fit", *measured, "--out", costs)
    assert len(fitted["fits"]) == 1 and fitted["fits"][0]["conditions"]["board"] == "mps3_an547"
    assert harness("model", "fit", *measured, "--out", costs).returncode == 2, "it is there already"
    asked = (networks[0], "--board", "mps3_an547", "--model", costs)
    told = answer("estimate", *asked, "--against", measured[0], "--out", predicted)
    assert told["source"] == "predicted" and told["fit"]["models"][0]["layers"] > 5
    report = told["against"]
    assert report["measured_source"] == "emulated" and report["notes"] == []
    assert report["median_error"] < 0.2 and report["compared"] == len(told["operators"])
    assert report["total"]["inside"] is True and abs(report["total"]["error"]) < 0.2
    text = harness("estimate", *asked, "--against", measured[0]).stdout
    assert "total (predicted)" in text and "no verdict" in text
    verified = answer("results", "verify", predicted)
    assert verified["bundles"][0]["verified"] is True
    for pair in ((predicted, measured[0]), (measured[0], predicted)):
        refused = answer("compare", *pair, status=4)
        assert refused["error"]["code"] == "compare.not_comparable"
        assert "identity.source_mismatch" in json.dumps(refused["error"])
    assert harness("estimate", *asked, "--against", measured[1]).returncode == 4, "a bundle of another model"
    again = harness("model", "fit", predicted, "--out", tmp_path / "more.json")
    assert again.returncode == 2 and "is a prediction" in again.stderr


def test_what_was_not_fitted_has_no_number(bundles: Bundles, tmp_path: Path) -> None:
    costs, model = tmp_path / "costs.json", tmp_path / "dense.tflite"
    answer("model", "fit", *bundles("mps2_an386", "portable"), "--out", costs)
    model.write_bytes(network(5))  # dense layers beyond the range, and LOGISTIC or SOFTMAX
    told = answer("estimate", model, "--board", "mps2_an386", "--model", costs, "--out", tmp_path / "out")
    reasons = [item["predicted"]["reason"] for item in told["operators"] if item["predicted"]["cycles"] is None]
    assert reasons and all("Outside the fitted range" in text or "was fitted" in text for text in reasons)
    assert told["total_cycles"]["cycles"] is None and "Not predicted" in told["total_cycles"]["reason"]
    document = json.loads((tmp_path / "out/standardized.json").read_text())
    metrics = {item["name"]: item for item in document["results"][0]["metrics"]}
    assert metrics["total_cycles"]["availability"] == metrics["inference_time"]["availability"] == "unavailable"
    other = harness("estimate", model, "--board", "mps2_an386", "--model", costs, "--set", "optimization=O3")
    assert other.returncode == 2 and "optimization is O3" in other.stderr


def test_the_reference_takes_predicted_documents_and_advice(
    bundles: Bundles, networks: list[Path], tmp_path: Path
) -> None:
    answer("estimate", networks[1], "--board", "mps3_an547", "--kernels", "cmsis-nn", "--out", tmp_path / "predicted")
    modes = []
    with Peer() as peer:
        for place in (tmp_path / "predicted", bundles("mps3_an547", "cmsis-nn")[1]):
            document: dict[str, Any] = json.loads((place / "standardized.json").read_text())
            given = peer.ask(document)
            assert given["errors"] == [] and given["kept"] == document and "processed" in given
            result = document["results"][0]
            modes.append(result["mode"])
            assert {item["details"]["rule"] for item in result["advice"]} >= {"depthwise_then_pointwise"}
            assert all(item["details"]["evidence"] and item["affected_entity_ids"] for item in result["advice"])
    assert modes == ["predicted", "simulated"]


def test_advice_names_its_figures(measured: Callable[..., RunOutcome]) -> None:
    place = measured(DIGITS, "mps3_an547").bundle
    told = answer("advice", place)
    lanes = [item for item in told["advice"] if item["rule"] == "poor_lane_use"]
    assert lanes and all(item["evidence"]["lane_use"] == 0 and item["source"] == "emulated" for item in lanes)
    text = harness("advice", place).stdout
    assert 1 <= text.count("  [") <= 3 and "lane_use 0.5" in text
