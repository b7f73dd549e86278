"""Planning of power windows, the records in RAM, and cycling a board's power."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bench.inventory import load_bench
from harness.bench.locks import SerialLock
from harness.bench.noise import NoiseSettings, energy_factors
from harness.bench.provider import BoardInfo, BoardLease
from harness.board.descriptor import load_board_type
from harness.capture.terminal import (
    MAGIC,
    MAX_WINDOWS,
    TERMINAL_BYTES,
    Phase,
    PowerPlan,
    TerminalError,
    WindowPlan,
    parse_terminal,
)
from harness.core.deadline import Deadline
from harness.core.errors import ProbeError, UsageError
from harness.runner.power_plan import PowerSpec, gate_plan, plan_windows, terminal_issues

BUILD_ID = "00112233445566778899aabbccddeeff"
SPEC = PowerSpec("any", None, None, "clean-window", 3, 0.5, True, 2)


def record(phase: Phase = Phase.DONE, done: int = 5, error: int = 0, gate: int = 100, lowered: bool = True) -> bytes:
    head = struct.pack("<14I", MAGIC, 1, TERMINAL_BYTES, phase, 7, error, 0, 1000, 7, 0x2000_0000, 64, 5, done, 1)
    head += struct.pack("<Q32s", 200, BUILD_ID.encode())
    body = head + struct.pack("<2I2Q", done, 2 if lowered else 1, 90, gate) + bytes(24 * (MAX_WINDOWS - 1))
    return body + struct.pack("<2I", zlib.crc32(body), 0)


def test_terminal_record_is_read_and_judged() -> None:
    plan = PowerPlan((WindowPlan(5),))
    terminal = parse_terminal(record(), BUILD_ID)
    assert terminal is not None and terminal.windows[0].gate_s == 0.1 and terminal.elapsed_s == 0.2
    assert terminal_issues(plan, terminal) == ()
    assert gate_plan(plan, terminal, emulated=True).firmware_s == (0.1,)
    assert parse_terminal(bytes(TERMINAL_BYTES), BUILD_ID) is None
    for made, code in (
        (record(Phase.FAILED, 3, 7), "power.terminal_error"),
        (record(lowered=False), "power.gate_not_lowered"),
        (record(Phase.WINDOW), "power.terminal_missing"),
    ):
        assert code in {issue.code for issue in terminal_issues(plan, parse_terminal(made, BUILD_ID))}
    assert [issue.code for issue in terminal_issues(plan, None)] == ["power.terminal_missing"]


@pytest.mark.parametrize(
    "made",
    [
        record()[:-1],
        record(Phase.DONE, 6),
        record(Phase.DONE, 5, 3),
        record(gate=80),
        record(gate=300),
        record().replace(BUILD_ID.encode(), b"f" * 32),
    ],
)
def test_terminal_record_that_contradicts_itself_is_refused(made: bytes) -> None:
    with pytest.raises(TerminalError):
        parse_terminal(made, BUILD_ID)


@given(st.integers(0, TERMINAL_BYTES - 5), st.integers(1, 255))
def test_no_damaged_record_is_believed(place: int, flip: int) -> None:
    damaged = bytearray(record())
    damaged[place] ^= flip
    try:
        found = parse_terminal(bytes(damaged), BUILD_ID)
    except TerminalError:
        return
    # What is left: no record at all, or one that says it is not done.
    assert found is None or not found.ended


@given(st.floats(1e-6, 10.0), st.floats(0.001, 600.0), st.booleans())
def test_windows_are_as_long_as_asked_and_a_second_on_silicon(
    inference_s: float, target: float, emulated: bool
) -> None:
    spec = PowerSpec("any", None, None, "clean-window", 2, target, False, 0)
    for window in plan_windows(spec, inference_s, (), emulated=emulated).windows:
        seconds = window.inferences * inference_s
        assert seconds >= (target if emulated else max(target, 1.0)) or window.inferences == (1 << 32) - 1
        assert (window.inferences - 1) * inference_s <= max(target, 1.0) * 1.03


def test_layers_get_windows_of_their_own_up_to_what_a_boot_can_hold() -> None:
    plan = plan_windows(SPEC, 0.01, (0.004, None, 0.006), emulated=True)
    assert [window.label for window in plan.windows] == ["", "", "", "layer 0", "layer 2"]
    assert [window.inferences for window in plan.windows] == [50, 50, 50, 125, 84]
    with pytest.raises(UsageError, match="more than one boot"):
        plan_windows(SPEC, 0.01, (0.001,) * MAX_WINDOWS, emulated=True)


def test_noise_on_energy_is_seeded_and_scatters_as_asked() -> None:
    factors = energy_factors(NoiseSettings(seed=5, energy_pct=2), 128)
    assert factors == energy_factors(NoiseSettings(seed=5, energy_pct=2), 128)
    mean = sum(factors) / 128
    spread = (sum((f - mean) ** 2 for f in factors) / 127) ** 0.5
    assert mean == pytest.approx(1.0, abs=0.01) and spread == pytest.approx(0.02, rel=0.3)
    assert energy_factors(NoiseSettings(seed=5, window_pct=2), 128) == ()


class Stuck:
    """A board that answers its probe only after its power was cycled."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def recover(self, deadline: Deadline) -> None:
        self.calls.append("recover")
        if "cycle" not in self.calls:
            raise ProbeError("The core does not answer.")

    def end(self) -> None:
        self.calls.append("end")


def test_recovery_cycles_the_power_when_a_monitor_feeds_the_board() -> None:
    info = BoardInfo(680999001, "mps2_an386", "local", "free", None, "jlink", "rtt")
    hold = Stuck()
    lease = BoardLease(info, load_board_type("mps2_an386"), hold, SerialLock(info.serial))  # type: ignore[arg-type]
    with lease:
        with pytest.raises(ProbeError):
            lease.recover()
        lease.attach_power_cycle(lambda: hold.calls.append("cycle"))
        lease.recover()
    assert hold.calls == ["recover", "recover", "cycle", "recover", "end"]


def test_bench_file_says_how_the_board_is_fed(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(
        "version: 1\nboards:\n  - serial: 12345\n    board: mps2_an386\n"
        "    power: {driver: ppk2, address: /dev/ttyACM9, volts: 3, mode: ampere, keep_supply: true}\n"
    )
    (local,) = (provider for provider in load_bench(file).providers if provider.name == "local")
    place = local._boards[0].power  # type: ignore[attr-defined]
    assert place.mode == "ampere" and place.keep_supply
