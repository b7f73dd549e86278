"""The conversation with the app itself, compiled for this machine: complete, and with everything that can go wrong."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest

from harness.capture.conversation import capture
from harness.capture.frames import Frame, encode_frame
from harness.capture.passes import NO_COUNTERS, REFUSED
from harness.capture.request import CaptureRequest, WindowRequest
from harness.capture.wire import Record
from harness.core.errors import (
    DeadlineError,
    FirmwareError,
    HardFaultError,
    IdentityMismatchError,
    LockupError,
    ProtocolError,
)
from tests.capture.wires import (
    EXPECTED,
    INPUTS,
    OTHER_INPUTS,
    PATIENT,
    REQUEST,
    SHORT,
    SpoiledWire,
    stub_layers,
    whole,
    wire,
)
from tests.firmware.host_build import host_firmware


def test_complete_capture() -> None:
    phases: list[str] = []
    tapped = bytearray()
    with wire(host_firmware()) as board:
        got = capture(board, EXPECTED, REQUEST, PATIENT, progress=phases.append, tap=tapped.extend)
    assert phases == ["boot", "input", "window", "pass", "inference", "inspect", "end"]
    assert set(got.phase_seconds) == set(phases)
    assert got.raw == bytes(tapped)

    hello = got.hello
    assert (hello.counter_unit, hello.counter_slots, hello.observer) == ("armv8m-pmu", 4, True)
    assert [layer.name for layer in hello.layers] == ["ADD", "SUM", "NEG"]
    assert hello.layers[1].source_index == 2

    assert got.clean is not None
    assert (got.clean.iterations, got.clean.warmup, got.clean.samples.tolist()) == (7, 2, [1000] * 7)
    assert got.clean.ticks == 7000
    total = 7 * (1 + 2 + 3) + 2
    assert got.clean.observed == {"emulator.instructions": total, "emulator.energy_fj": total << 32}
    assert got.clean.outputs_crc32 == zlib.crc32(stub_layers(INPUTS)[2])

    assert [record.name for record in got.passes] == ["cpu_0", "memory_0", "mve_0", "emulator"]
    cpu = got.passes[0]
    assert cpu.counters == (
        "ARM_PMU_CPU_CYCLES",
        "ARM_PMU_INST_RETIRED",
        "ARM_PMU_STALL_FRONTEND",
        "ARM_PMU_STALL_BACKEND",
    )
    assert cpu.samples.shape == (7, 3, 4)
    assert np.array_equal(cpu.samples[3, 1], [1000, 10 * 0x08, 10 * 0x23, 10 * 0x24])
    assert not cpu.overflow.any()
    emulator = got.passes[-1]
    assert emulator.counters == ("ARM_PMU_CPU_CYCLES", "emulator.instructions", "emulator.cycles")
    assert emulator.samples[3, :, 1].tolist() == [1, 2, 3], "what bracketing itself costs is left out"
    assert emulator.samples[3, :, 2].tolist() == [1 << 32, 2 << 32, 3 << 32], "wide counters keep their upper half"
    assert emulator.segments == 1
    assert got.unavailable["emulator.loads"] == REFUSED

    assert [item.outputs for item in got.inferences] == [(stub_layers(i)[2],) for i in (INPUTS, OTHER_INPUTS)]
    (inspection,) = got.inspections
    assert tuple(layer.outputs[0] for layer in inspection.layers) == stub_layers(OTHER_INPUTS)
    assert got.frame_counts["end"] == 1
    assert got.events == ()


def test_passes_larger_than_sample_memory_come_in_segments() -> None:
    request = replace(REQUEST, iterations=50, inference_inputs=(), inspect=())
    with wire(host_firmware()) as board:
        got = capture(board, EXPECTED, request, PATIENT)
    # 256 words; a row of cycles, three events and overflow is 5 words, and there are 3 layers.
    assert got.passes[0].segments == -(-50 // (256 // 15))
    assert got.passes[0].samples.shape == (50, 3, 4)


def test_auto_window_is_sized_by_warm_inferences() -> None:
    window = WindowRequest("auto", target_ms=20, minimum=2, maximum=100_000)
    request = CaptureRequest(INPUTS, iterations=1, warmup=0, window=window, per_layer=False)
    with wire(host_firmware()) as board:
        got = capture(board, EXPECTED, request, PATIENT)
    assert got.clean is not None
    assert got.clean.warmup == 3
    assert got.clean.iterations == 20 * 25_000 // 1000
    assert len(got.clean.samples) == 256, "as many as sample memory holds"
    assert got.clean.ticks == 500 * 1000


def test_window_spans_restoring_the_inputs_in_one_stretch() -> None:
    request = replace(REQUEST, per_layer=False, inference_inputs=(), inspect=())
    expected = replace(EXPECTED, timing_scope="restore_and_invoke")
    with wire(host_firmware("HARNESS_TIMING_SCOPE=1")) as board:
        got = capture(board, expected, request, PATIENT)
    assert got.clean is not None
    assert got.clean.scope == "restore_and_invoke"
    assert got.clean.ticks == 7000


def test_single_lifecycle_runs_one_inference_for_the_window() -> None:
    expected = replace(EXPECTED, lifecycle="single")
    with wire(host_firmware("HARNESS_LIFECYCLE=1")) as board:
        got = capture(board, expected, REQUEST, PATIENT)
    assert got.clean is not None
    assert (got.clean.iterations, got.clean.warmup, got.clean.lifecycle) == (1, 0, "single")


def test_two_captures_of_one_image_are_equal() -> None:
    raws = []
    for _ in range(2):
        with wire(host_firmware()) as board:
            raws.append(capture(board, EXPECTED, REQUEST, PATIENT, nonce=77).raw)
    assert raws[0] == raws[1]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"build_id": "f" * 32}, "build id"),
        ({"board_type": "mps2_an386"}, "board type"),
        ({"model_sha256": "0" * 64}, "model sha256"),
        ({"layer_output_bytes": ((3000,), (10,), (11,))}, "layer outputs"),
        ({"lifecycle": "single"}, "lifecycle"),
    ],
)
def test_another_image_is_refused(change: dict[str, object], named: str) -> None:
    with wire(host_firmware()) as board, pytest.raises(IdentityMismatchError, match=named):
        capture(board, replace(EXPECTED, **change), REQUEST, PATIENT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "awaited"),
    [("TEST_FAULT_MUTE", "the firmware's hello"), ("TEST_FAULT_HANG", "the end of the clean window")],
)
def test_hang_ends_in_a_deadline_that_names_what_was_awaited(fault: str, awaited: str) -> None:
    with wire(host_firmware(f"HARNESS_TEST_FAULT={fault}")) as board, pytest.raises(DeadlineError) as caught:
        capture(board, EXPECTED, REQUEST, replace(PATIENT, boot=0.5 if "MUTE" in fault else 20.0, window=0.5))
    assert caught.value.context["awaiting"] == awaited
    assert "stub" in caught.value.what


def test_garbage_is_told_from_silence() -> None:
    with wire(host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_GARBAGE")) as board, pytest.raises(ProtocolError) as caught:
        capture(board, EXPECTED, REQUEST, PATIENT)
    assert caught.value.context["kind"] == "garbage"


def test_hard_fault_carries_registers_and_stack() -> None:
    program = host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_HARDFAULT", "HARNESS_TEST_FAULT_AT=3u")
    with wire(program) as board, pytest.raises(HardFaultError) as caught:
        capture(board, EXPECTED, REQUEST, PATIENT)
    assert caught.value.context["registers"]["pc"] == 0xBAD0
    assert caught.value.context["stack"] == [0x11111111, 0x22222222]
    assert "HardFault" in caught.value.what


def test_fault_in_the_middle_of_a_frame_is_still_a_fault() -> None:
    def spoil(number: int, frame: Frame) -> list[bytes]:
        # The record that was being written breaks off; the report of the fault follows.
        broken = encode_frame(Frame(Record.SAMPLES, 0, frame.sequence, frame.nonce, bytes(99)))[:50] + b"\0"
        return [broken, encode_frame(frame)] if frame.type == Record.FAULT else whole(frame)

    with wire(host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_HARDFAULT", "HARNESS_TEST_FAULT_AT=3u")) as board:
        with pytest.raises(HardFaultError):
            capture(SpoiledWire(board, spoil), EXPECTED, REQUEST, PATIENT)


def test_corrupt_layer_output_comes_through_as_it_is() -> None:
    program = host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_CORRUPT", "HARNESS_TEST_FAULT_OP=1u")
    with wire(program) as board:
        got = capture(board, EXPECTED, REQUEST, PATIENT)
    want = stub_layers(OTHER_INPUTS)
    outputs = [layer.outputs[0] for layer in got.inspections[0].layers]
    assert outputs[0] == want[0]
    assert outputs[1] == bytes([want[1][0] ^ 1]) + want[1][1:]
    assert outputs[2] != want[2], "the next layer computes with what is in the arena"


def test_dead_counter_is_refused_by_the_firmware() -> None:
    with wire(host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_DEAD_COUNTER")) as board:
        with pytest.raises(FirmwareError, match="counter_self_test"):
            capture(board, EXPECTED, REQUEST, PATIENT)


def test_engine_that_cannot_start_is_an_error_of_the_firmware() -> None:
    with wire(host_firmware("STUB_INIT_CODE=-7")) as board, pytest.raises(FirmwareError) as caught:
        capture(board, EXPECTED, REQUEST, PATIENT)
    assert caught.value.context["error"] == "engine_init"


def test_watch_tells_of_a_dead_target() -> None:
    def watch() -> None:
        raise LockupError("The core locked up.")

    with wire(host_firmware("HARNESS_TEST_FAULT=TEST_FAULT_HANG")) as board, pytest.raises(LockupError) as caught:
        capture(board, EXPECTED, REQUEST, PATIENT, watch)
    assert caught.value.context["raw_bytes"] > 0


def test_no_counters_means_no_numbers_not_zeros() -> None:
    with wire(host_firmware("HOST_WITHOUT_COUNTERS=1")) as board:
        got = capture(board, EXPECTED, REQUEST, PATIENT)
    assert got.clean is None and got.passes == ()
    assert got.unavailable["clean window"] == NO_COUNTERS
    assert got.unavailable["ARM_PMU_INST_RETIRED"] == NO_COUNTERS
    assert len(got.inferences) == 2


def test_core_without_pmu_counts_cycles_and_says_so_of_the_rest() -> None:
    with wire(host_firmware("HOST_WITHOUT_EVENTS=1")) as board:
        got = capture(board, EXPECTED, REQUEST, PATIENT)
    assert got.hello.counter_unit == "dwt"
    assert [(record.name, record.counters[0]) for record in got.passes] == [("emulator", "ARM_PMU_CPU_CYCLES")]
    assert "no PMU" in got.unavailable["ARM_PMU_MVE_INST_RETIRED"]


def old_result() -> bytes:
    """Everything that an earlier, complete boot said."""
    with wire(host_firmware()) as board:
        return capture(board, EXPECTED, REQUEST, PATIENT, nonce=1).raw


class ReplayWire:
    """A buffer with a complete result of an earlier boot; the new boot says nothing."""

    name = "replay"

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, max_bytes: int = 65536) -> bytes:
        piece, self._data = self._data[:997], self._data[997:]
        return piece

    def write(self, data: bytes) -> int:
        return len(data)

    def close(self) -> None:
        pass


def test_stale_result_of_an_earlier_boot_is_no_result() -> None:
    with pytest.raises(DeadlineError) as caught:
        capture(ReplayWire(old_result()), EXPECTED, REQUEST, SHORT, nonce=2)
    assert "earlier session" in caught.value.context["last_heard"]


def test_stale_result_before_a_new_one_is_passed_over_and_noted() -> None:
    stale = old_result()

    def spoil(number: int, frame: Frame) -> list[bytes]:
        return [stale, encode_frame(frame)] if number == 0 else whole(frame)

    with wire(host_firmware()) as board:
        got = capture(SpoiledWire(board, spoil), EXPECTED, REQUEST, PATIENT, nonce=2)
    assert any("earlier session" in event for event in got.events)


def test_echo_of_our_own_commands_is_ignored_and_noted() -> None:
    class Echo(SpoiledWire):
        echoed = b""

        def write(self, data: bytes) -> int:
            taken = self._inner.write(data)
            self.echoed += data[:taken]
            return taken

        def read(self, max_bytes: int = 65536) -> bytes:
            # Whole commands only: an echo inside a frame would be damage.
            cut = self.echoed.rfind(b"\0") + 1
            echoed, self.echoed = self.echoed[:cut], self.echoed[cut:]
            return super().read(max_bytes) + echoed

    with wire(host_firmware()) as board:
        got = capture(Echo(board, lambda _, frame: whole(frame)), EXPECTED, REQUEST, PATIENT)
    assert any("came back" in event for event in got.events)
