"""Is the firmware that answered the one the build record describes?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from harness.capture.messages import HelloMessage, LayerMessage
from harness.capture.record import Hello, LayerInfo, Lifecycle, Scope
from harness.capture.request import ExpectedImage
from harness.capture.wire import INSTRUCTION_CLOCK, PROTOCOL_VERSION
from harness.core.errors import IdentityMismatchError

SCOPES: tuple[Scope, ...] = ("invoke_only", "restore_and_invoke")
LIFECYCLES: tuple[Lifecycle, ...] = ("carry", "single")


def check_version(hello: HelloMessage) -> None:
    """Refuse a firmware of another protocol.

    Raises:
        IdentityMismatchError: it is of another version.
    """
    if hello.protocol_version != PROTOCOL_VERSION:
        raise _mismatch([("protocol version", hello.protocol_version, PROTOCOL_VERSION)])
    if hello.timing_scope >= len(SCOPES) or hello.lifecycle >= len(LIFECYCLES):
        raise _mismatch([("timing scope and lifecycle", (hello.timing_scope, hello.lifecycle), "known ones")])


def check_identity(hello: HelloMessage, layers: Sequence[LayerMessage], expected: ExpectedImage) -> None:
    """Refuse an image that is not the expected one.

    Raises:
        IdentityMismatchError: lists every fact that differs.
    """
    facts: list[tuple[str, object, object]] = [
        ("build id", hello.build_id, expected.build_id),
        ("board type", hello.board_type, expected.board_type),
        ("model sha256", hello.model_sha256.hex(), expected.model_sha256),
        ("engine", hello.engine, expected.engine),
        ("input sizes", hello.input_bytes, expected.input_bytes),
        ("output sizes", hello.output_bytes, expected.output_bytes),
        ("operators", hello.op_count, expected.op_count),
        ("layer outputs", tuple(layer.output_bytes for layer in layers), expected.layer_output_bytes),
    ]
    if expected.operators is not None:
        facts.append(
            ("operator table", tuple((layer.name, layer.source_index) for layer in layers), expected.operators)
        )
    if expected.cpu_clock_hz is not None:
        facts.append(("CPU clock", hello.cpu_clock_hz, expected.cpu_clock_hz))
    if expected.timing_scope is not None:
        facts.append(("timing scope", SCOPES[hello.timing_scope], expected.timing_scope))
    if expected.lifecycle is not None:
        facts.append(("lifecycle", LIFECYCLES[hello.lifecycle], expected.lifecycle))
    wrong = [(name, got, wanted) for name, got, wanted in facts if got != wanted]
    if wrong:
        raise _mismatch(wrong)


def to_record(hello: HelloMessage, nonce: int, layers: Sequence[LayerMessage]) -> Hello:
    """The hello as a capture keeps it."""
    slots = hello.self_test.get("event_slots", 0)
    unit: Literal["dwt", "armv8m-pmu", "none"] = "armv8m-pmu" if slots else "dwt"
    if not hello.self_test.get("cycles_present", 0):
        unit = "none"
    observer = bool(hello.self_test.get("observer_count", 0))
    clocked = unit != "none" or not observer
    return Hello(
        protocol_version=hello.protocol_version,
        nonce=nonce,
        build_id=hello.build_id,
        board_type=hello.board_type,
        engine=hello.engine,
        model_sha256=hello.model_sha256.hex(),
        cpu_clock_hz=hello.cpu_clock_hz,
        window_clock=hello.window_clock if clocked else INSTRUCTION_CLOCK,
        window_clock_hz=hello.window_clock_hz if clocked else 0,
        counter_unit=unit,
        counter_slots=slots,
        observer=observer,
        arena_bytes=hello.arena_bytes,
        op_count=hello.op_count,
        input_bytes=hello.input_bytes,
        output_bytes=hello.output_bytes,
        sample_capacity=hello.sample_words,
        self_test=dict(hello.self_test),
        engine_version=hello.engine_version,
        scope=SCOPES[hello.timing_scope],
        lifecycle=LIFECYCLES[hello.lifecycle],
        layers=tuple(LayerInfo(item.index, item.source_index, item.name, item.output_bytes) for item in layers),
    )


def _mismatch(wrong: Sequence[tuple[str, object, object]]) -> IdentityMismatchError:
    return IdentityMismatchError(
        "The firmware that answers is not the image that was built.",
        why="; ".join(f"{name}: it says {got}, the build record {wanted}" for name, got, wanted in wrong) + ".",
        todo="Flash the image again and make sure that the lease is on the board that was flashed.",
        context={"differences": {name: [str(got), str(wanted)] for name, got, wanted in wrong}},
    )
