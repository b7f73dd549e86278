"""The command line of an emulated board: machine, sockets, ports, instruction count, counter plugin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.virtual import counters
from harness.virtual.plugin_host import PluginRange
from harness.virtual.registry import Places

if TYPE_CHECKING:
    from harness.board.descriptor import BoardType
    from harness.board.emulation import Emulator

EVENTS = "events"
"""Name of the gate log in a board's directory."""
SWO = "swo"
"""Name of the trace ring in a board's directory."""

PTY_MASTER = "/dev/ptmx"


def emulator_command(
    program: Path,
    board: BoardType,
    emulator: Emulator,
    where: Places,
    plugins: PluginRange | None,
    further: Sequence[str],
) -> Sequence[str]:
    """Arguments that start the emulator, blank and stopped; `further` are options of the counter plugin."""

    def socket(name: str) -> str:
        return f"unix:path={_option(where.directory / name)},server=on,wait=off"

    command = [str(program), "-M", emulator.machine, "-S", "-accel", "tcg", "-no-user-config", "-nodefaults"]
    command += ["-display", "none", "-monitor", "none", *_uarts(emulator)]
    # The order matters: the sockets exist from the first to the last once the last one does.
    command += ["-qtest", socket("qtest"), "-qtest-log", os.devnull, "-gdb", socket("gdb")]
    command += ["-qmp", socket("qmp"), "-qmp", socket("qmp2")]
    command += ["-icount", f"shift={emulator.icount_shift},align=off,sleep=off"]
    if plugins is not None and plugins.interface is not None:
        command += _plugin(board, where, plugins.interface, further)
    return command


def _uarts(emulator: Emulator) -> list[str]:
    """A pty for each UART that a transport uses; the others lead nowhere, and so do all on a host without ptys."""
    used = {index: name for name, index in emulator.uarts.items()} if os.access(PTY_MASTER, os.R_OK | os.W_OK) else {}
    options: list[str] = []
    for index in range(max(used, default=0) + 1):
        name = used.get(index)
        options += ["-chardev", f"pty,id={name}", "-serial", f"chardev:{name}"] if name else ["-serial", "null"]
    return options


def _plugin(board: BoardType, where: Places, interface: int, further: Sequence[str]) -> list[str]:
    arguments = counters.plugin_args(
        board, where.directory / "pages", events=where.directory / EVENTS, swo=where.directory / SWO
    )
    return ["-plugin", ",".join([f"file={_option(counters.plugin_path(interface))}", arguments, *further])]


def _option(path: Path) -> str:
    # QEMU splits options at commas and reads two of them as one; with the option named, the path may hold "=".
    return str(path).replace(",", ",,")
