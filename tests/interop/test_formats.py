"""Import recognises by content; export states its losses; a bundle goes through MLIA and back unchanged."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli._main import run_cli
from harness.core.errors import HarnessError, ModelError, UsageError
from harness.core.frozen import thaw
from harness.interop.bundle import standardized, tables
from harness.interop.errors import ForeignFormatError
from harness.interop.export import LOSSES, export
from harness.interop.formats import ImportOptions, failed_document, import_paths, recognise
from harness.interop.mlia.postprocess import compat, postprocess
from harness.interop.mlia.validate import check
from harness.interop.vela.run import estimate
from harness.interop.vela.standard import map_layers, standard_document
from harness.interop.vela.tables import VelaLayer, read_tables
from harness.model.load import load_model
from harness.results.reader import read_bundle, verify_bundle
from tests.interop.graphs import random_document
from tests.interop.peer import Peer
from tests.interop.samples import capture, etdump, etrecord
from tests.results.builders import make_bundle, make_context

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundle") / "b")


@pytest.fixture(scope="module")
def vela() -> Any:
    """One estimate, and the compiler's version."""
    return estimate(
        DIGITS, accelerator="ethos-u55-128", system_config="Ethos_U55_High_End_Embedded", memory_mode="Shared_Sram"
    )


def test_each_format_is_recognised_whatever_its_name(tmp_path: Path, bundle: Path) -> None:
    tree = capture(tmp_path / "c", {0: [[1]]}, mode=0)
    (tmp_path / "x.json").write_bytes(etdump([("Execute", [("OPERATOR_CALL", 0, 0, 1, 2)])]))
    record = etrecord(tmp_path / "x.etdp", {"forward": {0: 1}}, [("mul", "aten.mul.Tensor", 1)])
    (tmp_path / "x.bin").write_text(json.dumps(random_document(1)))
    found = {path: recognise(path).name for path in (tree, tmp_path / "x.json", record, tmp_path / "x.bin", bundle)}
    assert list(found.values()) == ["capture", "etdump", "etdump", "mlia", "hpx"]
    both = import_paths([record, tmp_path / "x.json"])
    assert [b["entity_id"] for b in both.document["results"][0]["breakdowns"]] == ["source_operator/mul"]


def test_what_is_nothing_known_is_refused(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF")
    (tmp_path / "empty").write_bytes(b"")
    for path in (tmp_path / "x", tmp_path / "empty", tmp_path / "missing", tmp_path):
        with pytest.raises(ForeignFormatError) as caught:
            import_paths([path])
        assert str(path) in caught.value.context["file"]
        check(failed_document(caught.value, [path]))
    (tmp_path / "doc").write_text(json.dumps(random_document(1)))
    with pytest.raises(ForeignFormatError, match="different formats"):
        import_paths([bundle, tmp_path / "doc"])


def test_a_bundle_goes_through_mlia_and_back(bundle: Path, tmp_path: Path) -> None:
    run = read_bundle(bundle)
    doc = standardized(run)
    with Peer() as peer:
        answer = peer.ask(doc)
        assert answer["errors"] == [] and answer["kept"] == doc and answer["processed"] == compat(doc)
        back = tables(answer["processed"])
    assert dict(back.summary) == thaw(run.summary) and dict(back.metadata) == thaw(run.metadata)
    assert [dict(row) for row in back.layers] == [thaw(row) for row in run.layers] and back.source == run.source
    bare = {key: value for key, value in doc.items() if key != "extensions"}
    res = check(bare)["results"][0]
    assert len(res["breakdowns"]) == len(run.layers)
    cycles = [m["value"] for b in res["breakdowns"] for m in b["metrics"] if m["name"] == "op_cycles"]
    assert cycles == [row["cycles"] for row in run.layers]
    with pytest.raises(ForeignFormatError, match="carries no bundle"):
        tables(bare)


def test_the_mode_is_that_of_the_source(tmp_path: Path) -> None:
    for source, mode in (("silicon", "measured"), ("emulated", "simulated")):
        path = make_bundle(tmp_path / source, context=make_context(source=source))
        assert import_paths([path]).document["results"][0]["mode"] == mode


@pytest.mark.parametrize("form", list(LOSSES))
def test_exports_of_a_bundle(bundle: Path, tmp_path: Path, form: str) -> None:
    done = export(import_paths([bundle]), bundle, tmp_path / "out", form)
    assert done.losses and done.path.exists()
    if form == "hpx":
        verify_bundle(done.path)
    elif form == "mlia":
        again = import_paths([done.path])
        assert again.document["results"] == import_paths([bundle]).document["results"]
        assert "projections" in again.document["extensions"]["harness"]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(done.path.read_text())))
        assert {row["metric"] for row in rows} >= {"op_cycles"} and all(row["unit"] for row in rows)
    else:
        results = json.loads(done.path.read_text())["main"]["results"]
        assert len(results) == len({row["source_index"] for row in read_bundle(bundle).layers})
    with pytest.raises(UsageError):
        export(import_paths([bundle]), bundle, tmp_path / "out", form)


