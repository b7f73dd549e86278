"""The serial transport on ptys: whole captures, ports that vanish and come back, ports that others hold."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.capture.conversation import capture
from harness.capture.request import CaptureDeadlines
from harness.core.deadline import Deadline
from harness.core.errors import BoardBusyError, DeadlineError, ProbeError, ProtocolError
from harness.probe.serial_port import SerialTransport, boot, find_port, same_serial
from harness.probe.transports import Link, PortPlace
from tests.capture.wires import EXPECTED, PATIENT, REQUEST, ProcessWire, wire
from tests.firmware.host_build import host_firmware


class Adapter:
    """A pty whose far side is the host firmware: what a USB-to-UART adapter is to a board."""

    def __init__(self, wire: ProcessWire) -> None:
        self._wire = wire
        self._lock = threading.Lock()
        self._stop = False
        self._master = -1
        self.path: str | None = None
        self._next = pty.openpty()
        self.plug()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def plug(self) -> None:
        """Appear under a new name."""
        master, slave = self._next
        tty.setraw(slave)
        os.set_blocking(master, False)
        path = os.ttyname(slave)
        with self._lock:
            self._master, self._slave, self.path = master, slave, path

    def pull(self) -> None:
        """Vanish, with whatever is on its way."""
        # Made before the old one goes, so that it has another name.
        self._next = pty.openpty()
        with self._lock:
            self.path = None
            os.close(self._slave)
            os.close(self._master)
            self._master = -1

    def _pump(self) -> None:
        up = down = b""
        while not self._stop:
            with self._lock:
                up, down = self._step(up, down) if self._master >= 0 else (b"", b"")
            time.sleep(0.0005)

    def _step(self, up: bytes, down: bytes) -> tuple[bytes, bytes]:
        with suppress(BlockingIOError):
            down = down or os.read(self._master, 4096)
        down = down[self._wire.write(down) :] if down else b""
        up = up or self._wire.read(4096)
        with suppress(BlockingIOError):
            up = up[os.write(self._master, up) :] if up else b""
        return up, down

    def close(self) -> None:
        self._stop = True
        self._thread.join(10)
        if self.path is not None:
            self.pull()
        for end in self._next:
            os.close(end)


@pytest.fixture
def adapter() -> Iterator[Adapter]:
    with wire(host_firmware()) as firmware:
        made = Adapter(firmware)
        yield made
        made.close()


def opened(adapter: Adapter, **options: Any) -> SerialTransport:
    transport = SerialTransport(lambda: adapter.path, 115200, "board 7", **options)
    transport.open(Deadline(10, "the port"))
    return transport


def test_a_whole_capture_over_a_port_is_the_one_over_a_pipe(adapter: Adapter) -> None:
    with wire(host_firmware()) as pipe:
        expected = capture(pipe, EXPECTED, REQUEST, PATIENT, nonce=5)
    transport = opened(adapter)
    got = capture(transport, EXPECTED, REQUEST, PATIENT, nonce=5)
    # Opening a port discards what was said at the boot, before it was opened.
    assert expected.raw.endswith(got.raw.lstrip(b"\0")) and transport.events == []
    assert got.inferences == expected.inferences and len(got.passes) == len(expected.passes)
    transport.close()


def read_some(transport: SerialTransport, seconds: float = 5.0) -> bytes:
    deadline = Deadline(seconds, "bytes")
    while not (data := transport.read()):
        deadline.check()
        time.sleep(0.001)
    return data


def test_a_port_that_comes_back_under_another_name_goes_on_and_the_gap_is_recorded(adapter: Adapter) -> None:
    transport = opened(adapter)
    first = transport.path
    gone = threading.Event()

    def moved(phase: str) -> None:
        if phase == "window" and not gone.is_set():
            gone.set()
            adapter.pull()
            assert transport.read() == b"", "a port that is away has no bytes, and is no error yet"
            adapter.plug()

    got = capture(transport, EXPECTED, REQUEST, PATIENT, progress=moved, nonce=5)
    assert got.inferences and transport.path != first
    vanished, back = transport.events
    assert first in vanished and "vanished" in vanished and "s after the boot" in vanished
    assert transport.path in back and "away 0." in back
    transport.close()


def test_a_port_that_stays_away_is_an_error_with_the_times(adapter: Adapter) -> None:
    transport = opened(adapter, reopen_seconds=0.1)
    adapter.pull()
    with pytest.raises(ProbeError, match="vanished and did not come back") as caught:
        read_some(transport)
    assert "after the boot" in caught.value.why and caught.value.context["events"]
    assert transport.write(b"") == 0
    transport.close()
    transport.close()
    with pytest.raises(ProbeError, match="was closed"):
        transport.read()


def test_bytes_lost_while_the_port_was_away_are_seen(adapter: Adapter) -> None:
    transport = opened(adapter)
    pulled = False

    class Losing:
        name = "losing"

        def read(self, max_bytes: int = 65536) -> bytes:
            nonlocal pulled
            data = transport.read(64)
            if data and not pulled and transport._port.in_waiting:
                pulled = True
                adapter.pull()
                adapter.plug()
            return data

        def write(self, data: bytes) -> int:
            return transport.write(data)

        def close(self) -> None:
            transport.close()

    # A gap in the middle is a damaged or missing frame; where the last record went with it, nothing more comes.
    with pytest.raises((ProtocolError, DeadlineError)):
        capture(Losing(), EXPECTED, REQUEST, CaptureDeadlines(*(1.0,) * 7), nonce=5)
    assert len(transport.events) == 2
    transport.close()


def test_a_port_that_another_process_has_open_is_refused_with_its_holder(adapter: Adapter) -> None:
    code = (
        "import serial,sys; p=serial.Serial(sys.argv[1], exclusive=True); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(adapter.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None and other.stdin is not None
    assert other.stdout.readline() == b"open\n"
    with pytest.raises(BoardBusyError) as caught:
        opened(adapter)
    assert caught.value.context["pid"] == other.pid and str(other.pid) in caught.value.why
    other.stdin.close()
    assert other.wait(10) == 0
    opened(adapter).close()


def test_a_port_that_is_not_there_ends_with_the_deadline(tmp_path: Path) -> None:
    place = PortPlace(str(tmp_path / "ttyNONE"))
    assert find_port(place) is None
    transport = SerialTransport(lambda: find_port(place), 115200, "board 7")
    with pytest.raises(DeadlineError) as caught:
        transport.open(Deadline(0.05, "the port"))
    assert "no such port" in caught.value.why


def test_something_that_is_no_port_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    transport = SerialTransport(lambda: str(tmp_path / "file"), 115200, "board 7")
    with pytest.raises(ProbeError, match="cannot be opened"):
        transport.open(Deadline(5, "the port"))


def test_ports_are_found_by_the_serial_number_of_their_usb_device(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [
        SimpleNamespace(device="/dev/ttyACM7", serial_number=None),
        SimpleNamespace(device="/dev/ttyACM8", serial_number="000683012345"),
    ]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)
    assert find_port(PortPlace(usb_serial="683012345")) == "/dev/ttyACM8"
    assert find_port(PortPlace(usb_serial="683012346")) is None
    assert same_serial("00AB", "00AB") and not same_serial("AB", "00AB") and not same_serial("", "")


def test_a_board_without_a_port_is_told_what_to_write() -> None:
    with pytest.raises(ProbeError) as caught:
        boot(Link(None, "board 7"), Deadline(1, "the boot"))  # type: ignore[arg-type]
    assert "ports:" in caught.value.todo


def test_a_failed_boot_leaves_the_port_free(adapter: Adapter) -> None:
    class Dead:
        def reset(self) -> None:
            raise ProbeError("dead")

    link = Link(Dead(), "board 7", port=PortPlace(str(adapter.path)))  # type: ignore[arg-type]
    with pytest.raises(ProbeError, match="dead"):
        boot(link, Deadline(5, "the boot"))
    opened(adapter).close()
