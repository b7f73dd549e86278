"""The virtual J-Link's trace capture: what was traced before the start is not heard; what comes is heard once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.inventory import load_bench
from harness.bench.provider import LeaseRequest
from harness.capture.frames import Damaged, Frame, FrameDecoder
from harness.capture.wire import Record
from harness.core.deadline import Deadline
from harness.core.errors import ProbeError
from harness.probe.itm import ItmDecoder
from harness.virtual.command import SWO
from tests.firmware.test_ports import link

RING = 16 << 20


def test_capture_starts_with_its_start_and_counts_what_it_misses(tmp_path: Path) -> None:
    """The ring is filled by hand where the plugin would: nothing else here depends on the firmware."""
    with load_bench(None).lease(LeaseRequest(("mps2_an386",), None, "test"), Deadline(60, "a board")) as lease:
        probe = lease.open_probe()
        with pytest.raises(ProbeError, match="starting SWO"):
            probe.capture_swo(25_000_000, 1, 1)
        with (lease._hold.emulator.directory / SWO).open("r+b") as ring:  # type: ignore[attr-defined]

            def trace(written: int, data: bytes) -> None:
                for offset, byte in enumerate(data):
                    ring.seek(4096 + (written + offset) % RING)
                    ring.write(bytes([byte]))
                ring.seek(0)
                ring.write((written + len(data)).to_bytes(8, "little"))
                ring.flush()

            trace(RING - 5, b"before")
            capture = probe.capture_swo(25_000_000, 1_000_000, 1)
            assert capture.read() == b""
            trace(RING + 1, b"across the end")
            assert capture.read(6) == b"across" and capture.read() == b" the end" and capture.read() == b""
            capture.stop()
            trace(RING + 15, b"more")
            assert capture.read() == b""


def test_the_firmware_says_nothing_by_swo_that_it_says_otherwise(tmp_path: Path) -> None:
    elf = link("mps2_an386", tmp_path / "image.elf", "-DHARNESS_TRANSPORT=hal_itm", '-DHARNESS_BOARD_TYPE="mps2_an386"')
    with load_bench(None).lease(LeaseRequest(("mps2_an386",), None, "test"), Deadline(60, "a board")) as lease:
        probe = lease.open_probe()
        probe.flash(elf, lease.board_type)
        capture = probe.capture_swo(25_000_000, 1_000_000, 1)
        probe.reset()
        probe.go()
        decoder, deadline = ItmDecoder(), Deadline(10, "the first synchronisation")
        heard = b""
        while decoder.counts.syncs == 0:
            heard += decoder.feed(capture.read())
            deadline.check()
        frames = FrameDecoder().feed(heard)
        assert {(frame.type, frame.nonce) for frame in frames if isinstance(frame, Frame)} <= {(Record.BOOT, 0)}
        assert not any(isinstance(item, Damaged) for item in frames), "firmware not greeted says only that it booted"