def test_exports_that_cannot_be(bundle: Path, tmp_path: Path) -> None:
    tree = capture(tmp_path / "c", {0: [[1]]}, mode=0)
    for form, source in (("hpx", tree), ("model-explorer", tree), ("xml", bundle)):
        with pytest.raises(HarnessError):
            export(import_paths([source]), source, tmp_path / "out", form)
        assert not (tmp_path / "out").exists()


def test_compat_export_is_the_references(tmp_path: Path) -> None:
    (tmp_path / "doc").write_text(json.dumps(random_document(3)))
    done = export(import_paths([tmp_path / "doc"]), tmp_path / "doc", tmp_path / "out", "mlia", compatible=True)
    with Peer() as peer:
        assert json.loads(done.path.read_text()) == peer.ask(random_document(3))["processed"]


def test_vela_states_its_configuration_and_maps_to_source_operators(vela: Any) -> None:
    found, version = vela
    model = load_model(DIGITS)
    doc = standard_document(found, model, version=version)
    assert doc["backends"][0]["configuration"]["memory_mode"] == "Shared_Sram"
    assert {res["kind"] for res in doc["results"]} == {"performance", "compatibility"}
    assert all("reasons" in item["details"] for item in doc["results"][1]["checks"])
    mapping = map_layers(found.layers, model)
    assert sum(index is not None for index in mapping) >= 0.9 * len(mapping)
    total = sum(layer.figures["Op Cycles"] for layer in found.layers)
    assert total == found.figures["cycles_total"] == doc["results"][0]["metrics"][0]["value"]
    sources = {p.entity_id for p in postprocess(doc).projections[0].projected}  # type: ignore[union-attr]
    assert any(key.startswith("source_operator/") for key in sources)
    with Peer() as peer:
        answer = peer.ask(doc)
        assert answer["errors"] == [] and answer["kept"] == doc and answer["processed"] == compat(doc)


def test_vela_needs_a_model_and_both_settings(tmp_path: Path) -> None:
    pointer = tmp_path / "m.tflite"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n")
    settings = {"accelerator": "ethos-u55-128", "system_config": "Ethos_U55_High_End_Embedded"}
    with pytest.raises(ModelError):
        estimate(pointer, memory_mode="Shared_Sram", **settings)
    with pytest.raises(UsageError):
        estimate(DIGITS, memory_mode="", **settings)


def test_vela_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "vela.json"
    settings = ["--accelerator", "ethos-u55-128", "--system-config", "Ethos_U55_High_End_Embedded"]
    assert run_cli(["vela", str(DIGITS), *settings, "--memory-mode", "Shared_Sram", "--out", str(place)]) == 0
    text = capsys.readouterr().out
    assert "predicted by Vela; Ethos_U55_High_End_Embedded, Shared_Sram" in text
    assert "partial: source_operator/operator/7" in text
    document = check(json.loads(place.read_text()))
    assert document["results"][0]["mode"] == "predicted"
    rules = {item["details"]["rule"] for item in document["results"][0]["advice"]}
    assert rules == {"depthwise_then_pointwise"}
    assert run_cli(["vela", str(DIGITS), *settings]) == 2, "the memory mode is no guess"
    assert run_cli(["vela", str(DIGITS), "--tables", str(tmp_path), *settings]) == 2
    assert run_cli(["vela", str(DIGITS)]) == 2
    assert "--accelerator" in capsys.readouterr().err


