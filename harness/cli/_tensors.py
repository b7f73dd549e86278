"""Options for model inputs and expected outputs, shared by the commands that run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from harness.core.errors import UsageError

INPUT_OPTION = typer.Option(
    "--input",
    metavar="[NAME=]FILE",
    help="Model input, raw bytes or .npy, by name or position, or in order; those left out are zero. Repeatable.",
)
SEED_OPTION = typer.Option("--input-seed", min=0, metavar="N", help="Random inputs from this seed.")
REFERENCE_OPTION = typer.Option(
    "--reference",
    metavar="WORD",
    help="What outputs are compared with: 'host', the reference of the rounding profile; 'litert-default', LiteRT as "
    "it comes, with --tolerance; 'none'.",
)
EXPECT_OPTION = typer.Option(
    "--expect",
    metavar="[NAME=]FILE",
    help="Expected output, raw bytes or .npy, by name or position, or in order, in place of the reference. Repeatable.",
)
TOLERANCE_OPTION = typer.Option("--tolerance", min=0.0, help="Largest output error, in stored units.")
_KINDS = {"host": "reference", "litert-default": "litert-default", "none": "none"}


def tensor_arguments(
    inputs: Sequence[str] | None,
    seed: int | None,
    reference: str,
    expect: Sequence[str] | None,
    tolerance: float,
) -> dict[str, Any]:
    """Keyword arguments of `harness.run` from the options.

    Raises:
        UsageError: they contradict each other, or a word is unknown.
    """
    if reference not in _KINDS:
        raise UsageError(
            f"--reference {reference!r} is unknown.",
            why=f"Known: {', '.join(_KINDS)}.",
            todo="Expected outputs in files are given with --expect.",
        )
    if inputs and seed is not None:
        raise UsageError("--input and --input-seed exclude each other.", todo="Leave one out.")
    if expect and reference != "host":
        raise UsageError(f"--expect and --reference {reference} exclude each other.", todo="Leave one out.")
    given: dict[str, Any] = {"expect": _KINDS[reference], "tolerance": tolerance}
    if inputs:
        given |= {"inputs": files(inputs, "--input"), "timed": "inputs"}
    if seed is not None:
        from harness.runner.inputs import RandomInputs

        given |= {"inputs": RandomInputs(seed), "timed": "inputs"}
    if expect:
        given["expected"] = files(expect, "--expect")
    return given


def files(texts: Sequence[str], option: str) -> Any:
    """One inference from texts of the form FILE (all of them, in the model's order) or NAME=FILE (all of them).

    Text with a `=` is a file's path when there is such a file.
    """
    parts = [(None, text) if "=" not in text or Path(text).is_file() else _pair(text) for text in texts]
    names = [name for name, _ in parts if name is not None]
    if not names:
        return [[Path(path) for _, path in parts]]
    if len(names) != len(parts):
        raise UsageError(f"{option} is given with and without names.", todo="Give a name with each, or with none.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{option} {twice[0]} is given twice.", todo="Keep one of the two.")
    return {str(name): Path(path) for name, path in parts}


def _pair(text: str) -> tuple[str, str]:
    # Tensor names may hold a `=`; files given here seldom do.
    name, _, path = text.rpartition("=")
    return name, path
