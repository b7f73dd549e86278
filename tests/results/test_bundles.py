"""Bundles: published whole or not at all, refused when one byte of any artifact differs, recomputable from inside."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.core.errors import CaptureError, EvidenceError, HarnessError, UsageError
from harness.core.files import atomic_write
from harness.core.strict_json import pretty
from harness.results.assemble import assemble_failed
from harness.results.bundle import BundleContent, BundleFile, publish
from harness.results.manifest import MANIFEST_NAME, sealed
from harness.results.reader import read_bundle, verify_bundle
from harness.results.recompute import check_recomputed
from harness.results.samples import read_samples
from tests.results.builders import CYCLES, make_bundle, make_capture, make_context, make_run

ARTIFACTS = {
    "summary.json",
    "run_metadata.json",
    "profile_results.csv",
    "plan.json",
    "build.json",
    "raw_frames.bin",
    "samples.npz",
    "target.log",
    "outputs.json",
}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "pristine")


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "bundle"))


def refused(path: Path) -> HarnessError:
    with pytest.raises(EvidenceError) as caught:
        verify_bundle(path)
    assert caught.value.exit_code == 5
    return caught.value


def test_a_bundle_holds_everything_it_was_made_from(pristine: Path) -> None:
    manifest = verify_bundle(pristine)
    assert {item.path for item in manifest.artifacts} == ARTIFACTS
    assert {path.name for path in pristine.iterdir()} == ARTIFACTS | {MANIFEST_NAME}
    assert manifest.hpx_version.startswith("harness/")
    assert manifest.comparability["source"] == "emulated"
    own = manifest.extensions["harness"]
    assert own["source"] == "emulated"
    assert own["repeatability"] == {"counters": "exact", "window": "exact", "size": "exact"}
    assert own["instrumentation_overhead"]["cycles"] == 10 * len(CYCLES)
    assert own["emulator"]["loads"] == 100


def test_figures_of_the_summary(pristine: Path) -> None:
    run = read_bundle(pristine)
    assert run.summary["total_cycles"] == sum(CYCLES)
    assert [row["cycles"] for row in run.layers] == list(CYCLES)
    latency = run.summary["latency"]
    assert latency["device_clean_infer_count"] == 10
    assert latency["device_clean_infer_avg_cycles"] == sum(CYCLES) - 50
    assert latency["device_clean_infer_avg_us"] == pytest.approx((sum(CYCLES) - 50) / 25)
    assert latency["device_profiled_infer_count"] == 3
    assert latency["device_profiled_infer_avg_us"] == pytest.approx(sum(CYCLES) / 25)


def test_a_short_time_is_never_rounded_to_zero(tmp_path: Path) -> None:
    capture = make_capture((2, 1, 1, 1, 1), clean_cycles=5)
    latency = read_bundle(make_bundle(tmp_path / "b", capture)).summary["latency"]
    assert latency["device_clean_infer_avg_us"] == pytest.approx(0.2)


@pytest.mark.parametrize("name", sorted(ARTIFACTS))
def test_one_changed_byte_is_named(bundle: Path, name: str) -> None:
    path = bundle / name
    data = bytearray(path.read_bytes())
    rng = random.Random(name)
    for position in {0, len(data) - 1, *(rng.randrange(len(data)) for _ in range(6))}:
        changed = bytearray(data)
        changed[position] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        error = refused(bundle)
        assert error.context["artifact"] == name
        assert name in error.what
    path.write_bytes(data)
    verify_bundle(bundle)


def test_any_changed_byte_of_the_manifest_is_refused(bundle: Path) -> None:
    path = bundle / MANIFEST_NAME
    data = path.read_bytes()
    rng = random.Random(7)
    for position in rng.sample(range(len(data)), 250):
        changed = bytearray(data)
        changed[position] = rng.choice([b for b in range(256) if b != data[position]])
        path.write_bytes(changed)
        refused(bundle)
    path.write_bytes(data)
    verify_bundle(bundle)


@pytest.mark.parametrize("name", sorted(ARTIFACTS))
def test_a_missing_or_longer_artifact_is_named(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    (bundle / name).write_bytes(data + b"\n")
    assert refused(bundle).context["artifact"] == name
    (bundle / name).unlink()
    assert refused(bundle).context["artifact"] == name


def edit(bundle: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest and renew its own hash: what an attacker who knows the format would do."""
    data = json.loads((bundle / MANIFEST_NAME).read_text())
    change(data)
    atomic_write(bundle / MANIFEST_NAME, pretty(sealed(data)))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/hostname", "invalid_evidence"),
        ("../outside", "invalid_path"),
        ("sub/../target.log", "invalid_path"),
        ("./target.log", "invalid_path"),
        ("sub\\target.log", "invalid_path"),
        ("C:target.log", "invalid_path"),
    ],
)
def test_escaping_paths_are_refused(bundle: Path, path: str, code: str) -> None:
    def change(data: dict[str, Any]) -> None:
        data["artifacts"][-1]["path"] = path

    edit(bundle, change)
    error = refused(bundle)
    assert error.code == code
    assert error.context["artifact"] == path


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: d["artifacts"].append(dict(d["artifacts"][-1])), "duplicate_artifact"),
        (lambda d: d.update(bundle_type="other"), "unsupported_kind"),
        (lambda d: d.update(status="incomplete"), "incomplete_result"),
        (lambda d: d.update(validity="degraded"), "identity_mismatch"),
        (lambda d: d.update(run_id="another"), "identity_mismatch"),
        (lambda d: d["comparability"].update(board="another"), "identity_mismatch"),
        (lambda d: d["comparability"].update(engine="another"), "identity_mismatch"),
        (lambda d: d["provenance"]["model"].update(sha256="c" * 64), "identity_mismatch"),
        (lambda d: d["extensions"]["harness"]["clean_window"].update(us=1.0), "invalid_measurement"),
        (lambda d: d["extensions"]["harness"]["clean_window"].update(ticks="many"), "invalid_measurement"),
        (lambda d: d["artifacts"].pop(0), "invalid_evidence"),
        (lambda d: d.update(schema_version=2), "unsupported_schema"),
        (lambda d: d.update(hpx_version="harness/9"), "identity_mismatch"),
    ],
)
def test_contradictions_are_refused(bundle: Path, change: Callable[[dict[str, Any]], None], code: str) -> None:
    edit(bundle, change)
    assert refused(bundle).code == code


