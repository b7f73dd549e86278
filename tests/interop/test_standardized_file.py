"""Every bundle carries `standardized.json`, whatever the run came to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import CaptureError
from harness.interop.attach import NAME, with_standardized
from harness.interop.bundle import standardized, tables
from harness.interop.mlia.postprocess import compat
from harness.interop.mlia.validate import check
from harness.interop.power import layer_energies, power_metrics
from harness.results.assemble import assemble_context, assemble_failed
from harness.results.bundle import publish
from harness.results.reader import records_of, verify_bundle
from tests.interop.peer import Peer
from tests.results.builders import make_capture, make_context


@pytest.mark.parametrize(("source", "mode"), [("silicon", "measured"), ("emulated", "simulated")])
def test_the_file_says_what_the_bundle_says(tmp_path: Path, source: str, mode: str) -> None:
    content = with_standardized(assemble_context(make_capture(), make_context(source=source)).content)
    bundle = publish(tmp_path / "bundle", content)
    verify_bundle(bundle)
    document = json.loads((bundle / NAME).read_text())
    check(document)
    result = document["results"][0]
    assert result["mode"] == mode and result["status"] != "failed"
    owners = {item["entity_id"] for item in result["breakdowns"]}
    assert owners and owners <= {item["id"] for item in result["entities"]}
    projections = document["extensions"]["harness"]["projections"][0]
    assert not owners & {item["entity_id"] for item in projections["projected"]}
    with Peer() as peer:
        answer = peer.ask(document)
    assert answer["errors"] == [] and answer["kept"] == document and answer["processed"] == compat(document)


POWER = {
    "measurement_scope": "clean-window", "integrity": "valid", "monitor": "ppk2", "avg_power_w": 0.02, "energy_j": 0.5,
    "energy_per_inference_j": 1.25e-3, "inferences_per_joule": 800.0, "energy_per_inference_u95_j": 4e-5,
    "layers": [{"label": "layer 1", "energy_j": 2e-4}, {"label": "idle", "energy_j": 1.0}],
}  # fmt: skip


def test_power_and_energy_go_through_the_reference_and_back() -> None:
    content = assemble_context(make_capture(), make_context()).content
    run = records_of(content.manifest(), {file.path: file.data for file in content.files})
    run = replace(run, summary={**run.summary, "power": POWER})
    document = standardized(run)
    with Peer() as peer:
        answer = peer.ask(document)
    assert answer["errors"] == [] and answer["kept"] == document
    assert tables(answer["processed"]).summary["power"] == POWER, "with extensions nothing is lost"
    bare = {key: value for key, value in answer["kept"].items() if key != "extensions"}
    result = check(bare)["results"][0]
    metrics = {item["name"]: item for item in result["metrics"]}
    units = {"avg_power_w": "W", "energy_j": "J", "energy_per_inference_j": "J", "inferences_per_joule": "inferences/J"}
    for name, unit in units.items():
        found = metrics[f"power.{name}"]
        assert (found["value"], found["unit"], found["qualifiers"]["monitor"]) == (POWER[name], unit, "ppk2")
    energies = {
        item["entity_id"]: metric["value"]
        for item in result["breakdowns"]
        for metric in item["metrics"]
        if metric["name"] == "power.energy_j"
    }
    assert energies == {"source_operator/operator/1": 2e-4}


def test_energy_that_was_not_derived_has_its_reason() -> None:
    found = power_metrics({"power": {"per_inference_metrics_omitted": "the gate moved"}})
    told = {item["name"]: item for item in found}
    assert told["power.energy_per_inference_j"]["reason"] == "Not derived: the gate moved."
    assert power_metrics({}) == [] and layer_energies({}) == {}


@pytest.mark.parametrize("known", [True, False])
def test_a_failed_run_has_one_too(tmp_path: Path, known: bool) -> None:
    error = CaptureError("The capture ended early.")
    content = assemble_failed(error, context=make_context() if known else None, log="half a line")
    bundle = publish(tmp_path / "bundle", with_standardized(content))
    verify_bundle(bundle)
    result = check(json.loads((bundle / NAME).read_text()))["results"][0]
    assert result["status"] == "failed" and "breakdowns" not in result
    assert "The capture ended early." in " ".join(result["errors"])
