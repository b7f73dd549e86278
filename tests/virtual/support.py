"""Test firmware, and boards under serials that no other test process uses."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.bench.locks import SerialLock
from harness.board.descriptor import BoardType, load_board_type
from harness.core.deadline import Deadline
from harness.probe.base import Transport
from harness.probe.segments import symbol_address

FIRMWARE = Path(__file__).with_name("firmware")
BOARDS = ("mps2_an386", "mps3_an547")
TEST_SERIALS = 670_000_001


@dataclass(frozen=True)
class Image:
    """A compiled test firmware."""

    elf: Path
    board_type: BoardType
    greeting: bytes

    @property
    def rtt(self) -> int:
        """Address of the RTT control block."""
        return symbol_address(self.elf, "_SEGGER_RTT")

    def address(self, name: str) -> int:
        """Address of a symbol."""
        return symbol_address(self.elf, name)


def compile_image(board: str, directory: Path, greeting: str = "HELLO\n") -> Image:
    """The test firmware for a board type."""
    board_type = load_board_type(board)
    elf = directory / f"{board}-{abs(hash(greeting)):x}.elf"
    cpu = next(flag for flag in board_type.core.cpuflags if flag.startswith("-mcpu="))
    text = greeting.replace("\n", "\\n")
    command = [
        *("arm-none-eabi-gcc", cpu, "-mthumb", "-mfloat-abi=soft", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"),
        *("-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", f'-DGREETING="{text}"'),
        f"-Wl,--defsym=CODE_ORIGIN={board_type.region('code').origin:#x}",
        f"-Wl,--defsym=RAM_ORIGIN={board_type.region('ram').origin:#x}",
        *("-T", str(FIRMWARE / "link.ld"), "-o", str(elf), str(FIRMWARE / "main.c")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return Image(elf, board_type, greeting.encode())


def take_serial() -> SerialLock:
    """A serial that is free on this host, locked until released."""
    for serial in range(TEST_SERIALS, TEST_SERIALS + 999):
        lock = SerialLock(serial)
        if lock.acquire("tests"):
            return lock
    raise AssertionError("no free test serial")


def read_until(transport: Transport, ending: bytes, seconds: float = 10.0) -> bytes:
    """Everything up to and with an ending."""
    return _read(transport, lambda heard: heard.endswith(ending), seconds)


def read_exactly(transport: Transport, size: int, seconds: float = 20.0) -> bytes:
    """At least so many bytes."""
    return _read(transport, lambda heard: len(heard) >= size, seconds)


def _read(transport: Transport, enough: Callable[[bytes], bool], seconds: float) -> bytes:
    deadline = Deadline(seconds, "bytes over RTT")
    parts: list[bytes] = []
    heard = b""
    while not enough(heard):
        part = transport.read()
        if part:
            parts.append(part)
            heard = b"".join(parts)
        deadline.check(repr(heard[-80:]))
    return heard


def write_all(transport: Transport, data: bytes, seconds: float = 10.0) -> None:
    """Every byte, as the target takes them."""
    deadline = Deadline(seconds, "the target to take bytes")
    while data:
        data = data[transport.write(data) :]
        deadline.check()


def within(seconds: float, holds: Callable[[], bool]) -> float | None:
    """Seconds until a condition holds; None when it does not in time."""
    start = time.monotonic()
    while not holds():
        if time.monotonic() - start > seconds:
            return None
        time.sleep(0.002)
    return time.monotonic() - start


def python_child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process running this code with pipes to its input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


def process_gone(pid: int) -> bool:
    """Whether a process has ended (a zombie counts as ended)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
