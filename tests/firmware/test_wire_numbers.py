"""The protocol's numbers are the same in C, in Python and in the document."""

from __future__ import annotations

import re

from harness.capture.commands import PassCommand
from harness.capture.events import OBSERVATIONS
from harness.capture.frames import FLAG_LAST, MAX_PAYLOAD
from harness.capture.wire import ERROR_NAMES, PROTOCOL_VERSION, Command, PassKind, Record
from tests.firmware.host_build import FIRMWARE, ROOT

HEADER = (FIRMWARE / "app/wire.h").read_text()
DOCUMENT = (ROOT / "docs/wire-protocol.md").read_text()


def numbers(prefix: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(rf"\b{prefix}_(\w+) = (0x\w+|\d+)", HEADER)}


def test_records_and_commands() -> None:
    records = numbers("WIRE")
    assert {kind.name: kind.value for kind in Record}.items() <= records.items()
    assert numbers("WIRE_CMD") == {command.name: command.value for command in Command}
    assert numbers("WIRE_PASS") == {
        **{kind.name: kind.value for kind in PassKind},
        "END": Record.PASS_END.value,
    }
    for kind in (*Record, *Command):
        assert f"| 0x{kind.value:02X} | {kind.name} |" in DOCUMENT


def test_errors() -> None:
    assert {name.lower(): code for name, code in numbers("WIRE_ERROR").items()} == {
        name: code for code, name in ERROR_NAMES.items()
    }
    for code in ERROR_NAMES:
        assert f"{code} " in DOCUMENT.split("### Error codes")[1]


def test_limits() -> None:
    assert f"#define WIRE_PROTOCOL_VERSION {PROTOCOL_VERSION}u" in HEADER
    assert f"#define WIRE_FLAG_LAST {FLAG_LAST:#04x}u" in HEADER
    assert f"#define FRAME_MAX_PAYLOAD {MAX_PAYLOAD}u" in (FIRMWARE / "app/frames.h").read_text()
    conversation = (FIRMWARE / "app/conversation.c").read_text()
    assert f"#define START_FIXED_BYTES {len(PassCommand(1, PassKind.INFER, 1).payload())}u" in conversation


def test_observations() -> None:
    source = (FIRMWARE / "hal/observer.c").read_text()
    assert tuple(re.findall(r'"(emulator\.\w+)"', source)) == OBSERVATIONS
