"""Compiles the firmware for this machine, against the stub engine, once per set of options."""

from __future__ import annotations

import atexit
import subprocess
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

ROOT = Path(__file__).parents[2]
FIRMWARE = ROOT / "firmware"
STUB = Path(__file__).parent / "stub"
INCLUDES = [f"-I{FIRMWARE}", f"-I{FIRMWARE / 'app'}", f"-I{FIRMWARE / 'hal'}", f"-I{STUB}"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]


def _directory() -> Path:
    made = Path(mkdtemp(prefix="harness-host-"))
    atexit.register(rmtree, made, ignore_errors=True)
    return made


def _compile(out: Path, sources: list[Path], flags: list[str]) -> Path:
    command = ["clang-14", *WARNINGS, *SANITIZE, *flags, *map(str, sorted(sources)), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


@cache
def host_firmware(*defines: str) -> Path:
    """The app as a program that talks over standard input and output."""
    port = FIRMWARE / "ports/host"
    sources = [path for folder in (FIRMWARE / "app", FIRMWARE / "hal", port, STUB) for path in folder.glob("*.c")]
    flags = ["-D_POSIX_C_SOURCE=200809L", *INCLUDES, f"-I{port}", *(f"-D{define}" for define in defines)]
    return _compile(_directory() / "firmware", sources, flags)


@cache
def host_program(source: str) -> Path:
    """A test program of the frame codec alone."""
    sources = [Path(__file__).parent / source, FIRMWARE / "app/frames.c"]
    return _compile(_directory() / "program", sources, [f"-I{FIRMWARE / 'app'}"])
