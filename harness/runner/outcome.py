"""What a run that was captured and published hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.results.outputs import OutputsCheck

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.capture.record import Capture
    from harness.image.record import Build
    from harness.results.facts import MeasuredResult
    from harness.results.power import PowerEvidence
    from harness.results.types import RunEvaluation
    from harness.runner.attempts import FailedAttempt


@dataclass(frozen=True)
class RunOutcome:
    """A run that was captured and published.

    `capture` holds everything the target said; `result`, `evaluation` and `outputs` are what the bundle states,
    `inputs` where the inputs came from.
    """

    bundle: Path
    build: Build
    capture: Capture
    result: MeasuredResult
    evaluation: RunEvaluation
    outputs: OutputsCheck
    inputs: Mapping[str, Any]
    serial: int
    source: str
    seconds: float
    power: PowerEvidence | None = None
    failed_attempts: tuple[FailedAttempt, ...] = ()

    def __repr__(self) -> str:
        return f"<run on {self.build.plan.board} {self.serial} ({self.source}): {self.bundle}>"

    @property
    def clean_cycles(self) -> float | None:
        """Mean CPU cycles per inference in the clean window; None when its clock counts something else."""
        clean = self.result.facts.clean
        return clean.cycles if clean is not None else None

    @property
    def energy_per_inference_j(self) -> float | None:
        """Joules of one inference; None when it was suppressed, or no power was measured."""
        line = self.power.inference if self.power is not None else None
        return line.energy_j if line is not None else None

    @property
    def log(self) -> str:
        """Text that the firmware sent."""
        return self.capture.log

    @property
    def valid(self) -> bool:
        """Whether the measurements count."""
        return str(self.evaluation.validity) != "invalid"

    @property
    def flaky(self) -> bool:
        """Whether it took more than one attempt."""
        return bool(self.failed_attempts)

    def output_array(self, index: int = 0) -> NDArray[np.generic]:
        """One model output of every inference: shape (inferences, *output shape) in the tensor's element type."""
        import numpy as np

        tensor = self.build.engine.output_tensors[index]
        data = b"".join(inference.outputs[index] for inference in self.capture.inferences)
        array = np.frombuffer(data, np.dtype(tensor.dtype).newbyteorder("<"))
        return array.reshape((len(self.capture.inferences), *tensor.shape))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready summary, as `harness run --json` prints it. Figures that were not measured are None."""
        from harness.results.documents import total_cycles
        from harness.results.power import section as power_section

        return {
            "succeeded": True,
            "bundle": str(self.bundle),
            "board": self.build.plan.board,
            "serial": self.serial,
            "source": self.source,
            "validity": str(self.evaluation.validity),
            "issues": [{"code": i.code, "severity": i.severity, "message": i.message} for i in self.evaluation.issues],
            "inputs": {use: {k: v for k, v in said.items() if k != "inferences"} for use, said in self.inputs.items()},
            "outputs": self.outputs.to_dict(),
            "clean_cycles_per_inference": self.clean_cycles,
            "total_cycles": total_cycles(self.result.layers),
            "power": None if self.power is None else power_section(self.power),
            "failed_attempts": [attempt.to_dict() for attempt in self.failed_attempts],
            "seconds": round(self.seconds, 3),
        }
