"""The generated header that tells firmware which build it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from harness.board.transports import TRANSPORTS
from harness.plan.record import Plan

Lifecycle = Literal["carry", "single"]
TimingScope = Literal["invoke_only", "restore_and_invoke"]
Variant = Literal["profile", "power"]
"""What an image is for: profiled over a transport, or run without one while a power monitor looks on."""

FILE_NAME = "harness_build.h"
LIFECYCLES: Mapping[str, int] = {"carry": 0, "single": 1}
TIMING_SCOPES: Mapping[str, int] = {"invoke_only": 0, "restore_and_invoke": 1}


def build_header(plan: Plan, build_id: str, lifecycle: Lifecycle, timing_scope: TimingScope) -> str:
    """Text of `harness_build.h`. Nothing in it depends on the host, the directory or the date."""
    lines = [
        "/* Generated. */",
        "#ifndef HARNESS_BUILD_H",
        "#define HARNESS_BUILD_H",
        f'#define HARNESS_BUILD_ID "{build_id}"',
        f'#define HARNESS_BOARD_TYPE "{plan.board}"',
        f"#define HARNESS_CPU_CLOCK_HZ {plan.cpu_clock_hz}u",
        f"#define HARNESS_TIMING_SCOPE {TIMING_SCOPES[timing_scope]}",
        f"#define HARNESS_LIFECYCLE {LIFECYCLES[lifecycle]}",
        f"#define HARNESS_TRANSPORT {TRANSPORTS[plan.settings['transport']].firmware}",
    ]
    return "\n".join([*lines, "#endif", ""])


def fault_flags(fault: str) -> tuple[str, ...]:
    """Compiler flags of the application for the setting `test-fault`, as `firmware/app/test_fault.h` reads them."""
    if fault == "none":
        return ()
    name, _, number = fault.partition("@")
    where = "OP" if name == "corrupt" else "AT"
    flags = (f"-DHARNESS_TEST_FAULT=TEST_FAULT_{name.upper().replace('-', '_')}",)
    return (*flags, f"-DHARNESS_TEST_FAULT_{where}={number}u") if number else flags
