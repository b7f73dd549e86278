"""Every layer of every model file at hand, and of one of all operators, against tflite-micro.

On both boards, with both kernel sets.

Inferences run in a row from a reset state, and after another reset again with every layer sent to the host; 64 of a
streaming model, whose variables are compared with its layers. Arguments: names of models (default all).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.image.build import build
from harness.plan.freeze import freeze
from tests.e2e.conftest import BOARDS, DIGITS, QUICK
from tests.e2e.every_layer import (
    FILES,
    INPUTS,
    KERNELS,
    STREAMING,
    STREAMING_INPUTS,
    checked,
    every_operator,
    run_inputs,
)


def main(arguments: list[str]) -> int:
    """Run the campaign; returns the exit status."""
    models = {"digits": DIGITS, **FILES, "operators": None}
    unknown = set(arguments) - models.keys()
    if unknown:
        print(f"no model {', '.join(sorted(unknown))}; there are {', '.join(models)}")
        return 2
    columns = ("model", "board", "kernels", "layers", "states", "in a row", "bytes compared", "mismatching", "M insn")
    print(f"{columns[0]:18}{columns[1]:12}{columns[2]:10}" + "".join(f"{name:>15}" for name in columns[3:]))
    wrong = 0
    for name in arguments or models:
        for board in BOARDS:
            for kernels in KERNELS:
                with tempfile.TemporaryDirectory(prefix="harness-layers-") as place:
                    model = models[name] or Path(place) / "operators.tflite"
                    if models[name] is None:
                        model.write_bytes(every_operator())
                    made = build(freeze(model, board=board, backend=kernels, **QUICK), Path(place) / "build")
                    count = STREAMING_INPUTS if name in STREAMING else INPUTS
                    outcome = run_inputs(made, Path(place) / "bundle", count)
                found, clean = checked(outcome), outcome.capture.clean
                numbers = (found.layers, found.states, found.inferences, found.nbytes, found.mismatched)
                each = clean.observed["emulator.instructions"] / clean.iterations / 1e6 if clean else float("nan")
                print(f"{name:18}{board:12}{kernels:10}" + "".join(f"{n:15,}" for n in numbers) + f"{each:15.3f}")
                sys.stdout.flush()
                wrong += outcome.outputs.match is not True or found.layers != len(made.engine.layers)
    print(f"{wrong} of all runs differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
