"""The store of approved baselines: keys, expiry, history, what a run without a match is told, damage."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli._main import run_cli
from harness.core.errors import EvidenceError, UsageError
from harness.judge.baseline import find_baseline
from harness.judge.baseline_store import BaselineKey, BaselineStore, is_store
from harness.results.assemble import assemble_failed
from harness.results.bundle import publish
from harness.results.reader import read_bundle, verify_bundle
from tests.results.builders import MODEL_SHA, make_bundle, make_context

SETTINGS = {"board": "b1", "engine": "aot", "iterations": 3, "optimization": "O2"}


def plan(**changes: Any) -> dict[str, Any]:
    settings = {**SETTINGS, **{name: value for name, value in changes.items() if name in SETTINGS}}
    return {
        "model": {"sha256": changes.get("model", MODEL_SHA)},
        "settings": settings,
        "toolchain": {"name": "gcc", "version": changes.get("version", "12.2")},
    }


def bundle(path: Path, **changes: Any) -> Path:
    return make_bundle(path, context=make_context(plan_record=plan(**changes)))


def frozen(**changes: Any) -> Any:
    data = plan(**changes)
    return SimpleNamespace(
        model=SimpleNamespace(**data["model"]),
        settings=data["settings"],
        toolchain=SimpleNamespace(**data["toolchain"]),
        board=data["settings"]["board"],
        engine=data["settings"]["engine"],
    )


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return BaselineStore(tmp_path / "store", create=True)


def test_the_youngest_approval_of_a_key_counts(store: BaselineStore, tmp_path: Path) -> None:
    first, second = bundle(tmp_path / "a"), bundle(tmp_path / "b")
    store.approve(first, "first light")
    again = store.approve(second, "faster softmax", by="ann")
    other = store.approve(bundle(tmp_path / "c", board="b2"), "another board")
    assert is_store(store.path)
    assert set(store.current()) == {again, other}
    assert [item.reason for item in store.approvals()] == ["first light", "faster softmax", "another board"]
    found = find_baseline(store.path, frozen())
    assert verify_bundle(found).run_id == verify_bundle(second).run_id
    assert BaselineKey.of_plan(frozen()) == BaselineKey.of_bundle(read_bundle(second))


def test_approving_twice_keeps_one_copy(store: BaselineStore, tmp_path: Path) -> None:
    made = bundle(tmp_path / "a")
    store.approve(made, "once")
    store.approve(made, "twice")
    assert len(list((store.path / "bundles").iterdir())) == 1
    assert len(store.approvals()) == 2


def test_an_expired_approval_does_not_count_and_the_older_one_does(store: BaselineStore, tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    lasting = store.approve(bundle(tmp_path / "a"), "lasting")
    brief = store.approve(bundle(tmp_path / "b"), "brief", until=today)
    assert not brief.expired(today) and brief.expired(today + timedelta(days=1))
    assert store.current() == (brief,)
    (path,) = [path for path in (store.path / "approvals").iterdir() if brief.bundle[:12] in path.name]
    path.write_text(json.dumps({**json.loads(path.read_text()), "until": "2020-01-01"}))
    assert store.current() == (lasting,)
    path.unlink()
    for rest in (store.path / "approvals").iterdir():
        rest.write_text(json.dumps({**json.loads(rest.read_text()), "until": "2020-01-01"}))
    with pytest.raises(UsageError, match="expired after 2020-01-01"):
        store.find(BaselineKey.of_plan(frozen()))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"board": "b2"}, "board is b1, not b2"),
        ({"engine": "other"}, "engine is aot, not other"),
        ({"version": "13"}, "toolchain is gcc 12.2, not gcc 13"),
        ({"iterations": 4}, "iterations is 3, not 4"),
        ({"model": "f" * 64}, "model is aaaa"),
    ],
)
def test_without_a_match_it_says_what_differs(
    store: BaselineStore, tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    store.approve(bundle(tmp_path / "far", board="b9", engine="e9", iterations=99, version="1", model="e" * 64), "far")
    store.approve(bundle(tmp_path / "a"), "near")
    with pytest.raises(UsageError) as caught:
        find_baseline(store.path, frozen(**changes))
    assert says.replace("aaaa", MODEL_SHA) in caught.value.why
    assert "(near)" in caught.value.why


def test_what_cannot_be_approved(store: BaselineStore, tmp_path: Path) -> None:
    from harness.core.errors import CaptureError

    good = bundle(tmp_path / "a")
    failed = publish(
        tmp_path / "failed", assemble_failed(CaptureError("No end."), context=make_context(plan_record=plan()))
    )
    with pytest.raises(UsageError, match="reason"):
        store.approve(good, "  ")
    with pytest.raises(UsageError, match="passed"):
        store.approve(good, "late", until=date(2020, 1, 1))
    with pytest.raises(UsageError, match="failed and invalid"):
        store.approve(failed, "no")
    with pytest.raises(UsageError, match="no plan"):
        store.approve(make_bundle(tmp_path / "planless", context=make_context(plan_record={})), "no")
    (good / "summary.json").write_text("{}")
    with pytest.raises(EvidenceError):
        store.approve(good, "tampered")
    assert store.approvals() == () and not (store.path / "bundles").exists()
    with pytest.raises(UsageError, match="empty"):
        store.find(BaselineKey.of_plan(frozen()))


def test_damage_is_named(store: BaselineStore, tmp_path: Path) -> None:
    approval = store.approve(bundle(tmp_path / "a"), "good")
    place = store.bundle(approval.bundle)
    (place / "result_manifest.json").write_text("{}")
    with pytest.raises(EvidenceError, match="not the bundle that was approved"):
        store.find(approval.key)
    (place / "result_manifest.json").unlink()
    with pytest.raises(EvidenceError, match="missing"):
        store.find(approval.key)
    (path,) = (store.path / "approvals").iterdir()
    path.write_text('{"schema": "other"}')
    with pytest.raises(EvidenceError, match=path.name):
        store.approvals()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, made = str(tmp_path / "s"), str(bundle(tmp_path / "a"))
    assert run_cli(["baseline", "list", "--store", place]) == 2
    assert run_cli(["baseline", "approve", made, "--reason", "good", "--until", "soon", "--store", place]) == 2
    assert not (tmp_path / "s").exists()
    assert run_cli(["baseline", "approve", made, "--reason", "good", "--until", "2999-01-01", "--store", place]) == 0
    capsys.readouterr()
    assert run_cli(["baseline", "history", "--store", place, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["approvals"]
    assert entry["counts"] is True and entry["until"] == "2999-01-01" and entry["reason"] == "good"
    assert run_cli(["baseline", "list", "--store", place]) == 0
    assert "good" in capsys.readouterr().out
    assert run_cli(["baseline", "diff", made, "--store", place, "--profile", "exact"]) in (0, 1)
    assert run_cli(["baseline", "diff", str(bundle(tmp_path / "b", iterations=9)), "--store", place]) == 2
    assert "iterations is 3, not 9" in capsys.readouterr().err


def test_no_store_is_left_by_an_approval_that_failed(tmp_path: Path) -> None:
    fresh = BaselineStore(tmp_path / "fresh", create=True)
    for wrong in (tmp_path / "nothing", make_bundle(tmp_path / "without-plan")):
        with pytest.raises((EvidenceError, UsageError)):
            fresh.approve(wrong, "reason")
    assert not fresh.path.exists()


@pytest.mark.parametrize(
    "change",
    [{"approved": 5}, {"approved": "soon"}, {"bundle": "../../elsewhere"}, {"bundle": [1]}, {"reason": 5}, {"by": None},
     {"until": 5}, {"key": {"model": 5}}, {"key": {"intent": ["x"]}}, {"key": None}],
)  # fmt: skip
def test_an_approval_of_another_form_is_broken_evidence(
    store: BaselineStore, tmp_path: Path, change: dict[str, Any]
) -> None:
    store.approve(bundle(tmp_path / "a"), "first")
    [file] = (store.path / "approvals").iterdir()
    data = json.loads(file.read_text())
    own = change.get("key")
    data |= {"key": {**data["key"], **own}} if own is not None else change
    file.write_text(json.dumps(data))
    with pytest.raises(EvidenceError, match="no approval of a baseline"):
        store.current()


def test_approving_again_replaces_a_damaged_copy(store: BaselineStore, tmp_path: Path) -> None:
    made = bundle(tmp_path / "a")
    copy = store.bundle(store.approve(made, "first").bundle)
    (copy / "summary.json").write_text("{}")
    store.approve(made, "again")
    assert verify_bundle(copy)


@pytest.mark.parametrize("settings", [[], None, "x"])
def test_a_plan_of_another_form_cannot_be_approved(store: BaselineStore, tmp_path: Path, settings: Any) -> None:
    record = {**plan(), "settings": settings}
    with pytest.raises(UsageError, match="holds no plan"):
        store.approve(make_bundle(tmp_path / "a", context=make_context(plan_record=record)), "reason")


def test_a_store_of_a_later_version_is_refused(store: BaselineStore, tmp_path: Path) -> None:
    store.approve(bundle(tmp_path / "a"), "first")
    (store.path / "store.json").write_text('{"schema": "harness.baseline-store", "schema_version": 2}')
    with pytest.raises(UsageError, match="version 2"):
        BaselineStore(store.path)
    (store.path / "store.json").write_text("[" * 100_000)
    assert not is_store(store.path)
