"""Running the Vela compiler in a child process."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.core.deadline import Deadline
from harness.core.errors import HarnessError, ModelError, ToolMissingError, UsageError
from harness.core.proc import clean_env, run_guarded
from harness.interop.vela.tables import VelaTables, find_tables, read_tables
from harness.model.load import load_model


def estimate(
    model: Path, *, accelerator: str, system_config: str, memory_mode: str, timeout: float = 120.0
) -> tuple[VelaTables, str]:
    """Estimate a model; the tables and the compiler's version.

    System configuration and memory mode have no default here: Vela's own are silent guesses that change every figure.

    Raises:
        UsageError: Vela does not know the accelerator, the system configuration or the memory mode.
        ModelError: the file is no model, or Vela refuses it.
        ToolMissingError: Vela is not installed.
    """
    if not system_config or not memory_mode:
        raise UsageError(
            "A Vela estimate needs its system configuration and its memory mode.",
            todo="Pass --system-config and --memory-mode.",
        )
    load_model(model)
    tool = Path(sys.executable).with_name("vela")
    if not tool.exists():
        raise ToolMissingError("Vela is not installed.", todo="pip install 'harness-hil[vela]'")
    deadline = Deadline(timeout, "Vela's estimate", model.name)
    with tempfile.TemporaryDirectory(prefix="harness-vela-") as directory:
        version = run_guarded([str(tool), "--version"], deadline, env=clean_env()).stdout.strip()
        done = run_guarded(
            [
                str(tool), str(model.resolve()), "--accelerator-config", accelerator, "--system-config", system_config,
                "--memory-mode", memory_mode, "--verbose-performance", "--output-dir", directory,
            ],
            deadline,
            env=clean_env(),
        )  # fmt: skip
        if not done.ok:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
            raise _refused(model, lines[-1])
        return read_tables(*find_tables(Path(directory))), version


def _refused(model: Path, said: str) -> HarnessError:
    """What Vela said last, told as a fault of the options or of the model."""
    if "--accelerator-config" in said:
        return UsageError("Vela does not know the accelerator.", why=said[:400], todo="Name one of those it lists.")
    if "--system-config" in said or "--memory-mode" in said:
        return UsageError(
            "Vela refused the system configuration or the memory mode.",
            why=said[:300],
            todo="`vela --list-configs Arm/vela.ini` lists both.",
        )
    return ModelError(f"Vela refused {model.name}.", why=said[:300], todo="See Vela's supported operators.")
