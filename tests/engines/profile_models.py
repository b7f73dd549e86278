"""One small model for each rounding profile, on which the other profile gives other bytes.

`python -m tests.engines.profile_models` writes them again; the test checks that they are what this makes.
"""

from __future__ import annotations

from pathlib import Path

from tests.engines.cases import batch

DIRECTORY = Path(__file__).with_name("models")
SEEDS = {"tflm": 2, "litert-ref": 2}
LAYERS = 16


def model_path(profile: str) -> Path:
    """Where the model of a profile is."""
    return DIRECTORY / f"rounding_{profile.replace('-', '_')}.tflite"


def make(profile: str) -> bytes:
    """The model of a profile: dense layers whose sums fall next to where the profiles round apart."""
    return batch("FULLY_CONNECTED", SEEDS[profile], LAYERS)


if __name__ == "__main__":
    for profile in SEEDS:
        model_path(profile).write_bytes(make(profile))
