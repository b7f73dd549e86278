"""Faults by text and mapping, when they strike, and what the wire's faults make of frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bench.inventory import BenchFileError, load_bench
from harness.core.errors import HarnessError
from harness.virtual.faults import FAULTS, Fault, FaultError, Runs
from harness.virtual.injection import Injection
from harness.virtual.wire_faults import SpoiledTransport

FRAMES = [bytes([value]) * 6 + b"\0" for value in range(1, 9)]


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    spec = FAULTS[draw(st.sampled_from(sorted(FAULTS)))]
    at = draw(st.none() | st.integers(0, 2**32 - 1)) if spec.unit else None
    seconds = draw(st.none() | st.integers(1, 100).map(float)) if spec.seconds is not None else None
    return Fault(spec.name, at, seconds, draw(st.none() | st.sampled_from(get_args(Runs))))


@given(faults())
def test_text_and_mapping_say_the_same(fault: Fault) -> None:
    assert Fault.of(str(fault)) == fault == Fault.of(vars(fault))


@pytest.mark.parametrize(
    "value",
    [
        *("nothing", "flash-error@3", "stall+0", "flash-error/never", "flash-error@", "", 3, None, ["stall"]),
        *({"name": "stall", "at": True}, {"name": "stall", "at": 2**32}, {"name": "stall", "when": 3}, {"at": 3}),
        *({"name": "stall", "seconds": float("nan")}, {"name": "stall", "seconds": "1"}, {"name": "stall", "at": -1}),
    ],
)
def test_what_is_no_fault(value: Any) -> None:
    with pytest.raises(FaultError):
        Fault.of(value)


def test_when_faults_strike() -> None:
    injection = Injection([Fault.of("flash-error/once"), Fault.of("echo/every-second"), Fault.of("wrong-chip")])
    seen = []
    for _ in range(4):
        injection.next_run()
        seen.append([fault.name for fault in injection.striking])
    assert seen == [["flash-error", "wrong-chip"], ["echo", "wrong-chip"], ["wrong-chip"], ["echo", "wrong-chip"]]
    assert injection.entries == ["wrong-chip,3758157057"]


class Wire:
    """Hands out bytes in pieces; `at` is its clock."""

    name = "wire"

    def __init__(self, data: bytes, piece: int) -> None:
        self.events: list[str] = []
        self.at = 0.0
        self._data = data
        self._piece = piece

    def read(self, max_bytes: int = 65536) -> bytes:
        out, self._data = self._data[: self._piece], self._data[self._piece :]
        return out

    def write(self, data: bytes) -> int:
        return min(len(data), 3)

    def close(self) -> None:
        self.at = -1.0


def through(faults: Sequence[str], piece: int, *, earlier: bytes = b"") -> bytes:
    wire = Wire(b"".join(FRAMES), piece)
    spoiled = SpoiledTransport(wire, [Fault.of(fault) for fault in faults], earlier=earlier, clock=lambda: wire.at)
    out = b""
    for _ in range(200):
        out += spoiled.read(7)
    return out


@pytest.mark.parametrize("piece", [1, 5, 100])
@pytest.mark.parametrize(
    ("fault", "left"),
    [
        ("flash-error", FRAMES),
        ("frame-dropped@2", [*FRAMES[:2], *FRAMES[3:]]),
        ("frame-duplicated@2", [*FRAMES[:3], *FRAMES[2:]]),
        ("frame-reordered@2", [*FRAMES[:2], FRAMES[3], FRAMES[2], *FRAMES[4:]]),
        ("frame-truncated@2", [*FRAMES[:2], FRAMES[2][:3] + b"\0", *FRAMES[3:]]),
        ("frame-flipped@2", [*FRAMES[:2], b"\x03\x03\x03\x13\x03\x03\0", *FRAMES[3:]]),
        ("stall@2", [*FRAMES[:2], FRAMES[2][:3]]),
        ("wire-dead@2", FRAMES[:2]),
        ("every-second-run", []),
    ],
)
def test_frames(fault: str, left: list[bytes], piece: int) -> None:
    assert through([fault], piece) == b"".join(left)


def test_a_stall_ends() -> None:
    wire = Wire(b"".join(FRAMES), 100)
    spoiled = SpoiledTransport(wire, [Fault.of("stall@2+4")], clock=lambda: wire.at)
    early = spoiled.read()
    wire.at = 3.9
    assert spoiled.read() == b""
    wire.at = 4.0
    assert early + spoiled.read() == b"".join(FRAMES)


def test_echoes_and_old_answers() -> None:
    wire = Wire(b"", 1)
    spoiled = SpoiledTransport(wire, [Fault.of("echo")])
    assert spoiled.write(b"hello") == 3 and spoiled.read() == b"hel"
    assert through(["stale-result"], 5, earlier=b"old\0") == b"old\0"


def test_bench_file(tmp_path: Path) -> None:
    path = tmp_path / "bench.yaml"
    path.write_text("version: 1\nfaults:\n  - {name: stall, at: 3, seconds: 2}\n  - {name: echo, board: mps2_an386}\n")
    load_bench(path)
    for line, said in [
        ("{name: stal}", "Did you mean 'stall'"),
        ("{name: stall, board: nrf}", "not an emulated board"),
        ("{name: echo, at: 3}", "left out"),
        ("{name: echo, runs: never}", "one of always"),
        ("{nam: echo}", "nam"),
    ]:
        path.write_text(f"version: 1\nfaults:\n  - {line}\n")
        with pytest.raises(BenchFileError) as caught:
            load_bench(path)
        assert said in str(caught.value), str(caught.value)
        assert isinstance(caught.value, HarnessError) and "bench.yaml:3" in str(caught.value)