def test_a_manifest_of_ours_without_its_own_hash_is_refused(bundle: Path) -> None:
    data = json.loads((bundle / MANIFEST_NAME).read_text())
    del data["extensions"]["harness"]["manifest_hash"]
    (bundle / MANIFEST_NAME).write_text(pretty(data))
    assert refused(bundle).code == "artifact_changed"


def test_an_unfinished_publication_is_refused(bundle: Path) -> None:
    (bundle / ".result-publication-incomplete").touch()
    assert refused(bundle).code == "incomplete_publication"


def test_nothing_is_left_of_a_publication_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import harness.results.bundle as module

    def full(path: Path, data: bytes) -> None:
        if path.name == MANIFEST_NAME:
            raise OSError(28, "No space left on device")
        path.write_bytes(data)

    monkeypatch.setattr(module, "write_synced", full)
    with pytest.raises(OSError, match="No space"):
        publish(tmp_path / "b", make_run().content)
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import harness.results.bundle as module

    written: list[str] = []
    original = module.write_synced

    def record(path: Path, data: bytes) -> None:
        written.append(path.name)
        assert not (tmp_path / "b").exists()
        original(path, data)

    monkeypatch.setattr(module, "write_synced", record)
    make_bundle(tmp_path / "b")
    assert written[-1] == MANIFEST_NAME


def test_a_bundle_is_never_overwritten(bundle: Path) -> None:
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    with pytest.raises(UsageError):
        make_bundle(bundle)
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", MANIFEST_NAME])
def test_content_cannot_leave_the_bundle(tmp_path: Path, path: str) -> None:
    content = make_run(extra_files={path: b"x"}).content
    with pytest.raises(EvidenceError):
        publish(tmp_path / "b", content)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_leaves_a_verifiable_bundle(tmp_path: Path) -> None:
    error = CaptureError("The end frame never came.", why="Board 7, 3 s.", context={"path": Path("x")})
    content = assemble_failed(error, context=make_context(), log="last words\n", raw=b"\x01\x02", phases={"hello": 0.1})
    path = publish(tmp_path / "b", content)
    manifest = verify_bundle(path)
    assert manifest.status == "failed"
    assert manifest.validity == "invalid"
    assert [item.code for item in manifest.issues] == ["capture.failed"]
    assert manifest.issues[0].message == "The end frame never came."
    assert (path / "target.log").read_text() == "last words\n"
    assert not (path / "profile_results.csv").exists()
    assert manifest.extensions["harness"]["error"]["code"] == "capture.failed"


def test_a_run_that_failed_before_anything_was_known(tmp_path: Path) -> None:
    path = publish(tmp_path / "b", assemble_failed(HarnessError("No such thing.")))
    assert [item.code for item in verify_bundle(path).issues] == ["run.failed"]


def test_figures_are_recomputed_from_samples(tmp_path: Path) -> None:
    capture = make_capture(iterations=4)
    samples = np.array(capture.passes[0].samples)
    samples[0] += 3
    samples[1] += 1
    changed = make_capture(
        iterations=4, passes=(type(capture.passes[0])(**{**vars(capture.passes[0]), "samples": samples}),)
    )
    path = make_bundle(tmp_path / "b", changed)
    assert check_recomputed(path) == 2 * len(CYCLES) + 1
    read = read_samples((path / "samples.npz").read_bytes())
    assert np.array_equal(read.passes[0].samples, samples)
    assert read.passes[0].counters == capture.passes[0].counters


def test_a_table_that_does_not_follow_from_the_samples_is_refused(bundle: Path) -> None:
    path = bundle / "profile_results.csv"
    text = path.read_text().replace("2500.0", "2400.0", 1)
    assert text != path.read_text()
    path.write_text(text)

    def change(data: dict[str, Any]) -> None:
        for item in data["artifacts"]:
            if item["path"] == path.name:
                item.update(
                    BundleFile(path.name, path.read_bytes()).artifact().to_dict()
                    | {"role": "core", "name": item["name"], "optional": False, "media_type": "text/csv"}
                )

    edit(bundle, change)
    verify_bundle(bundle)
    with pytest.raises(EvidenceError, match="ARM_PMU_INST_RETIRED of layer 0"):
        check_recomputed(bundle)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"nonsense" * 100])
def test_damaged_samples_are_an_evidence_fault(data: bytes) -> None:
    with pytest.raises(EvidenceError):
        read_samples(data)


def test_same_capture_same_bytes() -> None:
    first, second = make_run().content, make_run().content
    assert [file.data for file in first.files] == [file.data for file in second.files]
    assert isinstance(first, BundleContent)
