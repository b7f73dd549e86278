"""What this host offers to emulated boards."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from harness.core.checks import Check, run_checks
from harness.core.deadline import Deadline
from harness.core.proc import clean_env, run_guarded
from harness.core.resources import runtime_root
from harness.virtual.counters import plugin_path
from harness.virtual.launcher import SOCKET_PATH_MAX, qemu_program
from harness.virtual.native_build import host_compiler, jlink_library
from harness.virtual.plugin_host import VERIFIED_INTERFACE, plugin_range

TOOL_SECONDS = 20.0


def emulator_checks() -> tuple[Check, ...]:
    """Checks of the emulator and its helpers. They change nothing but the cache of compiled helpers."""
    return run_checks(
        (
            ("emulator", _qemu),
            ("host compiler", _host_compiler),
            ("virtual J-Link", _shim),
            ("plugin interface", _plugin_api),
            ("counter plugin", _plugin),
            ("process memory", _process_memory),
            ("runtime directory", _runtime),
        )
    )


def _first_line(program: Path, *arguments: str) -> str:
    deadline = Deadline(TOOL_SECONDS, f"{program.name} to state its version", "this host")
    done = run_guarded([str(program), *arguments], deadline, env=clean_env())
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0].strip() if lines else f"status {done.status}"


def _qemu(name: str) -> Check:
    return Check(name, "ok", _first_line(qemu_program(), "--version"))


def _host_compiler(name: str) -> Check:
    return Check(name, "ok", _first_line(host_compiler(), "--version"))


def _shim(name: str) -> Check:
    return Check(name, "ok", f"compiled, {jlink_library().stat().st_size} bytes")


def _plugin_api(name: str) -> Check:
    found = plugin_range(qemu_program())
    if found is None or found.interface is None:
        says = "takes no plugins" if found is None else f"takes versions {found.oldest} to {found.newest}, none of ours"
        return Check(
            name,
            "warning",
            f"this QEMU {says}: boards run with instruction counts from -icount; all other counters are unavailable",
            "For counters use QEMU 7.2 of Debian 12, or another that takes plugins.",
        )
    says = f"versions {found.oldest} to {found.newest}; {found.interface} is used"
    if found.interface == VERIFIED_INTERFACE:
        return Check(name, "ok", says)
    return Check(name, "warning", f"{says}, unverified", "Counters verified by the project come from QEMU 7.2.")


def _plugin(name: str) -> Check:
    found = plugin_range(qemu_program())
    if found is None or found.interface is None:
        return Check(name, "ok", "not used: this QEMU cannot load it")
    return Check(name, "ok", f"compiled, {plugin_path(found.interface).stat().st_size} bytes")


def _process_memory(name: str) -> Check:
    """Whether a child's memory may be read: the same right that the virtual J-Link needs."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    level = scope.read_text().strip() if scope.exists() else "0"
    libc = ctypes.CDLL(None, use_errno=True)
    source, target = ctypes.create_string_buffer(b"x" * 8), ctypes.create_string_buffer(8)

    class Span(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))

    local, remote = Span(ctypes.addressof(target), 8), Span(ctypes.addressof(source), 8)
    try:
        count = libc.process_vm_readv(os.getpid(), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    except AttributeError:
        count = -1
    if count == 8 and level in ("0", "1"):
        return Check(name, "ok", f"permitted (ptrace_scope {level})")
    return Check(
        name,
        "warning",
        f"not permitted (ptrace_scope {level}); target memory is reached through the emulator, which is slower",
        "Set kernel.yama.ptrace_scope to 1, or grant CAP_SYS_PTRACE to the container.",
    )


def _runtime(name: str) -> Check:
    root = runtime_root()
    longest = len(os.fsencode(root / "boards" / "4294967295" / "qtest"))
    if longest > SOCKET_PATH_MAX:
        return Check(
            name, "missing", f"{root} is too long for sockets", "Set HARNESS_RUNTIME_DIR to a short directory."
        )
    return Check(name, "ok", str(root))
