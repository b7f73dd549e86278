"""The arena is never larger than what tflite-micro plans for the same model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.engines.base import EngineOptions, get_engine
from harness.model.load import load_model
from tests.engines.cases import seeded_model
from tests.engines.real_models import DIGITS, shared_models, wake_word_models

UNROLLED = 64
RECORDER = """
import sys
from tflite_micro import runtime
model = open(sys.argv[1], "rb").read()
runtime.Interpreter.from_bytes(model, arena_size=1 << 26).print_allocations()
"""


def interpreter_arena(model: Path) -> dict[str, int]:
    """Bytes that the recording allocator of tflite-micro counts: `total`, and its parts `head` and `tail`."""
    done = subprocess.run(
        [sys.executable, "-c", RECORDER, str(model)], capture_output=True, text=True, timeout=60, check=True
    )
    found = re.findall(r"Arena allocation (total|head|tail) (\d+) bytes", done.stdout + done.stderr)
    return {part: int(count) for part, count in found}


@pytest.mark.parametrize("path", ["seeded", DIGITS, *shared_models(), *wake_word_models()], ids=lambda p: Path(p).stem)
def test_arena_is_not_above_that_of_tflite_micro(path: Path | str, tmp_path: Path) -> None:
    if path == "seeded":
        path = tmp_path / "seeded.tflite"
        path.write_bytes(seeded_model())
    model = load_model(path)
    made = get_engine("aot").generate(model, EngineOptions({}), tmp_path)
    theirs = interpreter_arena(Path(path))
    assert made.arena_bytes <= theirs["total"]
    if not any(op.name == "VAR_HANDLE" for op in model.operators):
        # Without state even its activations alone take no less, but for a window that convolutions unroll beside.
        assert made.arena_bytes <= theirs["head"] + UNROLLED
