"""`harness analyze`: figures that other parts of the package, or arithmetic by hand, give too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness.engines.aot.analyze import analyze
from harness.engines.aot.engine import AotEngine
from harness.engines.base import EngineOptions
from harness.model.load import load_model
from tests.engines.cases import seeded_model

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.tflite"
OPTIONS = EngineOptions({})


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "harness.cli", "analyze", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def test_totals_are_those_of_the_generated_engine(tmp_path: Path) -> None:
    for number, data in enumerate((DIGITS.read_bytes(), seeded_model(2))):
        file = tmp_path / f"{number}.tflite"
        file.write_bytes(data)
        model = load_model(file)
        found = analyze(model, OPTIONS)
        out = tmp_path / str(number)
        out.mkdir()
        made = AotEngine().generate(model, OPTIONS, out)
        assert found.arena_bytes == made.arena_bytes
        assert found.arena_peak_bytes <= found.arena_bytes
        assert [row.macs for row in found.operators] == [layer.macs for layer in made.layers]
        assert [row.output_bytes for row in found.operators] == [sum(layer.output_bytes) for layer in made.layers]
        for row in found.operators:
            # Whatever an operator writes is in use while it runs.
            assert row.arena_bytes >= row.output_bytes + row.scratch_bytes


def test_command_prints_the_same_figures() -> None:
    printed = json.loads(command(DIGITS, "--json").stdout)
    found = json.loads(json.dumps(analyze(load_model(DIGITS), OPTIONS).to_dict()))
    assert printed == found
    text = command(DIGITS).stdout
    assert f"{found['macs']:,} MACs" in text and "#" in text
    peak = max(row["arena_bytes"] for row in found["operators"])
    bars = [line.split()[-1] for line in text.splitlines() if line.endswith("#")]
    assert len(bars) == len(found["operators"])
    assert {len(bar) for bar, row in zip(bars, found["operators"], strict=True) if row["arena_bytes"] == peak} == {40}


def test_what_is_no_model_is_an_error_in_words(tmp_path: Path) -> None:
    file = tmp_path / "m.tflite"
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    done = command(file, "--json")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "error" in json.loads(done.stdout)


def test_tensors_are_listed_once_with_their_sizes() -> None:
    model = load_model(DIGITS)
    found = analyze(model, OPTIONS)
    assert [tensor.nbytes for tensor in found.tensors] == [tensor.nbytes for tensor in model.tensors]
    assert sum(tensor.nbytes for tensor in found.tensors if tensor.constant) == found.parameter_bytes
    text = command(DIGITS, "--tensors").stdout
    assert "fc_weights" in text and "1280  constant" in text
