"""Model files the engine is tried on: our own, shared ones, and those that installed packages carry."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DIGITS = REPOSITORY / "examples" / "digits" / "digits.tflite"
SHARED = REPOSITORY.parent / "shared" / "models"


def shared_models() -> list[Path]:
    """Models in the folder beside the repository, if there is one."""
    return sorted(SHARED.glob("*.tflite")) if SHARED.is_dir() else []


def wake_word_models() -> list[Path]:
    """The streaming models of the package pymicro-wakeword, if it is installed."""
    spec = find_spec("pymicro_wakeword")
    if spec is None or spec.origin is None:
        return []
    return sorted((Path(spec.origin).parent / "models").glob("*.tflite"))
