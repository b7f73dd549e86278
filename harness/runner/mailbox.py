"""The host's side of a power image's RAM records: what it is told before its windows, what it left after them."""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.capture.terminal import WIRE_GO, WIRE_STATE, Phase, PowerPlan, Terminal, TerminalError, parse_terminal
from harness.core.deadline import Deadline
from harness.core.errors import TargetError
from harness.image.elf import REQUEST_SYMBOL, TERMINAL_SYMBOL
from harness.runner.board import flash_board

if TYPE_CHECKING:
    from harness.bench.provider import BoardLease
    from harness.image.record import Build
    from harness.probe.jlink import JLinkProbe
    from harness.runner.deadlines import Deadlines

POLL_SECONDS = 0.002
LOCKSTEP_WIRES = WIRE_STATE | WIRE_GO


class Mailbox:
    """The host's side of a power image's RAM records. Uses the probe before and after the windows, never during."""

    def __init__(self, lease: BoardLease, image: Build, deadlines: Deadlines) -> None:
        self._lease = lease
        self._image = image
        self._deadlines = deadlines
        self._nonce = secrets.randbits(31) | 1
        request, terminal = (image.elf_facts.symbol(name) for name in (REQUEST_SYMBOL, TERMINAL_SYMBOL))
        assert request is not None and terminal is not None
        self._request, self._terminal = request, terminal

    @property
    def _name(self) -> str:
        return f"{self._lease.info.board_type} {self._lease.info.serial}"

    def flash(self, log: Callable[[str], None]) -> None:
        """Write the power image."""
        flash_board(self._lease, self._image, self._deadlines, log)

    def start(self, plan: PowerPlan, inputs: tuple[bytes, ...], wired: bool = False) -> PowerPlan:
        """Boot, hand over inputs and request, see them accepted, and let go of the probe.

        Returns:
            The plan as it was handed over: in lock-step when the host is `wired` and the board says that it is too.
        """
        probe = self._lease.open_probe()
        deadline = Deadline(self._deadlines["boot"], "the power image to start", self._name)
        probe.reset()
        # Memory survives a reset: an earlier record must not be taken for the new one.
        probe.write_memory(self._terminal.address, bytes(self._terminal.size))
        probe.go()
        booted = self._await(probe, (Phase.BOOTED,), deadline)
        data = b"".join(inputs)
        if len(data) != booted.inputs_bytes:
            raise TargetError(
                "The power image takes inputs of another size.", why=f"{booted.inputs_bytes}, not {len(data)} bytes."
            )
        plan = replace(plan, lockstep=wired and not LOCKSTEP_WIRES & ~booted.wires)
        probe.write_memory(booted.inputs_address, data)
        probe.write_memory(self._request.address + 4, plan.encode(self._nonce))
        probe.write_memory(self._request.address, struct.pack("<I", self._nonce))
        deadline = Deadline(self._deadlines["boot"], "the power image to accept its request", self._name)
        self._await(probe, (Phase.ACCEPTED, Phase.READY, Phase.WINDOW, Phase.DONE), deadline)
        self._lease.detach_probe()
        return plan

    def _await(self, probe: JLinkProbe, phases: tuple[Phase, ...], deadline: Deadline) -> Terminal:
        while True:
            found = self._read(probe)
            if found is not None and found.phase in phases:
                return found
            if found is not None and found.why_failed:
                raise TargetError("The power image failed before its windows.", why=f"It says: {found.why_failed}.")
            probe.check_target()
            deadline.check(f"phase {found.phase.name.lower()}" if found is not None else "no record in RAM")
            time.sleep(POLL_SECONDS)

    def _read(self, probe: JLinkProbe) -> Terminal | None:
        return parse_terminal(probe.read_memory(self._terminal.address, self._terminal.size), self._image.build_id)

    def terminal(self) -> Terminal | None:
        """The terminal record; the core is halted afterwards. None when there is none.

        Raises:
            TerminalError: it cannot be believed.
            ProbeError, TargetError: the board does not answer any more.
        """
        found = self._read(self._lease.open_probe())
        if found is not None and found.ended and found.nonce != self._nonce:
            raise TerminalError("The terminal record is of another boot.", why=f"Its nonce is {found.nonce:#x}.")
        return found
