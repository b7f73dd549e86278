"""Every bundle carries `standardized.json`, whatever the run came to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.errors import CaptureError
from harness.interop.attach import NAME, with_standardized
from harness.interop.mlia.postprocess import compat
from harness.interop.mlia.validate import check
from harness.results.assemble import assemble_context, assemble_failed
from harness.results.bundle import publish
from harness.results.reader import verify_bundle
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


@pytest.mark.parametrize("known", [True, False])
def test_a_failed_run_has_one_too(tmp_path: Path, known: bool) -> None:
    error = CaptureError("The capture ended early.")
    content = assemble_failed(error, context=make_context() if known else None, log="half a line")
    bundle = publish(tmp_path / "bundle", with_standardized(content))
    verify_bundle(bundle)
    result = check(json.loads((bundle / NAME).read_text()))["results"][0]
    assert result["status"] == "failed" and "breakdowns" not in result
    assert "The capture ended early." in " ".join(result["errors"])
