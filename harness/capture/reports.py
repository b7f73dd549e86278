"""What the firmware reports of itself, as errors: a fault, a new boot, a refusal."""

from __future__ import annotations

from harness.capture.messages import BootMessage, ErrorMessage, FaultMessage
from harness.core.errors import FirmwareError, HardFaultError, HarnessError, ProtocolError, RestartedError

_DAMAGED_COMMAND = frozenset({"bad_frame", "sequence", "stale_nonce"})
_FIRMWARE_TODO = {
    "counter_self_test": "Check the counter unit: trace enabled, debugger attached, emulator plugin loaded.",
    "sample_memory": "Measure fewer counters at once, or raise the port's sample memory.",
    "lifecycle": "Build with lifecycle carry to run more than one inference per boot.",
    "engine_init": "Look up the engine's code; most often the arena is too small.",
    "engine_invoke": "Look up the engine's code.",
    "engine_events": "Report each operator of the engine's table once, in order, around what it does.",
    "engine_arena": "Mend the engine, or give it a larger arena-size.",
}


def report_error(report: FaultMessage | BootMessage, where: str, last_heard: str) -> HarnessError:
    """The error of a fault, or of a boot in the middle of a capture, that the firmware reported."""
    if isinstance(report, FaultMessage):
        return _fault_error(report, where)
    cause = f"reset cause {report.cause:#010x}" if report.cause else "the chip tells no cause"
    return RestartedError(
        f"The board {where} began to boot anew in the middle of the capture.",
        why=f"After {last_heard}; {cause}: a watchdog, a supply that broke down, or a reset by somebody else.",
        todo="Check the supply, the firmware's watchdog and who else reaches the board; then run again.",
        context={"cause": report.cause, "last_heard": last_heard},
    )


def _fault_error(fault: FaultMessage, where: str) -> HardFaultError:
    registers = fault.registers
    names = {3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
    exception = names.get(registers["exception"], f"exception {registers['exception']}")
    shown = ", ".join(f"{name} {registers[name]:#010x}" for name in ("pc", "lr", "cfsr", "hfsr", "mmfar", "bfar"))
    return HardFaultError(
        f"The core took a {exception} on {where}.",
        why=shown + ".",
        todo="Look up pc and lr in the image's ELF; the registers and the stack are in the error's context.",
        context={"registers": dict(registers), "stack": list(fault.stack)},
    )


def firmware_error(message: ErrorMessage, where: str) -> HarnessError:
    """The error of a refusal."""
    context = {"error": message.name, "code": message.code, "detail": message.detail}
    if message.name in _DAMAGED_COMMAND:
        return ProtocolError(
            f"A command did not reach the firmware as it was sent: {message.text}.",
            why=f"The firmware on {where} reports {message.name}, detail {message.detail}.",
            todo="Capture again; if it recurs, check the probe and its speed.",
            context={"kind": "command", **context},
        )
    return FirmwareError(
        f"The firmware reports {message.name}: {message.text}.",
        why=f"On {where}; detail {message.detail} ({message.detail:#x}).",
        todo=_FIRMWARE_TODO.get(message.name, "Look at the target log."),
        context=context,
    )
