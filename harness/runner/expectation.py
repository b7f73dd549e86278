"""What the outputs of a run are compared with: the host reference, what the caller has, or nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.core.errors import UsageError
from harness.engines.reference import LITERT_DEFAULT
from harness.results.outputs import OutputsCheck

if TYPE_CHECKING:
    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.runner.inputs import Given
    from harness.runner.reference import Reference

KINDS = ("reference", LITERT_DEFAULT, "none")


@dataclass(frozen=True)
class Expectation:
    """What outputs are compared with.

    Args:
        kind: one of `KINDS`; does not count when `given` is there.
        given: outputs that the caller has, as `harness.runner.inputs.tensor_cases` takes them; None: none.
        tolerance: largest allowed absolute error of a model output, in stored units.

    Raises:
        UsageError: an unknown kind, or a tolerance that is not a finite number from 0, or 0 where it cannot be.
    """

    kind: str = "reference"
    given: Any = None
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"expect={self.kind!r} is unknown.", todo=f"Use {', '.join(map(repr, KINDS))}.")
        if self.given is not None and self.kind != "reference":
            raise UsageError(
                f"Expected outputs are given, and expect={self.kind!r} asks for something else.",
                todo="Leave one of the two out.",
            )
        if not 0.0 <= self.tolerance < math.inf:
            raise UsageError(
                f"tolerance={self.tolerance!r} is not a finite number from 0.", todo="Give it in stored units."
            )
        if self.kind == LITERT_DEFAULT and self.tolerance == 0:
            raise UsageError(
                f"expect={LITERT_DEFAULT!r} needs a tolerance above 0.",
                why="Default LiteRT chooses its arithmetic by model and host; no engine follows it byte for byte.",
                todo="State how many stored units an output may be off, or compare with the host reference.",
            )

    def begin(
        self, build: Build, inferences: Given, timed: Given, inspect: int, deadline_seconds: float
    ) -> Future[Reference] | None:
        """Get the expected outputs, in the background when the host has to compute them.

        The outputs of `timed` come after those of `inferences`, when a reference is computed.

        Raises:
            SettingsError, UsageError: what was given does not fit the model.
        """
        from harness.runner.reference import given_reference, host_reference

        if self.given is not None:
            done: Future[Reference] = Future()
            done.set_result(given_reference(self.given, build.engine.output_tensors, len(inferences.cases)))
            return done
        if self.kind == "none":
            return None
        own = str(build.plan.settings["engine-config"].get("rounding", "tflm"))
        rounding = LITERT_DEFAULT if self.kind == LITERT_DEFAULT else own
        return _in_background(
            lambda: host_reference(
                build.model_path,
                build.plan.model.sha256,
                inferences=(*inferences.cases, *timed.cases),
                inspected=inferences.cases[: self.inspected(inspect)],
                rounding=rounding,
                deadline_seconds=deadline_seconds,
            )
        )

    def inspected(self, wanted: int) -> int:
        """How many inputs can be checked layer by layer, when so many are wanted."""
        return wanted if self.given is None and self.kind == "reference" else 0

    def compare(
        self, build: Build, capture: Capture, reference: Future[Reference] | None, log: Callable[[str], None]
    ) -> OutputsCheck:
        """The comparison of a capture with what `begin` gave; raises what kept the reference from being had."""
        if reference is None:
            return OutputsCheck.not_compared("the caller asked for no reference")
        from harness.runner.outputs import check_outputs

        expected = reference.result()
        log(f"reference: {expected.info}")
        count = len(capture.inferences)
        return check_outputs(
            build.engine.output_tensors,
            build.engine.layers,
            observed=[inference.outputs for inference in capture.inferences],
            expected=expected.outputs[:count],
            inspected=[[layer.outputs for layer in case.layers] for case in capture.inspections],
            # A runtime may report several operators as one layer, which ends with the last one's outputs.
            expected_layers=[[case[layer.source_index] for layer in build.engine.layers] for case in expected.layers],
            reference=expected.info,
            tolerance=self.tolerance,
            # What a streaming model's windows leave behind depends on how many inferences fitted into them.
            windows=None if build.engine.keeps_state else _output_checksums(capture),
            expected_windows=expected.outputs[-1] if len(expected.outputs) > count else None,
        )


def _output_checksums(capture: Capture) -> dict[str, int]:
    clean = {"clean window": capture.clean.outputs_crc32} if capture.clean is not None else {}
    return clean | {f"pass {item.name}": item.outputs_crc32 for item in capture.passes}


def _in_background(work: Callable[[], Reference]) -> Future[Reference]:
    """Run the reference while the board runs. A daemon thread: an interrupted run does not wait for its answer."""
    answer: Future[Reference] = Future()

    def target() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=target, name="reference", daemon=True).start()
    return answer
