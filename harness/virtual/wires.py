"""The wires between an emulated board and whoever measures it: its state line is read, its go line is driven.

The state line is in the gate log. The go line is a word of RAM that the firmware reads as a pin's register; it is
written over QEMU's qtest socket, which only the virtual J-Link uses beside: the probe must be closed.
"""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np

from harness.core.deadline import Deadline
from harness.core.errors import BenchError
from harness.virtual.ppk2_signal import RECORD

KIND_STATE = 2


class VirtualWires:
    """State and go of one emulated board."""

    def __init__(self, log: Path, qtest: Path, go_address: int) -> None:
        self._log = log
        self._qtest = qtest
        self._address = go_address
        self._offset = 0
        self._ready = False

    def ready(self) -> bool:
        """Whether the state line is high."""
        try:
            whole = (self._log.stat().st_size - self._offset) // RECORD.itemsize
        except FileNotFoundError:
            return False
        if whole > 0:
            records = np.fromfile(self._log, RECORD, whole, offset=self._offset)
            self._offset += records.nbytes
            states = records["arg"][records["kind"] == KIND_STATE]
            self._ready = bool(states[-1]) if len(states) else self._ready
        return self._ready

    def go(self, high: bool, deadline: Deadline) -> None:
        """Drive the go line.

        Raises:
            BenchError: the emulator does not take it.
        """
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.settimeout(max(deadline.remaining(), 0.001))
                link.connect(str(self._qtest))
                link.sendall(f"writel {self._address:#x} {int(high):#x}\n".encode())
                answer = b""
                while b"\n" not in answer:
                    part = link.recv(256)
                    if not part:
                        raise ConnectionResetError("it closed the connection")
                    answer += part
        except OSError as error:
            raise BenchError(
                "The go line of the emulated board cannot be driven.", why=str(error), todo="Run again."
            ) from None
        if not answer.startswith(b"OK"):
            raise BenchError(
                "The go line of the emulated board cannot be driven.", why=answer.decode("ascii", "replace")
            )
