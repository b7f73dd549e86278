"""One exception tree for everything that can go wrong.

An error says what happened, why or where, and what to do next. Its `code` is stable and machine-readable, its
`exit_code` is what the command line ends with, and its `fault_class` says whose fault it is: `infrastructure` errors
never look like a regression.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

FaultClass = Literal["usage", "model", "build", "bench", "target", "capture", "evidence", "comparability", "regression"]


class HarnessError(Exception):
    """Root of all errors the harness raises on purpose.

    Args:
        what: one line, what happened.
        why: one line, where or why.
        todo: one line, what to do next.
        context: facts for machines (JSON-ready); shown with `--json`.
    """

    code: ClassVar[str] = "harness.error"
    exit_code: ClassVar[int] = 1
    fault_class: ClassVar[FaultClass] = "usage"

    def __init__(self, what: str, *, why: str = "", todo: str = "", context: dict[str, Any] | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.todo = todo
        self.context: dict[str, Any] = dict(context or {})

    def __str__(self) -> str:
        return "\n".join(line for line in (self.what, self.why, self.todo) if line)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: code, class, what, why, todo, context."""
        return {
            "code": self.code,
            "class": self.fault_class,
            "what": self.what,
            "why": self.why,
            "todo": self.todo,
            "context": self.context,
        }


class InternalError(HarnessError):
    """A fault of the harness itself, shown in a line instead of a traceback."""

    code = "harness.internal"


class UsageError(HarnessError):
    """Settings, options or files that a person wrote cannot be used."""

    code = "usage.invalid"
    exit_code = 2


class SettingsError(UsageError):
    """A run setting is unknown, of the wrong type, or contradicts another."""

    code = "settings.invalid"


class BoardDescriptorError(UsageError):
    """A board-type descriptor cannot be used."""

    code = "board.descriptor_invalid"


class ProfileError(UsageError):
    """A comparison profile cannot be used."""

    code = "profile.invalid"


class PlanError(UsageError):
    """A frozen plan cannot be used: edited, of another version, or the world differs from what it froze."""

    code = "plan.invalid"


class ModelError(HarnessError):
    """The model file cannot be read or compiled."""

    code = "model.invalid"
    exit_code = 2
    fault_class = "model"


class UnsupportedModelError(ModelError):
    """The model is well-formed but asks for something the engine does not do."""

    code = "model.unsupported"


class BuildError(HarnessError):
    """A compiler or linker refused, or the image does not fit."""

    code = "build.failed"
    fault_class = "build"


class BenchError(HarnessError):
    """The bench cannot provide what was asked for."""

    code = "bench.unavailable"
    exit_code = 6
    fault_class: ClassVar[FaultClass] = "bench"


class ToolMissingError(BenchError):
    """A program the harness drives is not installed."""

    code = "bench.tool_missing"


class HostError(BenchError):
    """This host refused something a run needs: disk full, no permission, out of memory or descriptors."""

    code = "bench.host_failed"

    @classmethod
    def of(cls, fault: OSError) -> HostError:
        """The error that an operating-system error amounts to."""
        # Of a copy that failed, the second name is the one that was written.
        name = fault.filename2 or fault.filename
        where = f"{name}: " if name else ""
        return cls(f"{where}{fault.strerror or fault}", todo="Check the path, permissions and free space of this host.")


class NoBoardError(BenchError):
    """No board matches, or the choice is ambiguous."""

    code = "bench.no_board"


class BoardBusyError(BenchError):
    """Somebody else holds the board."""

    code = "bench.board_busy"


class WrongBoardError(BenchError):
    """What the probe reads is not the board type that was promised; nothing was written."""

    code = "bench.wrong_board"


class ProbeError(BenchError):
    """The debug probe failed: open, connect, flash, memory access."""

    code = "bench.probe_failed"


class FlashVerifyError(ProbeError):
    """Flash reads back other bytes than were written."""

    code = "bench.flash_verify"


class TargetError(HarnessError):
    """The firmware or the core under test failed."""

    code = "target.failed"
    fault_class = "target"


class HardFaultError(TargetError):
    """The core took a fault and its handler reported it."""

    code = "target.hard_fault"


class LockupError(TargetError):
    """The core locked up: it faulted inside its fault handler."""

    code = "target.lockup"


class RestartedError(TargetError):
    """The board began to boot anew in the middle of a capture: a watchdog, a brown-out, a reset by somebody else."""

    code = "target.restarted"


class EmulatorError(TargetError):
    """The emulator that stands in for a board ended or does not answer."""

    code = "target.emulator"


class FirmwareError(TargetError):
    """The firmware reported an error of its own."""

    code = "target.firmware_error"


class CaptureError(HarnessError):
    """What the target sent is not a complete, consistent capture."""

    code = "capture.failed"
    fault_class = "capture"


class DeadlineError(CaptureError):
    """A wait ended without what it waited for."""

    code = "capture.deadline"


class ProtocolError(CaptureError):
    """Frames are lost, corrupt, stale or out of order."""

    code = "capture.protocol"


class IdentityMismatchError(CaptureError):
    """The running image is not the one the build record describes."""

    code = "capture.identity_mismatch"


class EvidenceError(HarnessError):
    """A record on disk is tampered with, unreadable or incomplete."""

    code = "evidence.broken"
    exit_code = 5
    fault_class = "evidence"


class NotComparableError(HarnessError):
    """Two bundles must not be compared."""

    code = "compare.not_comparable"
    exit_code = 4
    fault_class = "comparability"


class RegressionFailed(AssertionError):
    """A verdict failed: the candidate is worse than the profile allows."""

    code: ClassVar[str] = "verdict.failed"
    exit_code: ClassVar[int] = 1
    fault_class: ClassVar[FaultClass] = "regression"


class InconclusiveVerdict(AssertionError):
    """The planned runs are spent, and neither a regression nor its absence is sure."""

    code: ClassVar[str] = "verdict.inconclusive"
    exit_code: ClassVar[int] = 7


INFRASTRUCTURE: frozenset[FaultClass] = frozenset({"build", "bench", "target", "capture", "evidence"})
"""Fault classes that pytest reports as `error`, never as a regression."""
