"""The plugin on each version of QEMU's plugin interface: the real one for version 1, stand-ins for all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.virtual.counters import SOURCES, plugin_path
from harness.virtual.launcher import qemu_program
from harness.virtual.native_build import host_compiler
from harness.virtual.plugin_host import ADAPTED_INTERFACES, VERIFIED_INTERFACE, PluginRange, plugin_range

INTERFACES = (VERIFIED_INTERFACE, *ADAPTED_INTERFACES)
CODE = {
    "movs r0, #1": "2001",
    "adds r0, r0, #1": "3001",
    "mul.w r0, r1, r2": "fb01f002",
    "vadd.f32 s0, s0, s1": "ee300a20",
    "b .": "e7fe",
}
TIMES = 1000


def _run(interface: int, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = directory / f"stand_in_{interface}"
    source = Path(__file__).with_name("stand_in_emulator.c")
    command = [str(host_compiler()), "-std=c11", "-Wall", "-Wextra", "-Werror", "-rdynamic", f"-I{SOURCES}"]
    command += [f"-DCOUNTERS_INTERFACE={interface}", "-o", str(program), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return subprocess.run(
        [str(program), str(plugin_path(interface)), str(TIMES), "".join(CODE.values()), *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("interface", INTERFACES)
def test_counts_are_the_same_on_every_version(interface: int, tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    done = _run(interface, tmp_path, "cost.default=1", "cost.multiply=3", f"summary={summary}")
    assert (done.returncode, done.stderr) == (0, "")
    counts = dict(line.split("=") for line in summary.read_text().splitlines())
    executed = {name.split(".")[1]: int(value) for name, value in counts.items() if name.startswith("executed.")}
    assert executed == {"alu": 2 * TIMES, "multiply": TIMES, "fp_alu": TIMES, "branch": TIMES}
    assert int(counts["instructions"]) == len(CODE) * TIMES
    assert int(counts["cycles"]) == (len(CODE) + 2) * TIMES


@pytest.mark.parametrize("interface", INTERFACES)
def test_refuses_an_option_it_does_not_know(interface: int, tmp_path: Path) -> None:
    done = _run(interface, tmp_path, "cost.nonsense=1")
    assert done.returncode == 5 and "cost.nonsense=1" in done.stderr


@pytest.mark.parametrize(
    ("oldest", "newest", "expected"),
    [(0, 1, 1), (1, 2, 1), (2, 2, 2), (2, 3, 3), (2, 5, 3), (3, 9, 3), (4, 9, None), (0, 0, None)],
)
def test_the_version_that_is_chosen(oldest: int, newest: int, expected: int | None) -> None:
    assert PluginRange(oldest, newest).interface == expected


def test_this_emulator_is_asked_once_and_the_answer_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    first = plugin_range(qemu_program())
    assert first is not None and first.interface == VERIFIED_INTERFACE
    monkeypatch.setattr("harness.virtual.plugin_host.run_guarded", None)
    assert plugin_range(qemu_program()) == first


def _script(directory: Path, body: str) -> Path:
    program = directory / "emulator"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def test_an_emulator_without_plugins_has_no_range(tmp_path: Path) -> None:
    program = _script(tmp_path, "echo 'emulator: -plugin: invalid option' >&2; exit 1")
    assert plugin_range(program) is None


def test_an_emulator_that_left_version_1_behind_is_asked_again(tmp_path: Path) -> None:
    # What QEMU 9 and later say to a plugin of version 1; the second question declares the oldest they take.
    program = _script(
        tmp_path,
        f'count="{tmp_path}/count"\n'
        'if [ -e "$count" ]; then echo "plugin interface versions 2 to 4" >&2\n'
        'else touch "$count"; echo "TCG plugin requires version 1, but this QEMU supports only a minimum version of 2"'
        " >&2; fi\nexit 1",
    )
    assert plugin_range(program) == PluginRange(2, 4)
