"""Runs small programs on an emulated core with the counter plugin and returns what they print."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.board.descriptor import BoardType, load_board_type
from harness.core.deadline import Deadline
from harness.core.errors import TargetError
from harness.core.proc import end_guarded, spawn_guarded
from harness.virtual import counters
from harness.virtual.qmp import QmpClient

FIRMWARE = Path(__file__).with_name("firmware")
BOARDS = ("mps2_an386", "mps3_an547")
OTHER_CORES = ("mps2_an500", "mps2_an505")
"""Where what depends on the core's instructions and addresses is tested too."""
SECONDS = 60.0


@dataclass(frozen=True)
class Run:
    """What a program printed, and the plugin's raw counts."""

    values: Mapping[str, int]
    summary: Mapping[str, int]
    output: str


def board_type(name: str) -> BoardType:
    """A shipped board type."""
    return load_board_type(name)


def build(board: BoardType, program: str | Path, directory: Path, *, flags: Sequence[str] = ()) -> Path:
    """Link a program that defines `probe`, by its name in firmware/ or its path; returns the ELF."""
    assert board.emulator is not None
    code, ram = board.region("code").origin, board.region("ram").origin
    script = (FIRMWARE / "link.ld.in").read_text().replace("@CODE@", f"{code:#x}").replace("@RAM@", f"{ram:#x}")
    (directory / "link.ld").write_text(script)
    source = program if isinstance(program, Path) else FIRMWARE / f"{program}.c"
    pages = board.emulator.pages
    defines = [f"-DDWT_PAGE={pages.dwt:#x}u", f"-DOBSERVER_PAGE={pages.observer:#x}u"]
    if pages.pmu is not None:
        defines.append(f"-DPMU_PAGE={pages.pmu:#x}u")
    elf = directory / "probe.elf"
    words = ["arm-none-eabi-gcc", *board.core.cpuflags, "-std=gnu11", "-O2", "-ffreestanding", "-nostartfiles"]
    words += ["-nostdlib", "-Wall", "-Werror", f"-I{FIRMWARE}", *defines, *flags]
    words += ["-Wl,-T", str(directory / "link.ld"), "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"]
    words += [str(FIRMWARE / "probe.c"), str(source), "-lgcc", "-o", str(elf)]
    subprocess.run(words, check=True, timeout=SECONDS)
    return elf


def _numbers(text: str, base: int) -> dict[str, int]:
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and ":" not in line)
    return {name: int(value, base) for name, value in pairs}


def read_summary(file: Path) -> dict[str, int]:
    """The raw counts and quantities that the plugin wrote."""
    return _numbers(file.read_text(), 10)


def command(board: BoardType, elf: Path, directory: Path, plugin: str | None) -> list[str]:
    """QEMU's command line; stopped at first, with a control socket."""
    assert board.emulator is not None
    words = ["qemu-system-arm", "-M", board.emulator.machine, "-S", "-no-user-config", "-nodefaults"]
    words += ["-display", "none", "-monitor", "none", "-serial", "null", "-kernel", str(elf)]
    words += ["-semihosting-config", "enable=on,target=native"]
    words += ["-qmp", f"unix:{directory / 'qmp'},server=on,wait=off"]
    words += ["-icount", f"shift={board.emulator.icount_shift},align=off,sleep=off"]
    return words + (["-plugin", plugin] if plugin is not None else [])


def run(board: BoardType, elf: Path, *, options: str = "") -> Run:
    """Run a program to its end. `options` are appended to the plugin's."""
    directory = Path(tempfile.mkdtemp(prefix="hc"))  # short: sockets have short paths
    try:
        arguments = counters.plugin_args(board, directory / "pages", summary=directory / "summary")
        plugin = f"{counters.plugin_path()},{arguments}" + (f",{options}" if options else "")
        output = execute(board, command(board, elf, directory, plugin), directory)
        return Run(_numbers(output, 16), read_summary(directory / "summary"), output)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _control(process: subprocess.Popen[bytes], socket: Path, deadline: Deadline) -> QmpClient:
    while True:
        assert process.poll() is None, process.stdout and process.stdout.read().decode()
        deadline.check("the emulator has no control socket yet")
        with suppress(TargetError):  # there, but not yet listening
            if socket.exists():
                return QmpClient(socket, deadline)
        time.sleep(0.002)


def execute(board: BoardType, words: Sequence[str], directory: Path) -> str:
    """Start a QEMU of `command`, hand over the pages' addresses, let it run to its end; returns what it printed."""
    deadline = Deadline(SECONDS, "the test program to end", board.name)
    process = spawn_guarded(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert board.emulator is not None
        with _control(process, directory / "qmp", deadline) as qmp:
            pages = {name: address for name, address in board.emulator.pages.model_dump().items() if address}
            lines = [f"{name}={qmp.host_address(address):#x}\n" for name, address in pages.items()]
            (directory / "pages").write_text("".join(lines))
            with suppress(OSError):  # a short program may end before the answer
                qmp.execute("cont")
        assert process.stdout is not None
        output = process.stdout.read().decode()
        assert process.wait(deadline.remaining()) == 0, output
        return output
    finally:
        end_guarded(process)
