"""Starts a blank emulated board and keeps it no longer than its owner lives.

The emulator runs under `harness.core.guard`, which holds a pipe from this process: when this process is gone, however
it ended, the guard kills the emulator within moments. The guard also holds the kernel lock of the board's serial, so
that nobody starts a second emulator of that serial before the first one is really gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from harness.core.deadline import Deadline
from harness.core.errors import (
    BenchError,
    BoardBusyError,
    EmulatorError,
    HarnessError,
    LockupError,
    TargetError,
    ToolMissingError,
)
from harness.core.files import atomic_write
from harness.core.proc import clean_env, end_guarded, spawn_guarded
from harness.virtual.command import SWO, emulator_command
from harness.virtual.plugin_host import plugin_range
from harness.virtual.qmp import QmpClient
from harness.virtual.registry import Places, places, reclaim, try_lock, write_entry
from harness.virtual.usb import write_cdc_device

if TYPE_CHECKING:
    from harness.board.descriptor import BoardType
    from harness.board.emulation import EmulatedMemory, Emulator

QEMU = "qemu-system-arm"
QEMU_VARIABLE = "HARNESS_QEMU"
SOCKET_PATH_MAX = 107
CLEAR_SECONDS = 0.1
ANSWER_SECONDS = 2.0
"""How long a living emulator may take to answer before it counts as stuck."""
MemoryPath = Literal["auto", "qtest", "gdb"]


@dataclass(frozen=True)
class LaunchOptions:
    """How a board is started.

    Attributes:
        memory: how the virtual J-Link reaches memory: the fastest permitted way, qtest, or the debugger.
        counters: whether the counter plugin is loaded.
        known_devices: device names the virtual J-Link accepts beside the board's own.
        faults: what the virtual J-Link does wrong on purpose, as the registry words it.
        plugin_options: further options of the counter plugin, `key=value`.
    """

    memory: MemoryPath = "auto"
    counters: bool = True
    known_devices: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    plugin_options: tuple[str, ...] = ()


def qemu_program() -> Path:
    """The emulator: `HARNESS_QEMU`, else qemu-system-arm on PATH.

    Raises:
        ToolMissingError: it is not installed.
    """
    name = os.environ.get(QEMU_VARIABLE) or QEMU
    found = shutil.which(name)
    if found is None:
        raise ToolMissingError(
            f"{name} is not installed.",
            why="Emulated boards run on QEMU.",
            todo="apt-get install -y qemu-system-arm",
        )
    return Path(found)


class VirtualBoard:
    """One emulated board, started blank: nothing in its memory, its core stopped."""

    def __init__(self, board: BoardType, where: Places, process: subprocess.Popen[bytes]) -> None:
        self.board = board
        self.serial = where.serial
        self._where = where
        self._process = process
        self._stopped = False
        self._facts: dict[str, str | list[str]] = {}
        self.ports: dict[str, str] = {}
        """Ptys of the board's UARTs by transport."""

    @classmethod
    def start(
        cls, board: BoardType, serial: int, deadline: Deadline, options: LaunchOptions | None = None
    ) -> VirtualBoard:
        """Start a board under a serial and register it.

        Raises:
            ToolMissingError: QEMU is not installed.
            BoardBusyError: an emulator of this serial lives until the deadline.
            BenchError: QEMU ends at once, or does not answer.
        """
        options = options or LaunchOptions()
        if board.emulator is None:
            raise BenchError(
                f"{board.name} is not an emulated board type.", todo="`harness boards --types` says which."
            )
        program = qemu_program()
        reclaim()
        where = places(serial)
        _check_length(where)
        found = plugin_range(program, deadline) if options.counters else None
        command = emulator_command(program, board, board.emulator, where, found, options.plugin_options)
        lock = _take(where, deadline)
        try:
            where.clear()
            where.directory.mkdir(mode=0o700)
            with (where.directory / "stderr").open("wb") as stderr:
                process = spawn_guarded(
                    command,
                    env=clean_env(),
                    stdout=stderr,
                    stderr=stderr,
                    guard_fds=(lock,),
                )
        except BaseException:
            where.clear()
            raise
        finally:
            # From here on the guard alone holds the lock: it is free once the emulator is gone, not before, not later.
            os.close(lock)
        self = cls(board, where, process)
        try:
            self._register(board.emulator, deadline, options)
        except BaseException:
            self.stop()
            raise
        return self

    def _register(self, emulator: Emulator, deadline: Deadline, options: LaunchOptions) -> None:
        sockets = {name: self._where.directory / name for name in ("gdb", "qmp", "qtest", "qmp2")}
        while not all(path.exists() for path in sockets.values()):
            if self._process.poll() is not None:
                raise BenchError(
                    f"The emulator of {self.board.name} ended at once.",
                    why=_last_lines(self.stderr(), 3),
                    todo="`harness doctor` checks the emulator and the counter plugin.",
                )
            deadline.check("the emulator runs but has no sockets yet")
            time.sleep(0.002)
        with QmpClient(sockets["qmp2"], deadline) as qmp:
            pages = {
                name: qmp.host_address(address)
                for name, address in (
                    ("dwt", emulator.pages.dwt),
                    ("pmu", emulator.pages.pmu),
                    ("observer", emulator.pages.observer),
                    ("itm", emulator.pages.itm),
                )
                if address is not None
            }
            atomic_write(
                self._where.directory / "pages",
                "".join(f"{name}={address:#x}\n" for name, address in pages.items() if address is not None),
            )
            self.ports = qmp.ptys()
            if "cdc" in self.ports:
                write_cdc_device(self.usb_tree, self.serial, self.ports["cdc"])
            regions = [_region(qmp, part) for part in emulator.qemu_memory if part.kind != "device"]
        self._facts = {
            "version": "1",
            "serial": str(self.serial),
            "board": self.board.name,
            "device": self.board.jlink.device,
            "core": self.board.core.name.title(),
            "gdb": str(sockets["gdb"]),
            "qmp": str(sockets["qmp"]),
            "qtest": str(sockets["qtest"]),
            "alive": str(self._where.lock),
            "lock": str(self.probe_lock),
            "usb": str(self.usb_tree),
            "swo": str(self._where.directory / SWO),
            "memory": options.memory,
            "region": regions,
            **{f"port.{name}": path for name, path in self.ports.items()},
            "word": [f"{word.address:#x},{word.value:#x}" for word in emulator.debug_words],
            "fault": list(options.faults),
            "known": [name for name in options.known_devices if name != self.board.jlink.device],
        }
        write_entry(self._where, self._facts)

    def plan_faults(self, entries: Sequence[str]) -> None:
        """What the virtual J-Link does wrong on purpose from its next opening on, as the registry words it."""
        if list(entries) != self._facts["fault"]:
            self._facts = {**self._facts, "fault": list(entries)}
            write_entry(self._where, self._facts)

    @property
    def probe_lock(self) -> Path:
        """The file whose kernel lock a session of the virtual J-Link holds."""
        return self._where.directory / "probe.lock"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def directory(self) -> Path:
        """Sockets, pages file and standard error of the emulator."""
        return self._where.directory

    @property
    def usb_tree(self) -> Path:
        """Directory that describes the board's virtual USB device, in the kernel's layout."""
        return self._where.directory / "usb"

    @property
    def alive(self) -> bool:
        """Whether the emulator runs."""
        return not self._stopped and self._process.poll() is None

    def pid(self) -> int:
        """Process id of the emulator itself; it is the guard's only child.

        Raises:
            TargetError: it has ended.
        """
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        except OSError:
            children = []
        if not children:
            raise TargetError(f"The emulator of board {self.serial} has ended.")
        return int(children[0])

    def stderr(self) -> str:
        """What the emulator printed; empty once the board is stopped."""
        try:
            return (self._where.directory / "stderr").read_text("utf-8", "replace")
        except OSError:
            return ""

    def failure(self, patience: float = 1.0) -> HarnessError | None:
        """Why the emulator ended or does not answer, or None when it runs as it should after `patience` seconds."""
        if self._stopped:
            return None
        try:
            status = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return self._unresponsive()
        text = self.stderr()
        context = {"serial": self.serial, "board": self.board.name, "status": status, "emulator": text[-4000:]}
        where = f"board {self.serial} ({self.board.name})"
        if "Lockup" in text:
            line = next(line for line in text.splitlines() if "Lockup" in line)
            return LockupError(
                f"The core of {where} locked up.",
                why=line.strip(),
                todo="Look at the vector table and at the HardFault handler: a fault inside it, or no code at all.",
                context=context,
            )
        how = f"was killed by signal {status - 128}" if status > 128 else f"ended with status {status}"
        return EmulatorError(
            f"The emulator of {where} {how}.",
            why=_last_lines(text, 2),
            todo="Run again; if it repeats, keep the emulator's message for a report.",
            context=context,
        )

    def _unresponsive(self) -> HarnessError | None:
        """The error of an emulator that runs and does not answer; None when it answers."""
        state = ""
        with suppress(OSError, TargetError):
            state = Path(f"/proc/{self.pid()}/stat").read_text().rsplit(")", 1)[1].split()[0]
        reason = "Its process is stopped, by a signal or a debugger of this host."
        if state not in ("T", "t"):
            try:
                with QmpClient(self._where.directory / "qmp2", Deadline(ANSWER_SECONDS, "the emulator")) as qmp:
                    qmp.execute("query-status")
                return None
            except (OSError, HarnessError):
                reason = f"Its control socket was silent for {ANSWER_SECONDS:g} s; process state {state or 'unknown'}."
        return EmulatorError(
            f"The emulator of board {self.serial} ({self.board.name}) does not answer.",
            why=reason,
            todo="Let its process go on (SIGCONT) or end it, then run again.",
            context={"serial": self.serial, "board": self.board.name, "state": state},
        )

    def stop(self) -> None:
        """End the emulator and remove what it left. May be called more than once."""
        if self._stopped:
            return
        self._stopped = True
        end_guarded(self._process)
        # A listing may hold the lock for a moment; whoever has taken the serial for longer has cleared what was left.
        patience = Deadline(CLEAR_SECONDS, "the lock of an ended emulator")
        while (lock := try_lock(self._where.lock)) is None and not patience.expired:
            time.sleep(0.002)
        if lock is not None:
            try:
                self._where.clear()
            finally:
                os.close(lock)


