"""Building the firmware of another tree or git ref: the same plan, compiler and host, other sources.

A tree is a directory that holds `firmware/`, or is such a directory itself (`app/`, `hal/`, `engine.h`, ...). The build
runs in a child process, for where the firmware lies is fixed in a process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.deadline import Deadline
from harness.core.errors import BuildError, UsageError
from harness.core.proc import run_guarded

if TYPE_CHECKING:
    from harness.image.record import Build

FIRMWARE_VARIABLE = "HARNESS_FIRMWARE_DIR"
_GIT_SECONDS = 120.0


def firmware_of(tree: Path, name: str = "") -> Path:
    """The firmware directory of a tree; `name` is what the caller called it.

    Raises:
        UsageError: it holds none.
    """
    for candidate in (tree / "firmware", tree):
        if (candidate / "engine.h").is_file() and (candidate / "app").is_dir():
            return candidate.resolve()
    raise UsageError(
        f"{name or tree} holds no firmware.",
        why="A tree has firmware/engine.h and firmware/app, or is that directory itself.",
        todo="Name a checkout of the firmware, or a git ref that has one.",
    )


def git(repository: Path, *arguments: str) -> str:
    """What a git command prints.

    Raises:
        UsageError: it fails; the reason is git's.
    """
    done = run_guarded(["git", "-C", str(repository), *arguments], deadline=Deadline(_GIT_SECONDS, "git"))
    if not done.ok:
        lines = done.stderr.strip().splitlines()
        # Usage and advice may follow the reason.
        why = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
        raise UsageError(
            f"git {arguments[0]} failed.",
            why=why or f"It gave no reason for {arguments[-1]!r}.",
            todo="Name a path, or a ref of this repository.",
        )
    return done.stdout.strip()


@contextmanager
def tree_of(spec: str, repository: Path) -> Iterator[Path]:
    """The tree of a path or git ref; a ref is checked out into a temporary directory, which is removed afterwards.

    Raises:
        UsageError: neither such a path nor such a ref exists, or the ref holds no firmware.
    """
    path = repository / spec if not Path(spec).is_absolute() else Path(spec)
    if path.is_dir():
        yield path
        return
    commit = git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{spec}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="hil-tree-") as parent:
        place = Path(parent) / "tree"
        git(repository, "worktree", "add", "--detach", "--force", str(place), commit)
        try:
            firmware_of(place, f"{spec} of {repository}")
            yield place
        finally:
            git(repository, "worktree", "remove", "--force", str(place))


def build_tree(tree: Path, model: Path, settings: Mapping[str, Any], out: Path, *, seconds: float = 600.0) -> Build:
    """Freeze and build a model with a tree's firmware.

    Args:
        tree: see `firmware_of`.
        model: the `.tflite` file; a relative path is looked for in the tree first.
        settings: settings of the plan by keyword, the board among them.
        out: the build's directory; must not exist.
        seconds: for the compiler.

    Raises:
        UsageError: the tree holds no firmware.
        BuildError: freezing or building failed; the reason is the child's.
    """
    from harness.image.record import load_build

    firmware = firmware_of(tree)
    inside = tree / model
    request = {
        "model": str(inside if not model.is_absolute() and inside.is_file() else model.absolute()),
        "settings": dict(settings),
        "out": str(out.absolute()),
    }
    with tempfile.TemporaryDirectory(prefix="hil-request-") as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request, default=list))
        done = run_guarded(
            [sys.executable, "-m", "harness.runner.tree_child", str(file)],
            env={**os.environ, FIRMWARE_VARIABLE: str(firmware)},
            deadline=Deadline(seconds, "the compiler", f"the firmware of {tree}"),
        )
    if not done.ok:
        try:
            error = json.loads(done.stdout)
        except ValueError:
            error = {"what": "The build ended without a reason.", "why": done.stderr[-400:]}
        raise BuildError(
            f"The firmware of {tree} cannot be built: {error['what']}",
            why=str(error.get("why", "")),
            todo=str(error.get("todo", "")),
            context=error,
        )
    return load_build(out)
