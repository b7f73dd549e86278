"""Child processes that cannot outlive the harness and cannot hang it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.core.deadline import Deadline
from harness.core.errors import ToolMissingError

GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True)
class Finished:
    """A command that ended: its exit status (128 + signal when killed) and what it printed."""

    args: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status == 0


def spawn_guarded(
    args: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    guard_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a command under a guard: closing the returned process' stdin, or dying, kills its process group.

    `guard_fds` stay open in the guard, not in the command: a kernel lock on one lasts until the command is gone.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), *args],
        cwd=cwd,
        env=dict(env) if env is not None else None,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=tuple(guard_fds),
    )


def end_guarded(process: subprocess.Popen[bytes], timeout: float = 5.0) -> None:
    """End a guarded command and wait until its whole group is gone."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def run_guarded(
    args: Sequence[str],
    deadline: Deadline,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command to its end.

    Raises:
        DeadlineError: it did not end in time; it was killed.
        ToolMissingError: the program does not exist.
    """
    process = spawn_guarded(args, cwd=cwd, env=env)
    try:
        # communicate() would close stdin, which tells the guard that its owner is gone.
        stdin, process.stdin = process.stdin, None
        try:
            out, err = process.communicate(timeout=max(deadline.remaining(), 0.001))
        except subprocess.TimeoutExpired:
            raise deadline.error() from None
        finally:
            process.stdin = stdin
    finally:
        end_guarded(process)
    finished = Finished(tuple(args), process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    if finished.status == 127 and finished.stderr.startswith(f"{args[0]}: "):
        raise ToolMissingError(
            f"{args[0]} cannot be started.",
            why=finished.stderr.strip(),
            todo="Run `harness doctor` for what to install.",
        )
    return finished


def clean_env(**extra: str) -> dict[str, str]:
    """The environment for tools whose output must not depend on the user's: PATH and HOME only, C locale, UTC."""
    keep = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    return {**keep, "LC_ALL": "C", "TZ": "UTC", **extra}