def _region(qmp: QmpClient, part: EmulatedMemory) -> str:
    sectors = "".join(f";{size:#x},{count:#x}" for size, count in part.sectors)
    return f"{part.kind},{part.origin:#x},{part.length:#x},{_contiguous(qmp, part.origin, part.length):#x}{sectors}"


def _contiguous(qmp: QmpClient, origin: int, length: int) -> int:
    """The emulator's address of a region, or 0 when it is not one piece of plain memory."""
    first, last = qmp.host_address(origin), qmp.host_address(origin + length - 1)
    if first is None or last is None or last - first != length - 1:
        return 0
    return first


def _take(where: Places, deadline: Deadline) -> int:
    while (lock := try_lock(where.lock)) is None:
        if deadline.expired:
            raise BoardBusyError(
                f"An emulated board {where.serial} runs already.",
                why=f"Its lock {where.lock} is held by the process that guards it.",
                todo="Wait for the run that uses it, or name another serial.",
            )
        time.sleep(0.01)
    return lock


def _check_length(where: Places) -> None:
    longest = str(where.directory / "qtest")
    if len(os.fsencode(longest)) > SOCKET_PATH_MAX:
        raise BenchError(
            "The runtime directory's path is too long for sockets.",
            why=f"{longest} has {len(longest)} bytes; a socket path ends at {SOCKET_PATH_MAX}.",
            todo="Set HARNESS_RUNTIME_DIR to a short directory.",
        )


def _last_lines(text: str, count: int) -> str:
    lines = [line for line in text.splitlines() if line.strip() and ": warning: " not in line]
    return "\n".join(lines[-count:])