def test_without_vela_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/place/python")
    command = ["vela", str(DIGITS), "--accelerator", "ethos-u55-128", "--system-config", "a", "--memory-mode", "b"]
    assert run_cli(command) == 6
    assert "harness-hil[vela]" in capsys.readouterr().err


def test_rows_that_were_rewritten_belong_to_the_next_of_their_kind() -> None:
    model = load_model(DIGITS)
    last = model.operators[-1]
    name = model.tensors[last.outputs[0]].name
    rows = [
        VelaLayer("Softmax", "MaxPool", "NPU", "made_up_0", {}),
        VelaLayer("Softmax", "Mul", "NPU", name, {}),
        VelaLayer("Softmax", "Add", "CPU", "orphan", {}),
    ]
    assert map_layers(rows, model) == [last.index, last.index, None]


@pytest.mark.parametrize(
    "change",
    [lambda text: text[:-40], lambda text: text.replace("cycles_total", "cycles"), lambda text: text + "\nx,y"],
)
def test_damaged_vela_tables_are_refused(tmp_path: Path, change: Any) -> None:
    heading = "experiment,network,accelerator_configuration,system_config,memory_mode,cycles_total"
    (tmp_path / "m_summary_x.csv").write_text(change(f"{heading}\ndefault,net,Ethos_U55_128,system,mode,1234567890\n"))
    (tmp_path / "m_per-layer.csv").write_text("Original Operator,NNG Operator,Target,Op Cycles,NPU,MAC Count,Name\n")
    with pytest.raises(ForeignFormatError):
        read_tables(tmp_path / "m_summary_x.csv", tmp_path / "m_per-layer.csv")


def test_command_line(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli._main import run_cli

    out = tmp_path / "doc.json"
    assert run_cli(["import", str(bundle), "-o", str(out)]) == 0
    assert "taken for: hpx" in capsys.readouterr().out
    check(json.loads(out.read_text()))
    assert run_cli(["export", str(out), "-f", "csv", "-o", str(tmp_path / "t.csv")]) == 0
    assert "what does not survive" in capsys.readouterr().out
    (tmp_path / "bad").write_bytes(b"\x7fELF")
    assert run_cli(["import", str(tmp_path / "bad"), "-o", str(tmp_path / "failed.json")]) == 5
    assert check(json.loads((tmp_path / "failed.json").read_text()))["results"][0]["status"] == "failed"
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["import", "empty"], 5, ["it is a directory without a result_manifest.json"]),
        (["import", "nothing.json"], 5, ["it is empty"]),
        (["import", "a.json", "a.json"], 5, ["2 paths were named", "Name one of them."]),
        (["vela", str(DIGITS), "--tables", "absent"], 5, ["There is no such file or directory.", "file absent"]),
        (["advice", "absent"], 5, ["It does not exist.", "Check the path"]),
        (["estimate", str(DIGITS), "--board", "mps2_an386", "--model", "absent.json"], 5, ["Check the path."]),
        (["estimate", str(DIGITS), "--board", "absent"], 2, ["`harness boards --types`"]),
        (["estimate", str(DIGITS), "--board", "mps2_an386", "--set", "foo=1"], 2, ["There is no setting 'foo'."]),
    ],
)
def test_bad_arguments_are_told_with_what_helps(
    arguments: list[str],
    status: int,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.json").touch()
    (tmp_path / "a.json").write_text(json.dumps(random_document(1)))
    assert run_cli(arguments) == status
    said = capsys.readouterr().err
    assert all(word in said for word in words), said
    assert "edited or damaged" not in said and "Produce the file again" not in said


@pytest.mark.parametrize(
    ("accelerator", "config", "memory", "words"),
    [
        ("ethos-u55-999", "Ethos_U55_High_End_Embedded", "Shared_Sram", "ethos-u55-128"),
        ("ethos-u55-128", "Nowhere", "Shared_Sram", "--list-configs"),
        ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Nowhere", "--list-configs"),
    ],
)
def test_options_that_vela_refuses_are_no_fault_of_the_model(
    accelerator: str, config: str, memory: str, words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        estimate(DIGITS, accelerator=accelerator, system_config=config, memory_mode=memory)
    assert words in str(refused.value)


def test_options_default_to_tolerant() -> None:
    assert ImportOptions().strict is False
