"""Numbers of the wire protocol, as in docs/wire-protocol.md and firmware/app/wire.h."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

INSTRUCTION_CLOCK = "emulator.instructions"
"""The window's clock where an emulator keeps no counters: it counts instructions and has no rate."""

PROTOCOL_VERSION = 2
RESET_STATE = 0x01
"""Flag of a pass: streaming state back to its initial value first."""
BUSY_LOOP = 0x02
"""Flag of a window: a busy loop of known length runs in place of each inference."""
BUSY_ROUNDS = 1000
"""Rounds of that loop."""
BUSY_ROUND_INSTRUCTIONS = 2
"""Instructions of one round."""


class Record(IntEnum):
    """Frames from the target."""

    HELLO = 0x01
    LAYER = 0x02
    LOG = 0x03
    INPUT_SET = 0x04
    TABLE = 0x05
    SAMPLES = 0x06
    OBSERVED = 0x07
    OUTPUT = 0x08
    LAYER_OUTPUT = 0x09
    PASS_END = 0x0A
    ERROR = 0x0B
    FAULT = 0x0C
    END = 0x0D
    BOOT = 0x0E


class Command(IntEnum):
    """Frames to the target."""

    HELLO = 0x81
    SET_INPUT = 0x82
    START = 0x83
    INSPECT = 0x84
    END = 0x85


class PassKind(IntEnum):
    """What a pass does."""

    WINDOW = 0
    COUNTERS = 1
    INFER = 2
    INSPECT = 3


class Source(IntEnum):
    """Which unit a column is read from."""

    CYCLES = 0
    EVENT = 1
    OBSERVER = 2
    SMALL = 3


class ColumnStatus(IntEnum):
    """Whether the target counts a column."""

    OK = 0
    UNSUPPORTED = 1
    NO_SLOT = 2


ERROR_NAMES: Mapping[int, str] = {
    1: "bad_frame",
    2: "sequence",
    3: "unknown_command",
    4: "bad_payload",
    5: "stale_nonce",
    6: "engine_init",
    7: "engine_invoke",
    8: "counter_self_test",
    9: "sample_memory",
    10: "input_incomplete",
    11: "lifecycle",
    12: "engine_events",
    13: "engine_arena",
}
