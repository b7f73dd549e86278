"""The app on the emulated boards themselves, behind the virtual J-Link: whole captures, and the same numbers always."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from harness.bench.inventory import load_bench
from harness.bench.provider import LeaseRequest
from harness.capture.conversation import capture
from harness.capture.record import Capture
from harness.capture.request import WindowRequest
from harness.core.deadline import Deadline
from harness.core.errors import HardFaultError, HarnessError, LockupError
from tests.capture.wires import EXPECTED, INPUTS, OTHER_INPUTS, PATIENT, REQUEST, stub_layers
from tests.firmware.test_ports import link

BOARDS = ["mps2_an386", "mps3_an547"]


class Dawdling:
    """A transport that takes its time before each message."""

    name = "dawdling"

    def __init__(self, inner: object, seed: int) -> None:
        self._inner = inner
        self._random = random.Random(seed)

    def read(self, max_bytes: int = 65536) -> bytes:
        return self._inner.read(min(max_bytes, self._random.choice([64, 999, 65536])))  # type: ignore[attr-defined, no-any-return]

    def write(self, data: bytes) -> int:
        time.sleep(self._random.uniform(0, 0.05))
        return self._inner.write(data)  # type: ignore[attr-defined, no-any-return]

    def close(self) -> None:
        pass


def boot(board: str, elf: Path, times: int = 1, **change: object) -> list[Capture]:
    """Captures of as many boots of one image on one board, each with other delays."""
    with elf.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab").iter_symbols()
        address = next(symbol["st_value"] for symbol in symbols if symbol.name == "_SEGGER_RTT")
    request = replace(REQUEST, window=WindowRequest("auto", target_ms=20), iterations=30, **change)  # type: ignore[arg-type]
    expected = replace(EXPECTED, board_type=board)
    lease_request = LeaseRequest(board_types=(board,), serial=None, holder="test")
    with load_bench(None).lease(lease_request, Deadline(60, "a board")) as lease:
        probe = lease.open_probe()
        probe.flash(elf, lease.board_type)
        out = []
        for seed in range(times):
            transport = Dawdling(probe.boot_rtt(address, Deadline(20, "the boot")), seed)
            out.append(capture(transport, expected, request, PATIENT, probe.check_target, nonce=9))
        return out


def image(board: str, tmp_path: Path, *flags: str) -> Path:
    return link(board, tmp_path / "image.elf", f'-DHARNESS_BOARD_TYPE="{board}"', *flags)


@pytest.mark.parametrize("board", BOARDS)
def test_same_image_gives_the_same_numbers_whatever_the_host_does(board: str, tmp_path: Path) -> None:
    first, second, third = boot(board, image(board, tmp_path), times=3)
    assert first.raw == second.raw == third.raw

    assert first.hello.counter_unit == ("dwt" if board == "mps2_an386" else "armv8m-pmu")
    assert first.clean is not None
    assert first.clean.iterations >= 10
    assert len(set(first.clean.samples.tolist())) == 1, "a warm inference takes the same cycles each time"
    assert [item.outputs for item in first.inferences] == [(stub_layers(i)[2],) for i in (INPUTS, OTHER_INPUTS)]
    layers = tuple(layer.outputs[0] for layer in first.inspections[0].layers)
    assert layers == stub_layers(OTHER_INPUTS)

    cycles = [record.samples[:, :, 0] for record in first.passes]
    assert all(np.array_equal(cycles[0], other) for other in cycles), "no counter changes what it measures"
    emulator = next(record for record in first.passes if record.name == "emulator")
    instructions = emulator.samples[0, :, emulator.counters.index("emulator.instructions")]
    stores = emulator.samples[0, :, emulator.counters.index("emulator.stores")]
    # Layer 1 writes one sum for each of 3000 bytes: two more for the call and the ten bytes copied first.
    assert 3000 <= stores[1] <= 3010
    assert instructions[1] > 6 * 3000
    assert cycles[0].sum(axis=1)[0] > first.clean.samples[0], "reading around each layer costs"


@pytest.mark.parametrize("board", BOARDS)
def test_segments_do_not_change_what_is_measured(board: str, tmp_path: Path) -> None:
    """Every iteration of a warm pass is the same, whichever segment it falls into, though the host comes in between."""
    got = boot(board, image(board, tmp_path, "-DBOARD_SAMPLE_WORDS=256u"), times=2)
    for one in got:
        assert min(record.segments for record in one.passes) > 1
        for record in one.passes:
            assert np.array_equal(record.samples, np.broadcast_to(record.samples[0], record.samples.shape))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("fault", "error"), [("HARDFAULT", HardFaultError), ("LOCKUP", LockupError)])
def test_fault_on_the_core(board: str, fault: str, error: type[HarnessError], tmp_path: Path) -> None:
    elf = image(board, tmp_path, f"-DHARNESS_TEST_FAULT=TEST_FAULT_{fault}")
    with pytest.raises(error) as caught:
        boot(board, elf)
    if fault == "HARDFAULT":
        registers = caught.value.context["registers"]
        assert registers["bfar"] == 0xF0000000
        assert registers["cfsr"] & 0x8200 == 0x8200, "a precise bus fault with a valid address"
        with elf.open("rb") as stream:
            symbols = list(ELFFile(stream).get_section_by_name(".symtab").iter_symbols())
        names = {s.name for s in symbols if s["st_value"] & ~1 <= registers["pc"] < (s["st_value"] & ~1) + s["st_size"]}
        assert names & {"bad_access", "test_fault_in_pass"}
