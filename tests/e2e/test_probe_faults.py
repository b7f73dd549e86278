"""A probe that fails ends the run in time, in its class, with evidence; the next run on the bench is clean."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bench.inventory import Bench
from harness.bench.virtual import VirtualProvider
from harness.board.descriptor import board_types
from harness.core.errors import DeadlineError, FlashVerifyError, HarnessError, ProbeError, ProtocolError
from harness.image.record import Build
from harness.results.reader import verify_bundle
from harness.runner.run import run
from harness.virtual.faults import FAULTS, Fault
from harness.virtual.launcher import LaunchOptions
from tests.e2e.conftest import BOARDS, DIGITS

SHORT = {"boot": 3.0, "window": 3.0, "pass": 3.0, "inference": 3.0, "inspect": 3.0}
CASES: dict[Fault, tuple[type[HarnessError], ...]] = {
    Fault("open-fails"): (ProbeError,),
    Fault("flash-error"): (ProbeError,),
    Fault("flash-mismatch", 2000): (FlashVerifyError,),
    Fault("flash-unplugged", 2000): (ProbeError,),
    Fault("rtt-unplugged", 300): (ProbeError,),
    Fault("rtt-flip", 300): (ProtocolError, DeadlineError),
}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("fault", CASES, ids=lambda fault: fault.name)
def test_failing_probe(built: Callable[..., Build], tmp_path: Path, board: str, fault: Fault) -> None:
    types = board_types()
    bench = Bench((VirtualProvider(types, options=LaunchOptions(fault=fault)),), types)
    start = time.monotonic()
    with pytest.raises(CASES[fault]) as caught:
        run(built(DIGITS, board), bench=bench, out=tmp_path / "failed", deadlines=SHORT)
    assert time.monotonic() - start < 20
    assert caught.value.what and caught.value.todo
    manifest = verify_bundle(caught.value.context["bundle"])
    assert str(manifest.status) == "failed" and str(manifest.validity) == "invalid"
    assert run(built(DIGITS, board), out=tmp_path / "clean").valid


def test_every_fault_has_a_case() -> None:
    assert {fault.name for fault in CASES} == set(FAULTS)
